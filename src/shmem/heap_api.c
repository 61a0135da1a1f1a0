/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory management [9.3]. Every PE makes the same calls, so every PE's allocator comes to the same offset.
 */
#include "shmem/internal.h"
#include "shmem/shmemx.h"
#include "shmmap/symmetric.h"

#include <string.h>

enum { DEFAULT_ALIGNMENT = 64 };

static void require_init(const char *routine)
{
    if (!shmemi_heap)
        shmemi_fatal("%s: called before shmem_init or after shmem_finalize", routine);
}

static size_t offset_of(const void *address)
{
    return (size_t)((const char *)address - shmemi_heap_region.base);
}

static void *address_at(size_t offset)
{
    return shmemi_heap_region.base + offset;
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

/* Without the barrier. */
static void *allocate(const char *routine, size_t size, size_t alignment)
{
    require_init(routine);
    if (size == 0)
        return NULL;
    size_t offset = shmemi_heap_allocate(shmemi_heap, size, alignment);
    if (offset != SIZE_MAX)
        return address_at(offset);
    report_full(routine, size);
    return NULL;
}

static void *allocate_collectively(const char *routine, size_t size, size_t alignment)
{
    void *address = allocate(routine, size, alignment);
    if (size)
        shmemi_barrier_world();
    return address;
}

SHMEMI_API(void *, malloc, (size_t size))
{
    return allocate_collectively("shmem_malloc", size, DEFAULT_ALIGNMENT);
}

SHMEMI_API(void *, calloc, (size_t count, size_t size))
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX / 2; /* more than any heap has */
    void *address = allocate("shmem_calloc", bytes, DEFAULT_ALIGNMENT);
    if (address)
        memset(address, 0, bytes);
    if (bytes)
        shmemi_barrier_world();
    return address;
}

SHMEMI_API(void *, align, (size_t alignment, size_t size))
{
    if (alignment == 0 || (alignment & (alignment - 1)))
        shmemi_fatal("shmem_align: the alignment %zu is not a power of two", alignment);
    if (alignment > SHMEMI_WINDOW_ALIGNMENT)
        shmemi_fatal("shmem_align: the alignment %zu is more than %d", alignment, SHMEMI_WINDOW_ALIGNMENT);
    return allocate_collectively("shmem_align", size, alignment);
}

static void release(const char *routine, void *ptr)
{
    if (shmemi_region_of(ptr) != &shmemi_heap_region || shmemi_heap_release(shmemi_heap, offset_of(ptr)))
        shmemi_fatal("%s: %p is not the start of a block of the symmetric heap", routine, ptr);
}

static void release_collectively(const char *routine, void *ptr)
{
    require_init(routine);
    shmemi_barrier_world();
    release(routine, ptr);
}

SHMEMI_API(void, free, (void *ptr))
{
    if (ptr)
        release_collectively("shmem_free", ptr);
}

static void *move(void *ptr, size_t old_size, size_t size)
{
    void *address = allocate("shmem_realloc", size, DEFAULT_ALIGNMENT);
    if (!address)
        return NULL;
    memcpy(address, ptr, old_size < size ? old_size : size);
    release("shmem_realloc", ptr);
    return address;
}

static void *reallocate(void *ptr, size_t size)
{
    require_init("shmem_realloc");
    size_t old_size =
        shmemi_region_of(ptr) == &shmemi_heap_region ? shmemi_heap_size_at(shmemi_heap, offset_of(ptr)) : 0;
    if (!old_size)
        shmemi_fatal("shmem_realloc: %p is not the start of a block of the symmetric heap", ptr);
    shmemi_barrier_world();
    void *address = shmemi_heap_resize(shmemi_heap, offset_of(ptr), size) ? move(ptr, old_size, size) : ptr;
    shmemi_barrier_world();
    return address;
}

SHMEMI_API(void *, realloc, (void *ptr, size_t size))
{
    if (!ptr)
        return allocate_collectively("shmem_realloc", size, DEFAULT_ALIGNMENT);
    if (size)
        return reallocate(ptr, size);
    release_collectively("shmem_realloc", ptr);
    return NULL;
}

SHMEMI_EXPORT void shmemx_heap_info(shmemx_heap_info_t *info)
{
    struct shmemi_heap_state state = {0};
    require_init("shmemx_heap_info");
    shmemi_heap_state(shmemi_heap, &state);
    *info = (shmemx_heap_info_t){state.size, state.used, state.largest_free};
}
