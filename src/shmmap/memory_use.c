/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts the memory of this PE: what parts of the library have counted themselves, pages of shared memory that somebody
 * has touched, and what the system says of the process.
 */
#define _GNU_SOURCE
#include "shmmap/memory_use.h"

#include "base/system/pages.h"
#include "shmmap/symmetric.h"
#include "transport/node.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bytes of the pages from an address on that are there. */
static uint64_t touched(const char *address, size_t nbytes)
{
    const uintptr_t page = shmemi_page_size();
    const uintptr_t begin = (uintptr_t)address / page * page, end = (uintptr_t)address + nbytes;
    const size_t n = (end - begin + page - 1) / page;
    unsigned char *is_there = nbytes ? malloc(n) : NULL;
    uint64_t pages = 0;
    if (is_there && !mincore((void *)begin, end - begin, is_there))
        for (size_t i = 0; i < n; i++)
            pages += is_there[i] & 1;
    free(is_there);
    return pages * page;
}

static uint64_t written(void)
{
    char line[256];
    unsigned long kib = 0;
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Private_Dirty: %lu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib * 1024u;
}

void shmemi_memory_use(uint64_t bytes[SHMEMI_USES])
{
    const char *heap = shmemi_node_heap(shmemi_job.node_rank);
    for (int part = 0; part < SHMEMI_PARTS; part++)
        bytes[part] = (uint64_t)atomic_load_explicit(&shmemi_held[part], memory_order_relaxed);
    bytes[SHMEMI_USE_STAGING] = touched(shmemi_node_staging(shmemi_job.node_rank), shmemi_node.staging_size);
    bytes[SHMEMI_USE_RUNTIME] = touched(heap, SHMEMI_RUNTIME_BYTES);
    bytes[SHMEMI_USE_HEAP] = touched(heap + SHMEMI_RUNTIME_BYTES, shmemi_node.heap_size - SHMEMI_RUNTIME_BYTES);
    bytes[SHMEMI_USE_WRITTEN] = written();
}

const char *shmemi_memory_use_name(int use)
{
    static const char *const names[] = {"tables of PEs and nodes",
                                        "views of other PEs' memory",
                                        "keys of other nodes' memory",
                                        "tables of connections",
                                        "counters of requests",
                                        "teams and collectives",
                                        "staging slots",
                                        "runtime's part of the heap",
                                        "symmetric heap",
                                        "written by this process alone"};
    static_assert(sizeof names / sizeof names[0] == SHMEMI_USES, "each has a name");
    return names[use];
}
