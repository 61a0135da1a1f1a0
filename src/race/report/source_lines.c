/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places and variables by the debug information of the PEs' programs, read with libdw.
 */
#include "race/report/objects.h"

#include <elfutils/libdwfl.h>

#include <stdio.h>
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

/* The call is before the address to which it returns. */
static void describe(char *text, size_t size, Dwfl *dwfl, Dwarf_Addr address)
{
    Dwfl_Module *module = dwfl_addrmodule(dwfl, address);
    const char *function = module ? dwfl_module_addrname(module, address) : NULL, *file = NULL;
    Dwfl_Line *line = module ? dwfl_module_getsrc(module, address) : NULL;
    Dwarf_Addr start = 0;
    int number = 0;
    if (line)
        file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
    if (file) {
        (void)snprintf(text, size, "%s %s:%d", function ? function : "?", file, number);
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
