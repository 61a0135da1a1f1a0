// SPDX-License-Identifier: BSD-3-Clause
//
// The symmetric objects that litmus tests use: the heap, static data, a mapped buffer of each kind of device.
#include "litmus.h"

#include "../api/check.h"

extern "C" {
#include "../api/map_check.h"
}

alignas(64) static char static_area[LITMUS_BYTES];
static void *queues[2]; // CUDA's and OpenCL's
static struct queue *opened[2];
static struct device *devices[2];

static void add(litmus_object *object, const char *name, char *address, bool is_host)
{
    CHECK_THAT(address, "%s: %s", name, shmemx_strerror());
    *object = litmus_object();
    object->name = name;
    object->address = address;
    object->is_host = is_host;
    if (is_host)
        memset(address, 0, LITMUS_BYTES);
}

static char *map(struct device *device)
{
    static const char zeros[LITMUS_BYTES] = {0};
    struct buffer *buffer = device->ops->alloc(device, LITMUS_BYTES);
    device->ops->write(device, buffer, 0, zeros, LITMUS_BYTES);
    return static_cast<char *>(shmmap(buffer, LITMUS_BYTES, device->ops->memtype));
}

static void open_queue(int kind, struct device *device)
{
    devices[kind] = device;
    opened[kind] = device->ops->gpu.queue_open(device);
    queues[kind] = device->ops->gpu.queue_object(opened[kind]);
}

int litmus_objects(litmus_object *objects, int most)
{
    const struct device_ops *const kinds[2] = {&device_cuda_ops, &device_opencl_ops};
    int n = 0;
    CHECK(most >= 4);
    for (int kind = 0; kind < 2; kind++) {
        struct device *device = map_open_device(kinds[kind]);
        if (!device)
            continue;
        add(&objects[n++], kinds[kind]->name, map(device), false);
        open_queue(kind, device);
    }
    add(&objects[n++], "heap", static_cast<char *>(shmem_align(64, LITMUS_BYTES)), true);
    add(&objects[n++], "static", static_area, true);
    for (int i = n - 2; i < n && !devices[0]; i++) // those of a GPU's kernels cannot be used by threads of the CPU
        objects[i].has_view = !shmemx_device_view(objects[i].address, &objects[i].view);
    shmem_barrier_all();
    return n;
}

void *litmus_stream()
{
    return queues[0];
}
void *litmus_queue()
{
    return queues[1];
}

void litmus_finish(void *queue)
{
    const int kind = queue == queues[0] ? 0 : 1;
    devices[kind]->ops->gpu.finish(opened[kind]);
}
