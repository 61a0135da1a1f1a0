/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places without debug information, for a build without libdw: as offsets in the executable, for addr2line.
 */
#include "race/report/objects.h"

#include <stdio.h>

void race_describe_place(char *text, size_t size, int pe, uintptr_t pc)
{
    (void)snprintf(text, size, "executable+%#lx (addr2line tells the line: this build has no libdw)",
                   (unsigned long)(pc - 1 - race_area->pe[pe].program));
}

bool race_variable(char *text, size_t size, uintptr_t address)
{
    (void)text, (void)size, (void)address;
    return false;
}
