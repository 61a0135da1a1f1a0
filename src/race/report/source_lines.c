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

/* Functions of ours in headers: names without a type in C++, and calls of kernels that threads play. */
static bool is_header(const char *file)
{
    return strstr(file, "mapshmem/overloads.h") || strstr(file, "mapshmem/device_");
}

/* Where an inlined function is called: its file, and *line; NULL: it is none, or that is not known. */
static const char *call_of(Dwarf_Die *scope, Dwarf_Files *files, size_t n_files, int *line)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0, called_in = 0;
    if (dwarf_tag(scope) != DW_TAG_inlined_subroutine ||
        dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attribute), &number) ||
        dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attribute), &called_in) || called_in >= n_files)
        return NULL;
    *line = (int)number;
    return dwarf_filesrc(files, called_in, NULL, NULL);
}

/* The innermost place outside of our headers; *file and *line stay if there is none. */
static void leave_headers(Dwarf_Die *unit, Dwarf_Addr address, const char **file, int *line)
{
    Dwarf_Die *innermost = NULL, *scopes = NULL;
    Dwarf_Files *files;
    size_t n_files;
    int called_at;
    if (dwarf_getscopes(unit, address, &innermost) > 0 && !dwarf_getsrcfiles(unit, &files, &n_files)) {
        const int n = dwarf_getscopes_die(&innermost[0], &scopes);
        for (int i = 0; i < n && is_header(*file); i++) {
            const char *caller = call_of(&scopes[i], files, n_files, &called_at);
            if (caller) {
                *file = caller;
                *line = called_at;
            }
        }
    }
    free(innermost);
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
    if (is_header(file))
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
