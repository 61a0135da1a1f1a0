/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of the soak: the heap, static data, and mapped memory of the kinds that every PE has.
 */
#include "soak.h"
#include "support/util.h"

static struct memory static_memory;

static void *zeros(void)
{
    void *memory = calloc(1, sizeof(struct memory));
    CHECK(memory);
    return memory;
}

static void allocate(struct area *area)
{
    if (!area->device) {
        area->memory = shmem_calloc(1, sizeof(struct memory));
        CHECK(area->memory);
        return;
    }
    void *memory = zeros();
    area->object = device_alloc(area->device, sizeof(struct memory));
    device_write(area->device, area->object, 0, memory, sizeof(struct memory));
    free(memory);
    area->memory = shmmap(area->object, sizeof(struct memory), area->device->ops->memtype);
    CHECK_THAT(area->memory, "shmmap: %s", shmemx_strerror());
}

static void release(struct area *area)
{
    if (!area->device) {
        shmem_free(area->memory);
        return;
    }
    shmumap(area->memory);
    device_free(area->device, area->object);
}

static void add_mapped(const struct device_ops *ops)
{
    int index = ops->count() > 0 ? shmemx_my_device(ops->memtype) : -1;
    struct device *device = index >= 0 ? ops->open(index, NULL) : NULL;
    if (job_max(!device) != 0)
        return;
    struct area *area = &soak.areas[soak.n_areas++];
    *area = (struct area){.name = ops->name, .device = device};
    allocate(area);
}

void areas_prepare(void)
{
    soak.areas[HEAP] = (struct area){.name = "the heap"};
    soak.areas[1] = (struct area){.name = "static data", .memory = &static_memory};
    soak.n_areas = 2;
    allocate(&soak.areas[HEAP]);
    add_mapped(&device_cuda_ops);
    add_mapped(&device_opencl_ops);
    soak.mailboxes = shmem_calloc(THREADS_MAX, sizeof *soak.mailboxes);
    soak.images = shmem_align(16, (size_t)(soak.n * soak.n_threads) * DEEP);
    CHECK(soak.mailboxes && soak.images);
}

/* A random one, static data excepted. */
void areas_renew(struct random *random)
{
    int which = (int)random_below(random, (size_t)soak.n_areas);
    if (which == 1)
        return;
    shmem_barrier_all();
    release(&soak.areas[which]);
    allocate(&soak.areas[which]);
    lanes_forget(which);
    shmem_barrier_all();
}
