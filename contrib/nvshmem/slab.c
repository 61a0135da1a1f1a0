/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The symmetric heap: one allocation, the slab, which is mapped once. Its allocator is that of MapSHMEM's own heap, so all
 * PEs, which make the same calls, find the same offsets.
 *
 *     areas of teams, for kernels | blocks of the program
 */
#include "library.h"

#include "driver.h"
#include "shmmap/heap.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum {
    BLOCK_ALIGNMENT = 512,
    SLAB_ALIGNMENT = 2 << 20,     /* of the slab, and the most that a program can ask for */
    AREA_SLOTS_BYTES = 512 << 10, /* of an area, for the data of all members of a team */
    SLOT_MOST_BYTES = 64 << 10
};

struct nvs_object nvs_slab;

static struct shmemi_heap *heap;
static nvs_device_address allocation; /* on the GPU: the slab begins at the next multiple of SLAB_ALIGNMENT */
static void *host_slab;               /* on the host */

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static size_t area_bytes(void)
{
    const size_t n = (size_t)shmem_n_pes();
    const size_t slot = AREA_SLOTS_BYTES / n < SLOT_MOST_BYTES ? AREA_SLOTS_BYTES / n : SLOT_MOST_BYTES;
    return round_up(SHMEMX_DEVICE_WORK_BYTES(n, slot), BLOCK_ALIGNMENT);
}

size_t nvs_slab_area(nvshmem_team_t team, void **mapped)
{
    *mapped = nvs_slab.mapped + (size_t)team * area_bytes();
    return nvs_slab.size ? area_bytes() : 0;
}

/* The copy of a range of the slab on this PE. */
static int set_zero(const char *routine, uintptr_t own, size_t size)
{
    if (allocation) {
        int error = nvs_driver.set_bytes(own, 0, size);
        if (!error)
            error = nvs_driver.stream_wait(NULL);
        return nvs_driver_failed(routine, "clear memory of the symmetric heap", error) ? -EIO : 0;
    }
    memset((void *)own, 0, size);
    return 0;
}

int nvs_slab_clear_area(nvshmem_team_t team)
{
    const size_t size = area_bytes();
    return nvs_slab.size ? set_zero("nvshmem_team_split", nvs_slab.own + (size_t)team * size, size) : 0;
}

/* ---- Making it --------------------------------------------------------------------------------------------------- */

static void release_allocation(void)
{
    if (allocation)
        (void)nvs_driver.release(allocation); /* the program may have reset the GPU */
    allocation = 0;
}

/* A PE that gets no memory takes part all the same, so that shmmap refuses on all PEs. */
static int make_on_gpu(const char *routine, size_t size)
{
    const size_t all = size + SLAB_ALIGNMENT;
    int error = nvs_need_context(routine);
    if (!error)
        error = nvs_driver_failed(routine, "allocate the symmetric heap (NVSHMEM_SYMMETRIC_SIZE)",
                                  nvs_driver.allocate(&allocation, all));
    if (error)
        allocation = 0;
    const uintptr_t own = round_up(allocation, SLAB_ALIGNMENT);
    nvs_slab.mapped = allocation ? shmmap((void *)own, size, OSHM_MEMTYPE_CUDA) : shmmap(NULL, 0, 0);
    if (nvs_slab.mapped) {
        nvs_slab.own = own;
        return 0;
    }
    if (shmem_my_pe() == 0)
        shmemi_error("%s: the symmetric heap of %zu bytes cannot be mapped: %s", routine, size, shmemx_strerror());
    release_allocation();
    return -ENOMEM;
}

static int make_on_host(const char *routine, size_t size)
{
    host_slab = shmem_align(SLAB_ALIGNMENT, size);
    nvs_slab.mapped = host_slab;
    nvs_slab.own = (uintptr_t)host_slab;
    if (!host_slab && shmem_my_pe() == 0)
        shmemi_error("%s: without CUDA the symmetric heap (NVSHMEM_SYMMETRIC_SIZE) is a part of SHMEM_SYMMETRIC_SIZE",
                     routine);
    return host_slab ? 0 : -ENOMEM;
}

static int make(const char *routine, size_t size)
{
    const int has_cuda = nvs_has_cuda();
    const int all_have = nvs_agree_min(SHMEM_TEAM_WORLD, has_cuda),
              some_have = nvs_agree_max(SHMEM_TEAM_WORLD, has_cuda);
    if (all_have != some_have) {
        if (!has_cuda)
            shmemi_error("%s: this PE has no GPU that CUDA can use, others have", routine);
        return -ENODEV;
    }
    return has_cuda ? make_on_gpu(routine, size) : make_on_host(routine, size);
}

/* The first call that needs the slab makes it; collective. */
static int open_slab(const char *routine)
{
    const size_t areas = round_up(NVS_TEAMS * area_bytes(), BLOCK_ALIGNMENT);
    const size_t size = round_up(areas + nvs_symmetric_size, SLAB_ALIGNMENT);
    if (nvs_slab.size)
        return 0;
    heap = shmemi_heap_create(size, areas, 0);
    int rc = heap ? make(routine, size) : -ENOMEM;
    if (!rc) {
        nvs_slab.size = size;
        rc = set_zero(routine, nvs_slab.own, areas);
    }
    if (rc) {
        nvs_slab_close();
        return rc;
    }
    shmem_barrier_all(); /* all areas are clear */
    nvs_units_refresh();
    return 0;
}

void nvs_slab_close(void)
{
    if (nvs_slab.size && !host_slab)
        shmumap(nvs_slab.mapped);
    release_allocation();
    shmem_free(host_slab);
    host_slab = NULL;
    if (heap)
        shmemi_heap_destroy(heap);
    heap = NULL;
    nvs_slab = (struct nvs_object){0};
}

/* ---- What programs call ------------------------------------------------------------------------------------------- */

static void report_full(const char *routine, size_t size)
{
    struct shmemi_heap_state state;
    shmemi_heap_state(heap, &state);
    if (shmem_my_pe() == 0)
        shmemi_warn("%s: no room for %zu bytes in the symmetric heap (%zu of %zu bytes used, largest free block %zu); "
                    "NVSHMEM_SYMMETRIC_SIZE sets its size",
                    routine, size, state.used, state.size, state.largest_free);
}

/* Without the barrier on exit. */
static void *allocate(const char *routine, size_t size, size_t alignment)
{
    size_t offset;
    nvs_enter(routine);
    if (!size || open_slab(routine))
        return NULL;
    const int rc = shmemi_heap_allocate(heap, size, alignment, &offset);
    if (rc == -ENOSPC)
        report_full(routine, size);
    else if (rc) /* logged; other PEs have made the block: the heaps would differ */
        shmem_global_exit(1);
    return rc ? NULL : (void *)(nvs_slab.own + offset);
}

static void *allocate_collectively(const char *routine, size_t size, size_t alignment)
{
    void *block = allocate(routine, size, alignment);
    if (size)
        shmem_barrier_all();
    return block;
}

NVS_EXPORT void *nvshmem_malloc(size_t size)
{
    return allocate_collectively("nvshmem_malloc", size, BLOCK_ALIGNMENT);
}

NVS_EXPORT void *nvshmem_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX / 2; /* more than any heap */
    void *block = allocate("nvshmem_calloc", bytes, BLOCK_ALIGNMENT);
    if (block && set_zero("nvshmem_calloc", (uintptr_t)block, bytes))
        shmem_global_exit(1);
    if (bytes)
        shmem_barrier_all();
    return block;
}

NVS_EXPORT void *nvshmem_align(size_t alignment, size_t size)
{
    if (!alignment || alignment & (alignment - 1) || alignment > SLAB_ALIGNMENT) {
        shmemi_error("nvshmem_align: the alignment %zu is not a power of two up to %d", alignment, SLAB_ALIGNMENT);
        return NULL;
    }
    return allocate_collectively("nvshmem_align", size, alignment > BLOCK_ALIGNMENT ? alignment : BLOCK_ALIGNMENT);
}

NVS_EXPORT void nvshmem_free(void *ptr)
{
    nvs_enter("nvshmem_free");
    if (!ptr)
        return;
    shmem_barrier_all();
    if (!nvs_slab.size || shmemi_heap_release(heap, (uintptr_t)ptr - nvs_slab.own))
        shmemi_fatal("nvshmem_free: %p is not the start of a block of the symmetric heap", ptr);
}
