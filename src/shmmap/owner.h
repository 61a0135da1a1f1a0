/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Owner's addresses: what points to a PE's copy of a region on that PE, on its CPU or in kernels on its GPU. Only who
 * writes pointers for another PE needs them, so each PE keeps its own in a table in its heap, where the others read one
 * when they first need it.
 */
#ifndef SHMEMI_OWNER_H
#define SHMEMI_OWNER_H

#include "shmmap/region.h"

enum { SHMEMI_OWNER_ENTRY_BYTES = 16, SHMEMI_OWNER_TABLE_BYTES = SHMEMI_REGIONS_MAX * SHMEMI_OWNER_ENTRY_BYTES };

/* Of memory without addresses (OpenCL buffers): pointers are offsets from the start of the buffer. */
static inline bool shmemi_owner_has_offsets(const struct shmemi_region *region)
{
    return !region->place.memory->addresses;
}

/* Enter this PE's own copy of a region, before the barrier after which other PEs may use the region. */
void shmemi_owner_show(const struct shmemi_region *region);

/* The owner's address, or offset, of the first byte of pe's copy. -EPROTO, logged, when that PE's table is damaged. Any
 * thread. */
int shmemi_owner_base(struct shmemi_region *region, int pe, uint64_t *base_p);

#endif
