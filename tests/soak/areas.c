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

/* With SHMEM_CHECK=1 up to 16 MiB of freed blocks rest before their memory is given out again, so that blocks wander
 * through as much of the heap. Every PE touches all of that in all heaps beforehand; it would seem to grow otherwise. */
static void touch_resting_memory(void)
{
    enum { MOST = 24 << 20, PIECE = 1 << 20 };
    const char *setting = getenv("SHMEM_CHECK");
    if (!setting || !strcmp(setting, "0"))
        return;
    char *memory = check_shmem_malloc(MOST), *copy = check_malloc(PIECE);
    for (size_t at = 0; at < MOST; at += PIECE)
        for (int pe = 0; pe < soak.n; pe++)
            shmem_getmem(copy, memory + at, PIECE, pe);
    shmem_free(memory); /* which fills this PE's */
    free(copy);
}

void areas_prepare(void)
{
    touch_resting_memory();
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
