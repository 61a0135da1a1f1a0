/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Symmetric memory: the reserved address range, the regions in it, and the one place that answers
 * "is this address symmetric, and which region?".
 *
 *      window.base                                                        window.base + window.span
 *      | heap (region 0) | mapped object | mapped object | ... free ...                |
 *
 * The heap begins with the library's own part, which no look-up by address finds: programs have no business there.
 *
 * Region 1 is the executable's static data, outside of the window. Region numbers and offsets are the same on every
 * PE; addresses need not be: everything travels as (region, offset).
 */
#ifndef SHMEMI_REGION_H
#define SHMEMI_REGION_H

#include "base/likely.h"
#include "base/log.h"
#include "base/system/plain.h"
#include "gpu/memory.h"
#include "transport/driver.h"
#include "bootstrap/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SHMEMI_REGIONS_MAX = 4096,
    SHMEMI_GRANULE_SHIFT = 21,         /* 2 MiB: the unit of the lookup table */
    SHMEMI_WINDOW_ALIGNMENT = 1 << 30, /* of the window's base, and so the largest for shmem_align */
    SHMEMI_FIRST_PAGE_BYTES = 4096,    /* where NULL is, and nothing else */
    SHMEMI_SHORT_BYTES = 64 << 10,     /* at most, of transfers whose ranges are checked in the quickest way */
};

struct shmemi_far_views;

struct shmemi_region {
    uint32_t id;
    char *base; /* symmetric address on this PE */
    size_t size;
    size_t short_size;                   /* without the last SHMEMI_SHORT_BYTES; 0 if it has no more */
    struct shmemi_place place;           /* of base, for local copies from and to it */
    struct shmemi_allocation allocation; /* mapped objects */
    int sharers;                         /* of them: PEs that use the device of this PE's copy */
    bool in_turns;                       /* and do so in turns (gpu/memory.h) */
    bool is_reached_directly;            /* every PE has mapped all copies of its node */
    bool is_met_at;                      /* and kernels of all PEs may wait for each other, and be the library's */

    /* Private to views.c: */
    struct shmemi_view *near;               /* of the PEs of this node, by node rank; this PE's own included */
    _Atomic(struct shmemi_far_views *) far; /* of PEs of other nodes, once they were needed */
};

struct shmemi_window {
    uintptr_t base;
    size_t span;
    size_t heap_size;
    uintptr_t user_base; /* the program's part of the heap */
    size_t user_size;
    size_t user_short_size; /* without its last SHMEMI_SHORT_BYTES */
    uintptr_t host_floor; /* private addresses from here on are certainly host memory: above NULL, or none with a GPU */
    struct shmemi_region **granule; /* region that holds a granule, or NULL */
    size_t table_size;              /* bytes of that table */
    uintptr_t static_base;
    size_t static_size;
    struct shmemi_region *static_region;
};

extern struct shmemi_window shmemi_window;

/* Whether the limits of the process leave addresses for the least window and for as many bytes beside it. -errno, logged,
 * when they do not. */
int shmemi_window_check(size_t heap_size, size_t beside);

/* Reserve the window, after shmemi_memory_discover: span bytes, or what the limits of the process leave of it if that
 * holds the heap. heap_size and reserved, the bytes of the library's own part, are multiples of the granule. All PEs then
 * agree on the least span, and each shrinks its window to that before there is a mapped object: these must find the same
 * room everywhere. */
int shmemi_window_open(size_t span, size_t heap_size, size_t reserved);
void shmemi_window_shrink(size_t span);
void shmemi_window_close(void);

/* The region that holds this address, or NULL. The caller checks the length with shmemi_region_holds. */
static inline __attribute__((always_inline)) struct shmemi_region *shmemi_region_of(const void *address)
{
    uintptr_t offset = (uintptr_t)address - shmemi_window.base;
    if (shmemi_likely(offset < shmemi_window.span))
        return shmemi_window.granule[offset >> SHMEMI_GRANULE_SHIFT];
    if ((uintptr_t)address - shmemi_window.static_base < shmemi_window.static_size)
        return shmemi_window.static_region;
    return NULL;
}

static inline __attribute__((always_inline)) bool shmemi_region_holds(const struct shmemi_region *region, size_t offset,
                                                                      size_t nbytes)
{
    size_t end;
    return !__builtin_add_overflow(offset, nbytes, &end) && end <= region->size;
}

/* Add a region to the lookup table, and remove it again. A mapped object gets the lowest free number and the first
 * free granules that suffice, which are the same on every PE; -ENOSPC when the window has no room, -EMFILE when
 * all numbers are taken. */
int shmemi_region_add_heap(struct shmemi_region *region);
int shmemi_region_add_static(struct shmemi_region *region);
int shmemi_region_add_mapped(struct shmemi_region *region);
void shmemi_region_remove(struct shmemi_region *region);

/* Visit all regions by ascending number until visit returns false. No region may be added or removed meanwhile. */
void shmemi_region_for_each(bool (*visit)(struct shmemi_region *region, void *argument), void *argument);

/* Whether a part of this object is mapped already. */
bool shmemi_region_is_mapped(const struct shmemi_allocation *allocation, size_t size);

/* The region with this number, or NULL, for a request of another PE. No region is removed until this one is given back,
 * which any thread may do. */
struct shmemi_region *shmemi_region_borrow(uint32_t id);
void shmemi_region_give_back(void);

/* Whether a range is in the program's part of the heap. */
static inline __attribute__((always_inline)) bool shmemi_is_in_heap(const void *address, size_t nbytes)
{
    uintptr_t offset = (uintptr_t)address - shmemi_window.user_base;
    return offset < shmemi_window.user_size && nbytes <= shmemi_window.user_size - offset;
}

/* Whether a local argument of a put or get is certainly host memory that the program may use: in its part of the heap,
 * or outside of the window, neither NULL nor GPU memory. With a GPU: if its page is remembered (base/system/plain.h). */
static inline __attribute__((always_inline)) bool shmemi_is_host(const void *address, size_t nbytes)
{
    if ((uintptr_t)address - shmemi_window.base >= shmemi_window.span)
        return (uintptr_t)address >= shmemi_window.host_floor || shmemi_is_plain(address);
    return shmemi_is_in_heap(address, nbytes);
}

/* Whether at most SHMEMI_SHORT_BYTES are certainly host memory. False near the end of the heap, where the length would
 * matter. */
static inline __attribute__((always_inline)) bool shmemi_is_host_short(const void *address)
{
    if (shmemi_likely((uintptr_t)address - shmemi_window.user_base < shmemi_window.user_short_size))
        return true;
    return (uintptr_t)address - shmemi_window.base >= shmemi_window.span &&
           ((uintptr_t)address >= shmemi_window.host_floor || shmemi_is_plain(address));
}

/* Where a local argument lies. -EFAULT, logged, when the address is in the window but in no region, or when nbytes run
 * past the end of the region. */
int shmemi_place_of(const void *address, size_t nbytes, struct shmemi_place *place_p);

#endif
