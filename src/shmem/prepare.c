/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shmemx_prepare, shmemx_release and shmemx_prepared: check the range, then let the transport prepare it.
 */
#include "shmem/internal.h"
#include "shmem/shmemx.h"
#include "transport/prepared.h"

/* Where a range lies. Of the window, only the heap is host memory, and the library prepares that itself. */
enum memory_class { MEMORY_PRIVATE, MEMORY_HEAP, MEMORY_MAPPED };

static enum memory_class class_of(const void *address, size_t size)
{
    uintptr_t start = (uintptr_t)address, window_end = shmemi_window.base + shmemi_window.span;
    if (start >= window_end || start + size <= shmemi_window.base)
        return MEMORY_PRIVATE;
    size_t offset = start - shmemi_window.base;
    return offset < shmemi_window.heap_size && size <= shmemi_window.heap_size - offset ? MEMORY_HEAP : MEMORY_MAPPED;
}

static bool is_gpu(const void *address)
{
    struct shmemi_place place;
    if (!shmemi_memory_probe)
        return false;
    shmemi_memory_locate(address, &place);
    return place.memory != &shmemi_memory_host;
}

/* Why a range cannot be prepared, or NULL if it can. */
static const char *objection(const void *address, size_t size)
{
    if (!address)
        return "the address is NULL";
    if (!size)
        return "the size is 0";
    if ((uintptr_t)address + size < (uintptr_t)address)
        return "it runs past the end of the address space";
    enum memory_class class = class_of(address, size);
    if (class == MEMORY_MAPPED)
        return "it is not host memory: it lies in the range of mapped objects";
    if (class == MEMORY_PRIVATE && (is_gpu(address) || is_gpu((const char *)address + size - 1)))
        return "it is not host memory";
    return NULL;
}

SHMEMI_EXPORT int shmemx_prepare(void *ptr, size_t size)
{
    shmemi_require_init("shmemx_prepare");
    const char *wrong = objection(ptr, size);
    if (!wrong)
        return shmemi_prepare(ptr, size, class_of(ptr, size) == MEMORY_HEAP);
    shmemi_error("shmemx_prepare: %p + %zu bytes: %s", ptr, size, wrong);
    return -EINVAL;
}

SHMEMI_EXPORT int shmemx_prepared(const void *ptr, size_t size)
{
    shmemi_require_init("shmemx_prepared");
    if (!ptr || !size || (uintptr_t)ptr + size < (uintptr_t)ptr)
        return 0;
    const struct shmemi_prepared_state state = shmemi_prepared_state(ptr, size);
    return (state.is_prepared ? SHMEMX_MEMORY_PREPARED : 0) | (state.is_locked ? SHMEMX_MEMORY_LOCKED : 0) |
           (state.is_registered ? SHMEMX_MEMORY_REGISTERED : 0);
}

SHMEMI_EXPORT int shmemx_release(void *ptr)
{
    shmemi_require_init("shmemx_release");
    return shmemi_release(ptr);
}
