/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The symmetric heap: slabs, each an allocation that is mapped once. The first has NVSHMEM_SYMMETRIC_SIZE bytes; when a block
 * finds no room, another one is made, which kernels and the host find as they find registered buffers. The allocator of each is
 * that of MapSHMEM's own heap, so all PEs, which make the same calls, come to the same slabs and offsets.
 *
 *     areas of teams, for kernels (the first slab) | blocks of the program
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
    SLOT_MOST_BYTES = 64 << 10,
    MOST_SLABS = 64
};

struct nvs_object nvs_slab;

struct slab {
    struct nvs_object object;
    struct shmemi_heap *heap;
    nvs_device_address allocation; /* on the GPU: the object begins at the next multiple of SLAB_ALIGNMENT */
    void *on_host;                 /* without CUDA */
};

static struct slab slabs[MOST_SLABS]; /* nvs_slab is that of the first */
static unsigned n_slabs;

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
    if (!slabs[0].on_host) {
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

static void release_allocation(struct slab *slab)
{
    if (slab->allocation)
        (void)nvs_driver.release(slab->allocation); /* the program may have reset the GPU */
    slab->allocation = 0;
}

/* A PE that gets no memory takes part all the same, so that shmmap refuses on all PEs. */
static int make_on_gpu(const char *routine, struct slab *slab, size_t size)
{
    const size_t all = size + SLAB_ALIGNMENT;
    int error = nvs_need_context(routine);
    if (!error)
        error = nvs_driver_failed(routine, "allocate the symmetric heap (NVSHMEM_SYMMETRIC_SIZE)",
                                  nvs_driver.allocate(&slab->allocation, all));
    if (error)
        slab->allocation = 0;
    slab->object.own = round_up(slab->allocation, SLAB_ALIGNMENT);
    slab->object.mapped =
        slab->allocation ? shmmap((void *)slab->object.own, size, OSHM_MEMTYPE_CUDA) : shmmap(NULL, 0, 0);
    if (slab->object.mapped)
        return 0;
    if (shmem_my_pe() == 0)
        shmemi_error("%s: %zu bytes of the symmetric heap cannot be mapped: %s", routine, size, shmemx_strerror());
    release_allocation(slab);
    return -ENOMEM;
}

static int make_on_host(const char *routine, struct slab *slab, size_t size)
{
    slab->on_host = shmem_align(SLAB_ALIGNMENT, size);
    slab->object.mapped = slab->on_host;
    slab->object.own = (uintptr_t)slab->on_host;
    if (!slab->on_host && shmem_my_pe() == 0)
        shmemi_error("%s: without CUDA the symmetric heap (NVSHMEM_SYMMETRIC_SIZE) is a part of SHMEM_SYMMETRIC_SIZE",
                     routine);
    return slab->on_host ? 0 : -ENOMEM;
}

static int make(const char *routine, struct slab *slab, size_t size)
{
    const int has_cuda = nvs_has_cuda();
    const int all_have = nvs_agree_min(SHMEM_TEAM_WORLD, has_cuda),
              some_have = nvs_agree_max(SHMEM_TEAM_WORLD, has_cuda);
    if (all_have != some_have) {
        if (!has_cuda)
            shmemi_error("%s: this PE has no GPU that CUDA can use, others have", routine);
        return -ENODEV;
    }
    return has_cuda ? make_on_gpu(routine, slab, size) : make_on_host(routine, slab, size);
}

static void end_slab(struct slab *slab)
{
    if (slab->object.mapped && !slab->on_host)
        shmumap(slab->object.mapped);
    release_allocation(slab);
    shmem_free(slab->on_host);
    if (slab->heap)
        shmemi_heap_destroy(slab->heap);
    *slab = (struct slab){0};
}

/* Collective: one more slab, whose first bytes are not for the program. */
static int add_slab(const char *routine, size_t reserved, size_t size)
{
    struct slab *slab = &slabs[n_slabs];
    slab->heap = shmemi_heap_create(size, reserved, 0);
    int rc = slab->heap ? make(routine, slab, size) : -ENOMEM;
    if (rc) {
        end_slab(slab);
        return rc;
    }
    slab->object.size = size;
    n_slabs++;
    return 0;
}

/* The first call that needs the slab makes it; collective. */
static int open_slab(const char *routine)
{
    const size_t areas = round_up(NVS_TEAMS * area_bytes(), BLOCK_ALIGNMENT);
    if (n_slabs)
        return 0;
    int rc = add_slab(routine, areas, round_up(areas + nvs_symmetric_size, SLAB_ALIGNMENT));
    rc = rc ? rc : set_zero(routine, slabs[0].object.own, areas);
    if (rc) {
        nvs_slab_close();
        return rc;
    }
    nvs_slab = slabs[0].object;
    shmem_barrier_all(); /* all areas are clear */
    nvs_units_refresh();
    return 0;
}

/* Make room for a block; collective. */
static int grow(const char *routine, size_t size)
{
    const size_t least = size > nvs_symmetric_size ? size : nvs_symmetric_size;
    if (n_slabs == MOST_SLABS || !nvs_objects_have_room() || size > SIZE_MAX / 4)
        return -ENOSPC;
    if (add_slab(routine, 0, round_up(least, SLAB_ALIGNMENT)))
        return -ENOSPC;
    nvs_object_insert(&slabs[n_slabs - 1].object);
    nvs_units_refresh();
    return 0;
}

void nvs_slab_close(void)
{
    while (n_slabs) {
        struct slab *slab = &slabs[--n_slabs];
        if (n_slabs)
            nvs_object_take_out(slab->object.own);
        end_slab(slab);
    }
    nvs_slab = (struct nvs_object){0};
}

/* ---- What programs call ------------------------------------------------------------------------------------------- */

static void report_full(const char *routine, size_t size)
{
    size_t all = 0, used = 0;
    for (unsigned i = 0; i < n_slabs; i++) {
        struct shmemi_heap_state state;
        shmemi_heap_state(slabs[i].heap, &state);
        all += state.size;
        used += state.used;
    }
    if (shmem_my_pe() == 0)
        shmemi_warn(
            "%s: no room for %zu bytes in the symmetric heap (%zu of %zu bytes used), and it cannot grow by as much; "
            "NVSHMEM_SYMMETRIC_SIZE sets its size at the start",
            routine, size, used, all);
}

/* In the first slab that has room. The result of the allocator. */
static int allocate_in_slabs(size_t size, size_t alignment, void **block)
{
    int rc = -ENOSPC;
    for (unsigned i = 0; i < n_slabs && rc == -ENOSPC; i++) {
        size_t offset;
        rc = shmemi_heap_allocate(slabs[i].heap, size, alignment, &offset);
        if (!rc)
            *block = (void *)(slabs[i].object.own + offset);
    }
    return rc;
}

/* Without the barrier on exit. */
static void *allocate(const char *routine, size_t size, size_t alignment)
{
    void *block = NULL;
    nvs_enter(routine);
    if (!size || open_slab(routine))
        return NULL;
    int rc = allocate_in_slabs(size, alignment, &block);
    if (rc == -ENOSPC && !grow(routine, size))
        rc = allocate_in_slabs(size, alignment, &block);
    if (rc == -ENOSPC)
        report_full(routine, size);
    else if (rc) /* logged; other PEs have made the block: the heaps would differ */
        shmem_global_exit(1);
    return block;
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
    unsigned i = 0;
    while (i < n_slabs && (uintptr_t)ptr - slabs[i].object.own >= slabs[i].object.size)
        i++;
    if (i == n_slabs || shmemi_heap_release(slabs[i].heap, (uintptr_t)ptr - slabs[i].object.own))
        shmemi_fatal("nvshmem_free: %p is not the start of a block of the symmetric heap", ptr);
}
