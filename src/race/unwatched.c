/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tells which calls that are not watched a program may make: those that its relocations name.
 */
#include "race/unwatched.h"
#include "race/race.h"

#include <fnmatch.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_MOST = 8 };

struct unwatched_names {
    const char *name[NAMES_MOST];
    unsigned n; /* may be more than have room */
};

static bool is_unwatched(const char *name)
{
    static const char *const patterns[] = {
#define UNWATCHED(PATTERN) PATTERN,
#include "race/unwatched.def"
#undef UNWATCHED
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (!fnmatch(patterns[i], name, 0))
            return true;
    return false;
}

static void add_name(struct unwatched_names *names, const char *name)
{
    for (unsigned i = 0; i < names->n && i < NAMES_MOST; i++)
        if (!strcmp(names->name[i], name))
            return;
    if (names->n < NAMES_MOST)
        names->name[names->n] = name;
    names->n++;
}

/* The loaded object's dynamic section; the loader has made addresses of its offsets. */
static ElfW(Addr) entry(const ElfW(Dyn) * dynamic, ElfW(Sxword) tag)
{
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++)
        if (dynamic->d_tag == tag)
            return dynamic->d_un.d_ptr;
    return 0;
}

static void add_relocations(struct unwatched_names *names, const ElfW(Dyn) * dynamic, ElfW(Sxword) table,
                            ElfW(Sxword) table_bytes)
{
    const ElfW(Rela) *relocation = (const ElfW(Rela) *)entry(dynamic, table);
    const ElfW(Sym) *symbols = (const ElfW(Sym) *)entry(dynamic, DT_SYMTAB);
    const char *strings = (const char *)entry(dynamic, DT_STRTAB);
    const size_t n = relocation ? entry(dynamic, table_bytes) / sizeof *relocation : 0;
    for (size_t i = 0; i < n; i++) {
        const size_t symbol = ELF64_R_SYM(relocation[i].r_info);
        if (symbol && is_unwatched(strings + symbols[symbol].st_name))
            add_name(names, strings + symbols[symbol].st_name);
    }
}

/* The project's own libraries refer to what they pass on. */
static int look_at(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    const ElfW(Dyn) *dynamic = NULL;
    for (int i = 0; i < info->dlpi_phnum && !strstr(info->dlpi_name, "/libmapshmem"); i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    add_relocations(argument, dynamic, DT_JMPREL, DT_PLTRELSZ);
    add_relocations(argument, dynamic, DT_RELA, DT_RELASZ);
    return 0;
}

void race_tell_unwatched(void)
{
    struct unwatched_names names = {.n = 0};
    char text[1024] = "";
    (void)dl_iterate_phdr(look_at, &names);
    for (unsigned i = 0; i < names.n && i < NAMES_MOST; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? ", " : "", names.name[i]);
    if (names.n)
        fprintf(stderr, "MapSHMEM race: the program refers to calls that are not watched: %s%s\n", text,
                names.n > NAMES_MOST ? " and others" : "");
}
