/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory management [9.3]. Every PE makes the same calls, so every PE's allocator finds the same offset.
 */
#include "shmem/internal.h"
#include "shmem/shmemx.h"
#include "shmem/check/check.h"
#include "shmem/team.h"
#include "shmmap/guarded.h"
#include "shmmap/symmetric.h"

#include <errno.h>
#include <string.h>

enum { DEFAULT_ALIGNMENT = 64 };

static size_t offset_of(const void *address)
{
    return (size_t)((const char *)address - shmemi_heap_region.base);
}

static void report_full(const char *routine, size_t size)
{
    struct shmemi_heap_state state;
    shmemi_heap_state(shmemi_heap, &state);
    if (shmemi_job.pe == 0)
        shmemi_warn("%s: no room for %zu bytes in the symmetric heap (%zu of %zu bytes used, largest free block %zu); "
                    "SHMEM_SYMMETRIC_SIZE sets its size",
                    routine, size, state.used, state.size, state.largest_free);
}

/* Allocates without the barrier that the specification requires on exit. */
static void *allocate(const char *routine, size_t size, size_t alignment)
{
    shmemi_require_init(routine);
    if (size == 0)
        return NULL;
    size_t offset;
    int rc = shmemi_heap_allocate(shmemi_heap, size, alignment, &offset);
    if (rc == -ENOSPC && shmemi_settings.check && shmemi_guarded_flush(routine))
        rc = shmemi_heap_allocate(shmemi_heap, size, alignment, &offset);
    if (rc == -ENOSPC) {
        report_full(routine, size);
        return NULL;
    }
    shmemi_require(rc); /* other PEs have made the block: the heaps would differ */
    if (shmemi_settings.check)
        shmemi_guarded_made(routine, offset, size);
    return shmemi_heap_region.base + offset;
}

static void *allocate_collectively(const char *routine, size_t size, size_t alignment)
{
    shmemi_check_equal(routine, &shmemi_team_world, SHMEMI_ARGUMENTS({"size", size}, {"alignment", alignment}));
    void *address = allocate(routine, size, alignment);
    if (size)
        shmemi_barrier_in(routine);
    return address;
}

SHMEMI_API(void *, malloc, (size_t size))
{
    return allocate_collectively("shmem_malloc", size, DEFAULT_ALIGNMENT);
}

/* All heap memory suits remote atomics and signals equally, so the hints [9.3.5] change nothing. */
SHMEMI_API(void *, malloc_with_hints, (size_t size, long hints))
{
    (void)hints;
    return allocate_collectively("shmem_malloc_with_hints", size, DEFAULT_ALIGNMENT);
}

SHMEMI_API(void *, calloc, (size_t count, size_t size))
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX / 2; /* more than any heap */
    shmemi_check_equal("shmem_calloc", &shmemi_team_world, SHMEMI_ARGUMENTS({"size", bytes}));
    void *address = allocate("shmem_calloc", bytes, DEFAULT_ALIGNMENT);
    if (address)
        memset(address, 0, bytes);
    if (bytes)
        shmemi_barrier_in("shmem_calloc");
    return address;
}

static void *allocate_aligned(const char *routine, size_t alignment, size_t size)
{
    bool is_power_of_two = alignment && !(alignment & (alignment - 1));
    if (!is_power_of_two || alignment > SHMEMI_WINDOW_ALIGNMENT) {
        shmemi_error("%s: the alignment %zu is not a power of two up to %d", routine, alignment,
                     SHMEMI_WINDOW_ALIGNMENT);
        return NULL;
    }
    return allocate_collectively(routine, size, alignment);
}

SHMEMI_API(void *, align, (size_t alignment, size_t size))
{
    return allocate_aligned("shmem_align", alignment, size);
}

static int free_block(const char *routine, size_t offset)
{
    return shmemi_settings.check ? shmemi_guarded_free(routine, offset) : shmemi_heap_release(shmemi_heap, offset);
}

static void release(const char *routine, void *ptr)
{
    if (shmemi_region_of(ptr) != &shmemi_heap_region || free_block(routine, offset_of(ptr)))
        shmemi_fatal("%s: %p is not the start of a block of the symmetric heap", routine, ptr);
}

static void release_collectively(const char *routine, void *ptr)
{
    shmemi_require_init(routine);
    shmemi_check_equal(routine, &shmemi_team_world, SHMEMI_ARGUMENTS({"the offset in the heap", offset_of(ptr)}));
    shmemi_barrier_in(routine);
    release(routine, ptr);
}

SHMEMI_API(void, free, (void *ptr))
{
    if (ptr)
        release_collectively("shmem_free", ptr);
}

static void *move(const char *routine, void *ptr, size_t old_size, size_t size)
{
    void *address = allocate(routine, size, DEFAULT_ALIGNMENT);
    if (!address)
        return NULL;
    memcpy(address, ptr, old_size < size ? old_size : size);
    release(routine, ptr);
    return address;
}

static size_t size_of(const char *routine, void *ptr)
{
    if (shmemi_region_of(ptr) != &shmemi_heap_region)
        return 0;
    if (shmemi_settings.check && !shmemi_guarded_is_live(routine, offset_of(ptr)))
        return 0;
    return shmemi_heap_size_at(shmemi_heap, offset_of(ptr));
}

static bool resize_in_place(const char *routine, void *ptr, size_t size)
{
    const int rc = shmemi_heap_resize(shmemi_heap, offset_of(ptr), size);
    if (rc == -ENOSPC)
        return false;
    shmemi_require(rc); /* as in allocate */
    if (shmemi_settings.check)
        shmemi_guarded_made(routine, offset_of(ptr), size);
    return true;
}

static void *resize(const char *routine, void *ptr, size_t size)
{
    shmemi_require_init(routine);
    size_t old_size = size_of(routine, ptr);
    if (!old_size)
        shmemi_fatal("%s: %p is not the start of a block of the symmetric heap", routine, ptr);
    shmemi_check_equal(routine, &shmemi_team_world,
                       SHMEMI_ARGUMENTS({"the offset in the heap", offset_of(ptr)}, {"size", size}));
    shmemi_barrier_in(routine);
    void *address = resize_in_place(routine, ptr, size) ? ptr : move(routine, ptr, old_size, size);
    shmemi_barrier_in(routine);
    return address;
}

static void *reallocate(const char *routine, void *ptr, size_t size)
{
    if (!ptr)
        return allocate_collectively(routine, size, DEFAULT_ALIGNMENT);
    if (size)
        return resize(routine, ptr, size);
    release_collectively(routine, ptr);
    return NULL;
}

SHMEMI_API(void *, realloc, (void *ptr, size_t size))
{
    return reallocate("shmem_realloc", ptr, size);
}

/* ---- deprecated names -------------------------------------------------------------------------------------------- */

SHMEMI_API_OLD(void *, shmalloc, (size_t size))
{
    return allocate_collectively("shmalloc", size, DEFAULT_ALIGNMENT);
}

SHMEMI_API_OLD(void *, shmemalign, (size_t alignment, size_t size))
{
    return allocate_aligned("shmemalign", alignment, size);
}

SHMEMI_API_OLD(void *, shrealloc, (void *ptr, size_t size))
{
    return reallocate("shrealloc", ptr, size);
}

SHMEMI_API_OLD(void, shfree, (void *ptr))
{
    if (ptr)
        release_collectively("shfree", ptr);
}

/* ---- extension --------------------------------------------------------------------------------------------------- */

SHMEMI_EXPORT void shmemx_heap_info(shmemx_heap_info_t *info)
{
    struct shmemi_heap_state state = {0};
    shmemi_require_init("shmemx_heap_info");
    shmemi_require_pointer("shmemx_heap_info", "info", info);
    shmemi_heap_state(shmemi_heap, &state);
    state.used -= shmemi_guarded_resting();
    *info = (shmemx_heap_info_t){state.size, state.used, state.largest_free};
}
