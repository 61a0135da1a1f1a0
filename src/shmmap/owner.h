/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Owner's addresses: where a PE's copy of a region lies for that PE itself, for its CPU or for kernels on its GPU. A PE
 * needs them only when it writes pointers into another PE's memory (deep copy). So each PE keeps its own addresses in a
 * table in its heap, where another PE reads one when it first needs it.
 */
#ifndef SHMEMI_OWNER_H
#define SHMEMI_OWNER_H

#include "shmmap/region.h"

enum { SHMEMI_OWNER_ENTRY_BYTES = 16, SHMEMI_OWNER_TABLE_BYTES = SHMEMI_REGIONS_MAX * SHMEMI_OWNER_ENTRY_BYTES };

#define SHMEMI_OWNER_BASE_UNKNOWN UINT64_MAX /* not yet read from the owner's table */

/* Whether the memory has no addresses (OpenCL buffers), so that pointers are offsets from the start of the buffer. */
static inline bool shmemi_owner_has_offsets(const struct shmemi_region *region)
{
    return !region->place.memory->addresses;
}

/* Enter this PE's own copy of a region into its table. Call it before the barrier after which others use the region. */
void shmemi_owner_show(const struct shmemi_region *region);

/* Set *base_p to the owner's address, or offset, of the first byte of pe's copy. Returns -EPROTO, logged, when that
 * PE's table is damaged. May be called by any thread. */
int shmemi_owner_base(struct shmemi_region *region, int pe, uint64_t *base_p);

#endif
