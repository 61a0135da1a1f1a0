/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mapped buffers of a device, and its queues.
 */
#include "mapped.h"

#include "support/device.h"
#include "tests/api/map_check.h"

#include <stdlib.h>

enum { QUEUES = 2, PART_AT = 4096 };

enum mapped_way { WHOLE, SHORTER, INNER, N_WAYS };

static struct device *device;
static struct queue *queues[QUEUES];

/* Whether it can be mapped at all; whether kernels may wait is known after that. */
static bool can_map(void)
{
    enum { NBYTES = 4096 };
    struct buffer *buffer = device_alloc(device, NBYTES);
    void *mapped = shmmap(buffer, NBYTES, device->ops->memtype);
    shmumap(mapped);
    device_free(device, buffer);
    return mapped != NULL;
}

bool mapped_open(void)
{
    static const struct device_ops *const kinds[] = {&device_cuda_ops, &device_opencl_ops};
    if (getenv("MODEL_DEVICE") && !strcmp(getenv("MODEL_DEVICE"), "none"))
        return false;
    for (int i = 0; i < 2 && !device; i++)
        device = map_open_device(kinds[i]);
    if (device && !can_map()) {
        device->ops->close(device);
        device = NULL;
    }
    for (int i = 0; i < QUEUES && device; i++)
        queues[i] = device->ops->gpu.queue_open(device);
    return device != NULL;
}

void mapped_close(void)
{
    for (int i = 0; i < QUEUES && device; i++)
        device->ops->gpu.queue_close(queues[i]);
    if (device)
        device->ops->close(device);
    device = NULL;
}

struct device *mapped_device(void)
{
    return device;
}

bool mapped_has_queues_of_opencl(void)
{
    return device->ops->memtype == OSHM_MEMTYPE_OPENCL;
}

void *mapped_queue(int number)
{
    return device->ops->gpu.queue_object(queues[number % QUEUES]);
}

void mapped_finish(int number)
{
    device->ops->gpu.finish(queues[number % QUEUES]);
}

void mapped_complete(void)
{
    for (int i = 0; i < QUEUES && device; i++) {
        if (mapped_has_queues_of_opencl())
            shmemx_quiet_on_queue(mapped_queue(i), 0, NULL, NULL);
        else
            shmemx_quiet_on_stream(mapped_queue(i));
        mapped_finish(i);
    }
}

/* ---- Buffers --------------------------------------------------------------------------------------------------------- */

static enum mapped_way way_of(const struct drawn_object *object)
{
    return (enum mapped_way)(object->way % N_WAYS);
}

size_t mapped_before(int way)
{
    return way % N_WAYS == INNER ? (size_t)PART_AT * (1 + (size_t)(way / N_WAYS % 3)) : 0;
}

void *mapped_argument(struct drawn_object *object)
{
    if (way_of(object) == INNER && device->ops->memtype == OSHM_MEMTYPE_CUDA)
        return (char *)object->buffer + object->before;
    return object->part ? object->part : object->buffer;
}

void mapped_make(struct drawn_object *object)
{
    object->buffer = device_alloc(device, object->whole);
    object->part = NULL;
    if (way_of(object) == INNER && device->ops->memtype == OSHM_MEMTYPE_OPENCL)
        object->part = mapped_sub_buffer(object->buffer, object->before, object->size);
    object->base = shmmap(mapped_argument(object), object->size, device->ops->memtype);
    if (!object->base)
        wrong(-1, "shmmap of %zu bytes: %s", object->size, shmemx_strerror());
}

/* CUDA frees no memory before all streams have come to an end, and lets no thread use the driver meanwhile, also none that
 * carries out what a stream waits for: doc/gpu.md. */
static void complete_before_free(void)
{
    if (!mapped_has_queues_of_opencl())
        mapped_complete();
}

void mapped_free_buffer(struct buffer *buffer)
{
    complete_before_free();
    device_free(device, buffer);
}

void mapped_free(struct drawn_object *object)
{
    complete_before_free();
    shmumap(object->base);
    if (object->part)
        mapped_free_sub_buffer(object->part);
    device_free(device, object->buffer);
}

void mapped_write(struct drawn_object *object, size_t at, const void *source, size_t nbytes)
{
    device_write(device, object->buffer, at, source, nbytes);
}

void mapped_read(struct drawn_object *object, size_t at, void *dest, size_t nbytes)
{
    device_read(device, dest, object->buffer, at, nbytes);
}
