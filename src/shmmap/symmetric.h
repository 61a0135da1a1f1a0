/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Symmetric memory as a whole: heap and static data as regions with a view of every PE's copy, and mapped objects.
 */
#ifndef SHMEMI_SYMMETRIC_H
#define SHMEMI_SYMMETRIC_H

#include "base/system/cache_line.h"
#include "shmmap/heap.h"
#include "shmmap/region.h"
#include "shmmap/views.h"
#include "transport/drivers/exchange.h"
#include "transport/request.h"

/* ---- owner_base.c: owner's addresses ----------------------------------------------------------------------------- */

/* Where a PE's copy of a region lies for that PE itself, for its CPU or for kernels on its GPU. A PE needs them only when
 * it writes pointers into another PE's memory (deep copy). So each PE keeps its own addresses in a table in its heap,
 * where another PE reads one when it first needs it. */
enum { SHMEMI_OWNER_ENTRY_BYTES = 16, SHMEMI_OWNER_TABLE_BYTES = SHMEMI_REGIONS_MAX * SHMEMI_OWNER_ENTRY_BYTES };

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

/* ---- symmetric.c ------------------------------------------------------------------------------------------------- */

enum {
    /* The library itself uses the start of every heap, whole granules: for the words of the exchange, two workspaces
     * for each team, one of them for its collectives in streams, and the owner's addresses of the regions. */
    SHMEMI_TEAMS_MAX = SHMEMI_MEETING_TEAMS,
    SHMEMI_WORKSPACES = 2 * SHMEMI_TEAMS_MAX,
    SHMEMI_WORKSPACE_BYTES = (60 << 10) + 64 * SHMEMI_CACHE_LINE, /* of which that many lines carry one message each */
    SHMEMI_WORKSPACE_OFFSET = SHMEMI_EXCHANGE_BYTES,
    SHMEMI_OWNER_OFFSET = SHMEMI_WORKSPACE_OFFSET + SHMEMI_WORKSPACES * SHMEMI_WORKSPACE_BYTES,
    SHMEMI_RARELY_USED_BYTES = SHMEMI_TEAMS_MAX * SHMEMI_WORKSPACE_BYTES, /* in streams */
    SHMEMI_RUNTIME_BYTES = (((SHMEMI_OWNER_OFFSET + SHMEMI_OWNER_TABLE_BYTES - 1) >> SHMEMI_GRANULE_SHIFT) + 1)
                           << SHMEMI_GRANULE_SHIFT,
};

/* Bytes of the heap region: the user's part and the library's own, rounded up to whole granules. */
size_t shmemi_symmetric_heap_bytes(void);

/* Whether this process may have as many addresses as the node segment and the window with the heap take at least. -errno,
 * logged, when it may not. Call it after shmemi_node_bind. */
int shmemi_symmetric_check(void);

/* Collective; call it after joining the node. Afterwards all PEs can reach each other's heap and static data. */
int shmemi_symmetric_open(void);
void shmemi_symmetric_close(void);

/* Find the static data in this process: the writable segment (.data, .bss) of the executable, which is symmetric by the
 * specification [3]. The size is 0 when the executable has none. */
void shmemi_static_data_find(char **base_p, size_t *size_p);

/* Finds the memory that requests of other PEs name. */
extern const struct shmemi_resolver shmemi_symmetric_resolver;

extern struct shmemi_heap *shmemi_heap;
extern struct shmemi_region shmemi_heap_region, shmemi_static_region;

/* Map a user's GPU buffer at a symmetric address, and unmap it: the work of shmmap and shmumap. Collective. map returns
 * 0 on all PEs, or an error on all and shmemi_map_cause says why. The caller has completed all transfers. */
int shmemi_map(void *object, size_t size, int type, void **address_p);
int shmemi_unmap(void *address);
const char *shmemi_map_cause(void);

/* The areas in which the GPUs of all PEs meet (gpu/meeting.h), which come with the first object at which they may do so
 * (is_met_at); NULL before. The same on all PEs. */
const struct shmemi_region *shmemi_map_meeting_areas(void);

/* After a region has been removed: how many PEs use the device of its memory now. */
void shmemi_region_count_sharers(const struct shmemi_region *region);

/* Unmap all objects that the program has left mapped. */
void shmemi_map_close(void);

/* Make the views of a region for the PEs of the node. share describes this PE's copy; they exchange theirs.
 * descriptors belong to the handle in the share; NULL, on all PEs, when the kind of memory has none.
 * On failure nothing is left attached. Collective in the node. */
int shmemi_region_attach(struct shmemi_region *region, struct shmemi_share *share,
                         const struct shmemi_descriptors *descriptors);

#endif
