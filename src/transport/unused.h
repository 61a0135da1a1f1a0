/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Records that are used again. Those that are not in use are linked by their first member, a struct shmemi_unused.
 */
#ifndef SHMEMI_UNUSED_H
#define SHMEMI_UNUSED_H

#include "base/log.h"

#include <stdlib.h>

struct shmemi_unused {
    struct shmemi_unused *next;
};

static inline void shmemi_unused_give(struct shmemi_unused **unused, void *record)
{
    struct shmemi_unused *first = record;
    first->next = *unused;
    *unused = first;
}

static inline void *shmemi_unused_take(struct shmemi_unused **unused, size_t size, const char *purpose)
{
    struct shmemi_unused *record = *unused;
    if (record)
        *unused = record->next;
    else if (!(record = calloc(1, size))) /* what is sent has no bytes that were never set */
        shmemi_fatal("out of memory for %s", purpose);
    return record;
}

static inline void shmemi_unused_free(struct shmemi_unused **unused)
{
    for (struct shmemi_unused *record; (record = *unused);) {
        *unused = record->next;
        free(record);
    }
}

#endif
