/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places and variables by the debug information of the PEs' programs, read with libdw.
 */
#include "race/report/objects.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Dwfl *opened[RACE_PES_MAX];
static race_lock lock;

/* The debug information of a PE's process as it is mapped now; NULL: none. The lock is held. */
static Dwfl *open_pe(int pe)
{
    static char *path;
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = dwfl_standard_find_debuginfo, .debuginfo_path = &path};
    if (opened[pe])
        return opened[pe];
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (dwfl && (dwfl_linux_proc_report(dwfl, (pid_t)race_area->pe[pe].pid) || dwfl_report_end(dwfl, NULL, NULL))) {
        dwfl_end(dwfl);
        return NULL;
    }
    return opened[pe] = dwfl;
}

static const char *last_part(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

/* The unit of the program that has an address; not every compiler writes the table by which libdw finds it. */
static Dwarf_Die *unit_of(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(module, address, bias);
    if (unit)
        return unit;
    while ((unit = dwfl_module_nextcu(module, unit, bias)))
        if (dwarf_haspc(unit, address - *bias) > 0)
            return unit;
    return NULL;
}

/* Whether a file is a header that is not the program's: the names without a type, which C++ has as functions, or those of
 * the compiler and the system. */
static bool is_foreign(const char *file)
{
    static const char *const parts[] = {"mapshmem/overloads.h", "mapshmem/device_", "/usr/include/", "/include/c++/",
                                        "/lib/gcc/"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(file, parts[i]))
            return true;
    return false;
}

/* Where an inlined function is called. */
static bool call_of(Dwarf_Die *unit, Dwarf_Die *inlined, const char **file, int *line)
{
    Dwarf_Attribute attribute;
    Dwarf_Files *files;
    Dwarf_Word number = 0, called_in = 0;
    size_t n_files;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) ||
        dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &called_in) ||
        dwarf_getsrcfiles(unit, &files, &n_files) || called_in >= n_files)
        return false;
    *file = dwarf_filesrc(files, called_in, NULL, NULL);
    *line = (int)number;
    return *file;
}

/* The innermost place that is the program's own, of functions that are inlined into one another. */
static void leave_headers(Dwarf_Die *unit, Dwarf_Addr address, const char **file, int *line)
{
    Dwarf_Die *scopes = NULL, *chain = NULL;
    const int n_scopes = dwarf_getscopes(unit, address, &scopes);
    const int n = n_scopes > 0 ? dwarf_getscopes_die(&scopes[0], &chain) : 0;
    for (int i = 0; i < n && is_foreign(*file); i++)
        if (dwarf_tag(&chain[i]) == DW_TAG_inlined_subroutine && !call_of(unit, &chain[i], file, line))
            break;
    free(chain);
    free(scopes);
}

static const char *source_of(Dwfl_Module *module, Dwarf_Addr address, int *line)
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = unit_of(module, address, &bias);
    Dwarf_Line *entry = unit ? dwarf_getsrc_die(unit, address - bias) : NULL;
    const char *file = entry ? dwarf_linesrc(entry, NULL, NULL) : NULL;
    if (!file || dwarf_lineno(entry, line))
        return NULL;
    leave_headers(unit, address - bias, &file, line);
    return file;
}

/* The call is before the address to which it returns. */
static void describe(char *text, size_t size, Dwfl *dwfl, Dwarf_Addr address)
{
    Dwfl_Module *module = dwfl_addrmodule(dwfl, address);
    const char *function = module ? dwfl_module_addrname(module, address) : NULL;
    int line = 0;
    const char *file = module ? source_of(module, address, &line) : NULL;
    Dwarf_Addr start = 0;
    if (file) {
        (void)snprintf(text, size, "%s %s:%d", function ? function : "?", file, line);
        return;
    }
    const char *name = module ? dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL) : NULL;
    (void)snprintf(text, size, "%s %s+%#lx (no line: compile with -g)", function ? function : "?",
                   name ? last_part(name) : "?", (unsigned long)(address - start));
}

void race_describe_place(char *text, size_t size, int pe, uintptr_t pc)
{
    race_lock_take(&lock);
    Dwfl *dwfl = open_pe(pe);
    if (dwfl)
        describe(text, size, dwfl, pc - 1);
    else
        (void)snprintf(text, size, "%#lx", (unsigned long)pc);
    race_lock_give(&lock);
}

bool race_variable(char *text, size_t size, uintptr_t address)
{
    GElf_Sym symbol;
    GElf_Off offset = 0;
    race_lock_take(&lock);
    Dwfl *dwfl = open_pe(race.pe);
    Dwfl_Module *module = dwfl ? dwfl_addrmodule(dwfl, address) : NULL;
    const char *name = module ? dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL) : NULL;
    if (name)
        (void)snprintf(text, size, "byte %lu of the static variable %s of %lu bytes", (unsigned long)offset, name,
                       (unsigned long)symbol.st_size);
    race_lock_give(&lock);
    return name;
}
