/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: reads the debug information with libdw and keeps an index of the types in it.
 */
#include "tools/oshtypes/debug.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A name with all its definitions, in the order in which they were read. */
struct name {
    const char *text;
    struct osht_definition *first, **last_p;
    UT_hash_handle hh;
};

/* Where in the debug information the index is being made. */
struct place {
    const char *scope;
    bool in_module, in_class, is_private;
    enum osht_language language;
    const char *unit;
};

static struct {
    Dwfl **sessions;
    size_t n_sessions, n_units;
    const char *what_is_missing; /* of the debug information, and what helps; "" if nothing is known to be */
    struct name *names;
    struct osht_entry *entries; /* by address */
    const char *unit_pattern;
} debug;

/* ---- the index ---- */

static bool is_private(Dwarf_Die *die, const struct place *place)
{
    Dwarf_Attribute attribute;
    Dwarf_Word access = place->in_class ? DW_ACCESS_private : DW_ACCESS_public;
    if (dwarf_attr(die, DW_AT_accessibility, &attribute))
        dwarf_formudata(&attribute, &access);
    return place->is_private || access != DW_ACCESS_public;
}

static void remember(const char *full, const char *last, Dwarf_Die *die, bool is_typedef, const struct place *place)
{
    struct osht_definition *definition = osht_alloc(sizeof *definition);
    *definition = (struct osht_definition){
        full, last, *die, is_typedef, place->in_module, is_private(die, place), place->language, place->unit, NULL};
    struct name *name;
    HASH_FIND_STR(debug.names, full, name);
    if (!name) {
        name = osht_alloc(sizeof *name);
        name->text = full;
        name->last_p = &name->first;
        HASH_ADD_KEYPTR(hh, debug.names, name->text, strlen(name->text), name);
    }
    *name->last_p = definition;
    name->last_p = &definition->next;
}

static const char *in_scope(const struct place *place, const char *name)
{
    return place->scope ? osht_text("%s::%s", place->scope, name) : name;
}

static void visit_children(Dwarf_Die *die, const struct place *place);

/* A definition in a type unit stands outside of its namespaces and classes: the declaration that it names is inside. */
static const char *scope_of_declaration(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;
    Dwarf_Die declaration, *scopes = NULL;
    const char *scope = NULL;
    if (!dwarf_attr(die, DW_AT_specification, &attribute) || !dwarf_formref_die(&attribute, &declaration))
        return NULL;
    int n = dwarf_getscopes_die(&declaration, &scopes); /* the declaration first, the unit last */
    for (int i = n - 2; i > 0; i--) {
        const char *name = dwarf_diename(&scopes[i]);
        name = name ? name : "(anonymous)";
        scope = scope ? osht_text("%s::%s", scope, name) : name;
    }
    free(scopes);
    return scope;
}

static void visit_record(Dwarf_Die *die, const struct place *place)
{
    const char *name = dwarf_diename(die);
    if (!name)
        return;
    const char *scope = scope_of_declaration(die);
    const char *full = scope ? osht_text("%s::%s", scope, name) : in_scope(place, name);
    osht_debug_entry(die)->name = full;
    if (!dwarf_hasattr(die, DW_AT_declaration))
        remember(full, name, die, false, place);
    struct place inside = *place;
    if (place->language == OSHT_CXX)
        inside.scope = full;
    inside.is_private = is_private(die, place);
    inside.in_class = dwarf_tag(die) == DW_TAG_class_type;
    visit_children(die, &inside);
}

static void visit_scope(Dwarf_Die *die, const struct place *place, bool is_module)
{
    const char *name = dwarf_diename(die);
    struct place inside = *place;
    inside.scope = in_scope(place, name ? name : "(anonymous)");
    inside.in_module = is_module;
    visit_children(die, &inside);
}

static void visit(Dwarf_Die *die, const struct place *place)
{
    const char *name;
    switch (dwarf_tag(die)) {
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        visit_record(die, place);
        break;
    case DW_TAG_typedef:
        if ((name = dwarf_diename(die))) {
            const char *full = in_scope(place, name);
            osht_debug_entry(die)->name = full;
            remember(full, name, die, true, place);
        }
        break;
    case DW_TAG_namespace:
        visit_scope(die, place, false);
        break;
    case DW_TAG_module:
        visit_scope(die, place, true);
        break;
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
        visit_children(die, place);
        break;
    default:
        break;
    }
}

static void visit_children(Dwarf_Die *die, const struct place *place)
{
    Dwarf_Die child;
    if (dwarf_child(die, &child) == 0)
        do
            visit(&child, place);
        while (dwarf_siblingof(&child, &child) == 0);
}

static enum osht_language language_of(Dwarf_Die *unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case 0x2a: /* C++17 and 20, Fortran 2018: numbers assigned after DWARF 5 */
    case 0x2b:
        return OSHT_CXX;
    case DW_LANG_Fortran77:
    case DW_LANG_Fortran90:
    case DW_LANG_Fortran95:
    case DW_LANG_Fortran03:
    case DW_LANG_Fortran08:
    case 0x2d:
        return OSHT_FORTRAN;
    default:
        return OSHT_C;
    }
}

static bool is_wanted(const char *unit)
{
    const char *slash = strrchr(unit, '/');
    return !debug.unit_pattern || !fnmatch(debug.unit_pattern, unit, 0) ||
           !fnmatch(debug.unit_pattern, slash ? slash + 1 : unit, 0);
}

/* The file that has the unit's debug information. */
static const char *split_name(Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    bool has_name = dwarf_attr(unit, DW_AT_dwo_name, &attribute) || dwarf_attr(unit, DW_AT_GNU_dwo_name, &attribute);
    const char *name = has_name ? dwarf_formstring(&attribute) : NULL;
    return name ? name : "?";
}

static void index_units(Dwarf *dwarf)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die, split;
    Dwarf_Half version;
    uint8_t type;
    while (dwarf_get_units(dwarf, unit, &unit, &version, &type, &die, &split) == 0) {
        Dwarf_Die *root = type == DW_UT_skeleton && split.addr ? &split : &die;
        const char *name = dwarf_diename(root);
        struct place place = {.language = language_of(root), .unit = name ? name : "?"};
        if (type == DW_UT_skeleton && !split.addr)
            debug.what_is_missing =
                osht_text("; the file %s, which -gsplit-dwarf has made, is not there", split_name(&die));
        if (!is_wanted(place.unit) && type != DW_UT_type)
            continue;
        debug.n_units++;
        visit_children(root, &place);
    }
}

/* ---- files ---- */

static char *debug_directories;
static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debug_directories,
};

/* Compilers put type units into sections of their own, of which libdw reads one, until a linker joins them. */
static bool has_scattered_types(Elf *elf)
{
    size_t names, n = 0;
    GElf_Shdr header;
    GElf_Ehdr file;
    if (elf_getshdrstrndx(elf, &names) || !gelf_getehdr(elf, &file) || file.e_type != ET_REL)
        return false;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && !strcmp(name, ".debug_types"))
            return true;
        n += name && !strcmp(name, ".debug_info");
    }
    return n > 1;
}

static int index_module(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr start, void *argument)
{
    (void)data, (void)start, (void)argument;
    Dwarf_Addr bias;
    Elf *elf = dwfl_module_getelf(module, &bias);
    if (elf && gelf_getclass(elf) != ELFCLASS64)
        osht_fail("%s: not for a machine with pointers of 64 bits", name);
    Dwarf *dwarf = dwfl_module_getdwarf(module, &bias);
    if (elf && has_scattered_types(elf))
        debug.what_is_missing = "; the object has types in sections of their own (-fdebug-types-section), which are "
                                "read from linked files only";
    if (dwarf)
        index_units(dwarf);
    return DWARF_CB_OK;
}

/* A thin archive has the names of its members only, and libdwfl does not follow them. */
static void refuse_thin_archive(int fd, const char *path)
{
    static const char thin[] = "!<thin>\n";
    char begin[sizeof thin - 1];
    if (pread(fd, begin, sizeof begin, 0) == (ssize_t)sizeof begin && !memcmp(begin, thin, sizeof begin))
        osht_fail("%s: a thin archive, which holds only the names of its object files: give these, or one that is not "
                  "thin",
                  path);
}

void osht_debug_open(const char *path, const char *unit_pattern)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        osht_fail("%s: %m", path);
    refuse_thin_archive(fd, path);
    Dwfl *session = dwfl_begin(&callbacks);
    if (!session || !dwfl_report_offline(session, path, path, fd))
        osht_fail("%s: not an object file: %s", path, dwfl_errmsg(-1));
    dwfl_report_end(session, NULL, NULL);
    OSHT_APPEND(debug.sessions, debug.n_sessions) = session;
    debug.unit_pattern = unit_pattern;
    dwfl_getmodules(session, index_module, NULL, 0);
}

void osht_debug_close(void)
{
    for (size_t i = 0; i < debug.n_sessions; i++)
        dwfl_end(debug.sessions[i]);
    debug.n_sessions = 0;
}

bool osht_debug_is_there(void)
{
    return debug.n_units > 0;
}

/* ---- lookup ---- */

const struct osht_definition *osht_debug_named(const char *text)
{
    struct name *name;
    HASH_FIND_STR(debug.names, text, name);
    return name ? name->first : NULL;
}

static const char *without_keyword(const char *name)
{
    static const char *const keywords[] = {"struct ", "class ", "union ", "type "};
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (!strncmp(name, keywords[i], strlen(keywords[i])))
            return name + strlen(keywords[i]) + strspn(name + strlen(keywords[i]), " ");
    return name;
}

/* "; did you mean ...?", or "" when no name is similar. */
static const char *similar_name(const char *text)
{
    struct shmemi_nearest nearest = {.unknown = text};
    for (const struct name *name = debug.names; name; name = name->hh.next)
        shmemi_nearest_offer(&nearest, name->first->last);
    return osht_did_you_mean(&nearest);
}

/* The only type whose last part is this name. NULL when there is none, or (with a message) when there are several. */
static const struct name *by_last_part(const char *text, const char *where)
{
    const struct name *found = NULL;
    for (const struct name *name = debug.names; name; name = name->hh.next) {
        if (strcmp(name->first->last, text))
            continue;
        if (found && where)
            osht_error("%s%s may be %s or %s: write which", where, text, found->text, name->text);
        if (found)
            return NULL;
        found = name;
    }
    if (!found && where)
        osht_error("%sthere is no type %s in the debug information%s (compilers leave out types that a file does not "
                   "use)%s",
                   where, text, similar_name(text), debug.what_is_missing ? debug.what_is_missing : "");
    return found;
}

const struct osht_definition *osht_debug_find(const char *text, const char *where)
{
    const char *plain = without_keyword(text);
    const struct osht_definition *found = osht_debug_named(plain);
    if (found)
        return found;
    const struct name *name = by_last_part(plain, where);
    return name ? name->first : NULL;
}

struct osht_entry *osht_debug_entry(const Dwarf_Die *die)
{
    struct osht_entry *entry;
    HASH_FIND_PTR(debug.entries, &die->addr, entry);
    if (entry)
        return entry;
    entry = osht_alloc(sizeof *entry);
    entry->address = die->addr;
    HASH_ADD_PTR(debug.entries, address, entry);
    return entry;
}

enum osht_language osht_debug_language(const Dwarf_Die *die)
{
    Dwarf_Die copy = *die, unit;
    return dwarf_diecu(&copy, &unit, NULL, NULL) ? language_of(&unit) : OSHT_C;
}

/* ---- sections ---- */

struct section_search {
    const char *name;
    size_t skip;
    Elf_Data *found;
};

static int search_module(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr start, void *argument)
{
    (void)data, (void)name, (void)start;
    struct section_search *search = argument;
    GElf_Addr bias;
    GElf_Shdr header;
    size_t names;
    Elf *elf = dwfl_module_getelf(module, &bias);
    if (!elf || elf_getshdrstrndx(elf, &names))
        return DWARF_CB_OK;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        const char *its_name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (!its_name || strcmp(its_name, search->name) || header.sh_type == SHT_NOBITS)
            continue;
        if (search->skip-- == 0)
            return search->found = elf_rawdata(section, NULL), DWARF_CB_ABORT;
    }
    return DWARF_CB_OK;
}

bool osht_debug_section(const char *name, size_t i, const char **bytes_p, size_t *size_p)
{
    struct section_search search = {name, i, NULL};
    for (size_t j = 0; j < debug.n_sessions && !search.found; j++)
        dwfl_getmodules(debug.sessions[j], search_module, &search, 0);
    if (!search.found)
        return false;
    *bytes_p = search.found->d_buf;
    *size_p = search.found->d_size;
    return true;
}
