/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the executable's writable segment with the help of the loader.
 */
#define _GNU_SOURCE
#include "shmmap/symmetric.h"

#include <link.h>
#include <stdint.h>

struct data_segment {
    uintptr_t first, end;
};

/* The first object that the loader reports is the executable. What the loader makes read-only after relocation
 * (PT_GNU_RELRO) lies at the start of the segment and is not the program's data. */
static int visit(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    struct data_segment *range = argument;
    uintptr_t relro_end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t first = info->dlpi_addr + header->p_vaddr, end = first + header->p_memsz;
        if (header->p_type == PT_GNU_RELRO)
            relro_end = end;
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_W))
            continue;
        range->first = range->end ? range->first : first;
        range->end = end;
    }
    if (relro_end > range->first && relro_end < range->end)
        range->first = relro_end;
    return 1;
}

void shmemi_static_data_find(char **base_p, size_t *size_p)
{
    struct data_segment range = {0, 0};
    dl_iterate_phdr(visit, &range);
    *base_p = (char *)range.first;
    *size_p = range.end - range.first;
}
