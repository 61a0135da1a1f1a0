/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Devices for the tests of spaces: OpenCL and CUDA through their APIs.
 */
#include "space_device.h"

#include "../api/check.h"
#include "../api/map_check.h"

static const struct device_ops *const kinds[] = {&device_opencl_ops, &device_cuda_ops};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

struct device *space_next_device(struct device *device)
{
    size_t i = 0;
    while (device && kinds[i++] != device->ops)
        ;
    for (device = NULL; !device && i < N_KINDS; i++)
        device = map_open_device(kinds[i]);
    return device;
}

/* Buffers are kept for the next space, since making one takes longer than a test. */
static void *take_buffer(struct device *device, size_t size)
{
    static void *buffer;
    static struct device *maker;
    static size_t room;
    if (!size || (maker == device && room == size))
        return size ? buffer : NULL;
    if (buffer)
        device_free(maker, buffer);
    maker = device;
    room = size;
    return buffer = device_alloc(device, size);
}

void space_begin(struct space_under_test *test, struct device *device, size_t size,
                 const shmemx_deep_space_attr_t *attr)
{
    shmemx_deep_space_attr_t mine = *attr;
    *test = (struct space_under_test){.device = device, .buffer = take_buffer(device, size), .size = size};
    mine.memory_type = device->ops->memtype;
    mine.buffer = test->buffer;
    mine.size = size;
    mine.device = -1;
    test->space = shmemx_deep_space_create(&mine);
    CHECK(test->space);
}

void space_end(struct space_under_test *test)
{
    shmemx_deep_space_destroy(test->space);
}

/* OpenCL counts from the start of the buffer; CUDA has addresses. */
static void *object_of(const struct space_under_test *test, uint64_t address, size_t *offset_p)
{
    bool has_addresses = test->device->ops == &device_cuda_ops;
    *offset_p = has_addresses ? 0 : (size_t)address;
    return has_addresses ? (void *)(uintptr_t)address : test->buffer;
}

void space_read(const struct space_under_test *test, void *dest, uint64_t address, size_t nbytes)
{
    size_t offset;
    void *object = object_of(test, address, &offset);
    device_read(test->device, dest, object, offset, nbytes);
}

void space_write(const struct space_under_test *test, uint64_t address, const void *source, size_t nbytes)
{
    size_t offset;
    void *object = object_of(test, address, &offset);
    device_write(test->device, object, offset, source, nbytes);
}
