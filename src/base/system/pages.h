/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pages of memory, whose size is the kernel's: 4 KiB on x86-64; 4, 16 or 64 KiB on 64-bit Arm.
 */
#ifndef SHMEMI_PAGES_H
#define SHMEMI_PAGES_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline size_t shmemi_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static inline size_t shmemi_whole_pages(size_t nbytes)
{
    return (nbytes + shmemi_page_size() - 1) / shmemi_page_size() * shmemi_page_size();
}

/* Memory that is to be page-locked, all 0: whole pages, so that no other range with a lock of its own has a part of them.
 * NULL: there is none. To be freed by free. */
static inline void *shmemi_pages_allocate(size_t nbytes)
{
    void *pages = aligned_alloc(shmemi_page_size(), shmemi_whole_pages(nbytes));
    if (pages)
        memset(pages, 0, nbytes);
    return pages;
}

#endif
