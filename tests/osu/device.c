/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of memory kinds, and host memory, the simplest of them, symmetric and private.
 */
#include "device.h"
#include "shmem_flavour.h"

#include <stdlib.h>
#include <string.h>

/* Buffers of the host are symmetric: alloc and free are collective. */
static int host_open(int index)
{
    (void)index;
    return 0;
}

static void *host_alloc(size_t size)
{
    return shmem_align(4096, size);
}

static void host_free(void *object)
{
    shmem_free(object);
}

static void host_write(void *object, size_t offset, const void *source, size_t size)
{
    memcpy((char *)object + offset, source, size);
}

static void host_read(void *dest, void *object, size_t offset, size_t size)
{
    memcpy(dest, (char *)object + offset, size);
}

static bool host_copy(const struct device_copy *copy, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        memcpy(copy->dest, copy->source, size);
        __asm__ volatile("" ::: "memory"); /* each of the equal copies must be made */
    }
    return true;
}

/* Rows of a fixed width, which the compiler copies without a call. */
static inline void host_rows(const struct device_block *block, size_t width)
{
    char *dest = block->ends.dest;
    const char *source = block->ends.source;
    for (size_t row = 0; row < block->rows; row++)
        memcpy(dest + row * block->dest_distance, source + row * block->source_distance, width);
    __asm__ volatile("" ::: "memory");
}

static void host_copy_2d(const struct device_block *block)
{
    switch (block->width) {
    case 1:
        return host_rows(block, 1);
    case 2:
        return host_rows(block, 2);
    case 4:
        return host_rows(block, 4);
    case 8:
        return host_rows(block, 8);
    default:
        host_rows(block, block->width);
    }
}

static void host_enqueue(const struct device_copy *copy, size_t size)
{
    memcpy(copy->dest, copy->source, size);
}

static void host_synchronize(void)
{
}

const struct device_ops device_host = {
    .name = "host",
    .absent = "no host memory",
    .type = 0,
    .local_pointer = true,
    .open = host_open,
    .alloc = host_alloc,
    .free = host_free,
    .write = host_write,
    .read = host_read,
    .copy = host_copy,
    .copy_2d = host_copy_2d,
    .enqueue = host_enqueue,
    .synchronize = host_synchronize,
};

const struct device_ops device_pageable = {
    .name = "pageable",
    .absent = "no host memory",
    .type = 0,
    .local_pointer = true,
    .open = host_open,
    .alloc = malloc,
    .free = free,
    .write = host_write,
    .read = host_read,
    .copy = host_copy,
    .copy_2d = host_copy_2d,
};

const struct device_ops *device_find(const char *name)
{
    static const struct device_ops *const kinds[] = {&device_cuda, &device_opencl};
    for (size_t i = 0; name && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (!strcmp(kinds[i]->name, name))
            return kinds[i];
    }
    return &device_host;
}
