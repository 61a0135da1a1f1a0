/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Target memory of images, for the tests of deep copy: the heap, static data and mapped objects of the kinds that this
 * machine has. Owners read it through the vendor's API, never through the library.
 */
#ifndef DEEP_CHECK_H
#define DEEP_CHECK_H

#include "check.h"
#include "map_check.h"

#include <shmemx.h>

struct deep_area {
    const char *name;
    char *address; /* symmetric */
    size_t size;
    struct device *device;
    void *object;
    uint64_t base; /* address of its first byte on this PE, or 0, its offset in the buffer */
};

static char deep_static_bytes[1 << 20] __attribute__((aligned(64)));

/* All kinds of memory that all PEs have; the number of areas. Collective. */
static inline int deep_open_areas(struct deep_area areas[4], size_t size)
{
    static const struct device_ops *const kinds[] = {&device_opencl_ops, &device_cuda_ops};
    char *heap = check_shmem_malloc(size);
    int n = 0;
    areas[n++] = (struct deep_area){"heap", heap, size, &device_host, heap, (uintptr_t)heap};
    areas[n++] = (struct deep_area){"static data", deep_static_bytes, sizeof deep_static_bytes,
                                    &device_host,  deep_static_bytes, (uintptr_t)deep_static_bytes};
    for (int i = 0; i < 2; i++) {
        struct device *device = map_open_device(kinds[i]);
        if (!device)
            continue;
        struct deep_area *area = &areas[n++];
        *area = (struct deep_area){.name = kinds[i]->name, .size = size, .device = device};
        area->object = device_alloc(area->device, size);
        area->address = shmmap(area->object, size, area->device->ops->memtype);
        area->base = area->device->ops->memtype == OSHM_MEMTYPE_CUDA ? (uintptr_t)area->object : 0;
        CHECK_THAT(area->address, "shmmap of %zu bytes of %s: %s", size, area->name, shmemx_strerror());
    }
    return n;
}

static inline void deep_close_areas(struct deep_area *areas, int n)
{
    shmem_barrier_all();
    for (int i = 2; i < n; i++) {
        shmumap(areas[i].address);
        device_free(areas[i].device, areas[i].object);
    }
    shmem_free(areas[0].address);
}

/* The owner's view of its own area. */
static inline void deep_read(const struct deep_area *area, size_t at, void *bytes, size_t nbytes)
{
    device_read(area->device, bytes, area->object, at, nbytes);
}

static inline void deep_write(const struct deep_area *area, size_t at, const void *bytes, size_t nbytes)
{
    device_write(area->device, area->object, at, bytes, nbytes);
}

#endif
