/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many bytes each part of the library holds, counted where memory is taken and given back. It is meant for what grows
 * with the job, the objects, or the PEs that this one communicates with. Any thread.
 */
#ifndef SHMEMI_HOLDINGS_H
#define SHMEMI_HOLDINGS_H

#include <stdatomic.h>
#include <stddef.h>

enum shmemi_holding {
    SHMEMI_PART_NODE_TABLES,
    SHMEMI_PART_VIEWS,
    SHMEMI_PART_KEYS,
    SHMEMI_PART_ENDPOINTS,
    SHMEMI_PART_COUNTERS,
    SHMEMI_PART_COLLECTIVES,
    SHMEMI_PARTS
};

extern atomic_ptrdiff_t shmemi_held[SHMEMI_PARTS]; /* memory_limit.c */

/* Count bytes that a part has taken, or, as a negative number, given back. */
static inline void shmemi_hold(enum shmemi_holding part, ptrdiff_t bytes)
{
    atomic_fetch_add_explicit(&shmemi_held[part], bytes, memory_order_relaxed);
}

#endif
