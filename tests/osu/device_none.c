/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands in for device_opencl.c in a build without OpenCL: open fails, so nothing else is ever called.
 */
#include "device.h"
#include "session.h"
#include "shmem_flavour.h"

static int none_open(int index)
{
    (void)index;
    return -1;
}

static void *none_alloc(size_t size)
{
    osu_fail("no OpenCL in this build for a buffer of %zu bytes", size);
    return NULL;
}

static void none_free(void *object)
{
    (void)object;
}

static void none_write(void *object, size_t offset, const void *source, size_t size)
{
    (void)object;
    (void)offset;
    (void)source;
    (void)size;
}

static void none_read(void *dest, void *object, size_t offset, size_t size)
{
    (void)dest;
    (void)object;
    (void)offset;
    (void)size;
}

static bool none_copy(const struct device_copy *copy, size_t size, long count)
{
    (void)copy;
    (void)size;
    (void)count;
    return false;
}

static void none_copy_2d(const struct device_block *block)
{
    (void)block;
}

const struct device_ops device_opencl = {
    .name = "opencl",
    .absent = "this build has no OpenCL: configure it with OpenCL headers and an ICD loader",
    .type = OSU_TYPE_OPENCL,
    .local_pointer = false,
    .open = none_open,
    .alloc = none_alloc,
    .free = none_free,
    .write = none_write,
    .read = none_read,
    .copy = none_copy,
    .copy_2d = none_copy_2d,
};
