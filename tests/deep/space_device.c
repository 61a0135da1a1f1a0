/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device of the tests of spaces.
 */
#include "space_device.h"

#include "../api/check.h"
#include "../api/map_check.h"

static const struct device_ops *const kinds[] = {&device_opencl, &device_cuda};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

const struct device_ops *space_next_device(const struct device_ops *device)
{
    size_t i = 0;
    while (device && kinds[i++] != device)
        ;
    while (i < N_KINDS && !map_open_device(kinds[i]))
        i++;
    return i < N_KINDS ? kinds[i] : NULL;
}

/* Buffers are kept for the next space: to make one takes longer than a test. */
static void *take_buffer(const struct device_ops *device, size_t size)
{
    static void *buffer;
    static const struct device_ops *maker;
    static size_t room;
    if (!size || (maker == device && room == size))
        return size ? buffer : NULL;
    if (buffer)
        maker->free(buffer);
    maker = device;
    room = size;
    return buffer = device->alloc(size);
}

void space_begin(struct space_under_test *test, const struct device_ops *device, size_t size,
                 const shmemx_deep_space_attr_t *attr)
{
    shmemx_deep_space_attr_t mine = *attr;
    *test = (struct space_under_test){.device = device, .buffer = take_buffer(device, size), .size = size};
    mine.memory_type = device->type;
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
    bool has_addresses = test->device == &device_cuda;
    *offset_p = has_addresses ? 0 : (size_t)address;
    return has_addresses ? (void *)(uintptr_t)address : test->buffer;
}

void space_read(const struct space_under_test *test, void *dest, uint64_t address, size_t nbytes)
{
    size_t offset;
    void *object = object_of(test, address, &offset);
    test->device->read(dest, object, offset, nbytes);
}

void space_write(const struct space_under_test *test, uint64_t address, const void *source, size_t nbytes)
{
    size_t offset;
    void *object = object_of(test, address, &offset);
    test->device->write(object, offset, source, nbytes);
}
