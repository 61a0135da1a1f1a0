/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the memory of this PE is used for, for SHMEM_STATS and oshinfo.
 */
#ifndef SHMEMI_MEMORY_USE_H
#define SHMEMI_MEMORY_USE_H

#include "base/holdings.h"

#include <stdint.h>

/* The parts of base/holdings.h come first. */
enum {
    SHMEMI_USE_STAGING = SHMEMI_PARTS, /* of this PE, the pages that have been touched */
    SHMEMI_USE_RUNTIME,                /* in the heap: words, workspaces */
    SHMEMI_USE_HEAP,                   /* the program's part */
    SHMEMI_USE_WRITTEN,                /* memory that this process has written and does not share, all in all */
    SHMEMI_USES
};

void shmemi_memory_use(uint64_t bytes[SHMEMI_USES]);
const char *shmemi_memory_use_name(int use);

#endif
