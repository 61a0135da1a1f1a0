/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenCL memory in a build without CL/cl.h: there is none. open refuses, so that nothing else is ever called; the
 * other functions are there because the table has no holes.
 */
#include "gpu/memory.h"

#include <errno.h>
#include <stdio.h>

static int none_open(void)
{
    return -ENODEV;
}

static void none_close(void)
{
}

static int none_device_count(void)
{
    return 0;
}

static int none_device_text(int device, char *text, size_t size)
{
    (void)device, (void)text, (void)size;
    return -ENODEV;
}

static int none_allocate(int device, size_t size, void **object_p)
{
    (void)device, (void)size, (void)object_p;
    return -ENODEV;
}

static void none_deallocate(void *object)
{
    (void)object;
}

static int none_open_object(void *object, size_t size, struct shmemi_allocation *allocation_p, char *reason,
                            size_t reason_size)
{
    (void)object, (void)size, (void)allocation_p;
    snprintf(reason, reason_size, "is OpenCL memory, which this build does not support");
    return -ENODEV;
}

static void none_close_object(struct shmemi_allocation *allocation)
{
    (void)allocation;
}

static int none_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                     const struct shmemi_shape *shape)
{
    (void)dest, (void)source, (void)shape;
    return -ENODEV;
}

static int none_copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                           const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    (void)dest, (void)source, (void)shape, (void)event_p;
    return -ENODEV;
}

static int none_event(struct shmemi_event *event)
{
    (void)event;
    return -ENODEV;
}

const struct shmemi_memory shmemi_memory_opencl = {
    .name = "opencl",
    .type = SHMEMI_MEMTYPE_OPENCL,
    .open = none_open,
    .close = none_close,
    .device_count = none_device_count,
    .device_pci = none_device_text,
    .device_name = none_device_text,
    .allocate = none_allocate,
    .deallocate = none_deallocate,
    .open_object = none_open_object,
    .close_object = none_close_object,
    .copy = none_copy,
    .copy_start = none_copy_start,
    .event_test = none_event,
    .event_wait = none_event,
};
