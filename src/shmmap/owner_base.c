/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The address of a PE's copy of a region as that PE itself sees it: written to and read from a table in its heap.
 */

#include "shmmap/symmetric.h"
#include "instrument/watch.h"
#include "transport/drivers/issue.h"

#include <errno.h>
#include <string.h>

/* An entry of the table, indexed by number of the region, in the heap of each PE. */
struct base_entry {
    uint64_t base;
    uint32_t is_valid, has_offsets;
};
_Static_assert(sizeof(struct base_entry) == SHMEMI_OWNER_ENTRY_BYTES, "the table has room for all");

static size_t offset_of(const struct shmemi_region *region)
{
    return SHMEMI_OWNER_OFFSET + region->id * sizeof(struct base_entry);
}

/* An OpenCL buffer is mapped from its start, even if it is a part of another buffer. */
static struct base_entry own_entry(const struct shmemi_region *region)
{
    bool has_offsets = shmemi_owner_has_offsets(region);
    return (struct base_entry){has_offsets ? 0 : region->place.address, true, has_offsets};
}

void shmemi_owner_show(const struct shmemi_region *region)
{
    struct base_entry entry = own_entry(region);
    memcpy(shmemi_heap_region.base + offset_of(region), &entry, sizeof entry);
}

static int fetch(const struct shmemi_region *region, int pe, struct base_entry *entry)
{
    struct shmemi_context context = {0};
    const struct shmemi_transfer get = {.context = &context,
                                        .view = shmemi_region_view(&shmemi_heap_region, pe),
                                        .offset = offset_of(region),
                                        .mine = shmemi_place_host(entry),
                                        .shape = shmemi_shape_linear(sizeof *entry),
                                        .is_blocking = true};
    struct shmemi_call call = {.activity = SHMEMI_AT_RUNTIME};
    shmemi_call_begin(&call);
    int rc = shmemi_issue(&get);
    shmemi_call_end(&call);
    return rc;
}

int shmemi_owner_base(struct shmemi_region *region, int pe, uint64_t *base_p)
{
    _Atomic uint64_t *known = &shmemi_region_view(region, pe)->owner_base;
    struct base_entry entry;
    *base_p = atomic_load_explicit(known, memory_order_relaxed);
    if (*base_p != SHMEMI_OWNER_BASE_UNKNOWN)
        return 0;
    int rc = fetch(region, pe, &entry);
    if (rc)
        return rc;
    if (entry.is_valid != true || entry.has_offsets != shmemi_owner_has_offsets(region)) {
        shmemi_error("the address of region %u on PE %d is not in its table: the start of that PE's heap has been "
                     "overwritten",
                     region->id, pe);
        return -EPROTO;
    }
    *base_p = entry.base;
    atomic_store_explicit(known, entry.base, memory_order_relaxed);
    return 0;
}
