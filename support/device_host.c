/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host memory as the simplest kinds of memory: buffers on the symmetric heap, and buffers of malloc, which are pageable.
 */
#include <shmem.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

static int count(void)
{
    return 1;
}

static struct device *open_host(int index, const struct kernel_code *code)
{
    (void)code;
    return index == 0 ? &device_host : NULL;
}

static struct device *open_pageable(int index, const struct kernel_code *code)
{
    (void)code;
    return index == 0 ? &device_pageable : NULL;
}

static void close_device(struct device *dev)
{
    (void)dev;
}

static struct buffer *heap_alloc(struct device *dev, size_t bytes)
{
    (void)dev;
    return shmem_align(4096, bytes);
}

static void heap_free(struct device *dev, struct buffer *buf)
{
    (void)dev;
    shmem_free(buf);
}

static struct buffer *pageable_alloc(struct device *dev, size_t bytes)
{
    (void)dev;
    return malloc(bytes);
}

static void pageable_free(struct device *dev, struct buffer *buf)
{
    (void)dev;
    free(buf);
}

static void write_bytes(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes)
{
    (void)dev;
    memcpy((char *)buf + offset, source, bytes);
}

static void read_bytes(struct device *dev, void *dest, const struct buffer *buf, size_t offset, size_t bytes)
{
    (void)dev;
    memcpy(dest, (const char *)buf + offset, bytes);
}

static bool plain_copy(struct device *dev, const struct device_copy *copy, size_t bytes, long count)
{
    (void)dev;
    for (long i = 0; i < count; i++) {
        memcpy(copy->dest, copy->source, bytes);
        __asm__ volatile("" ::: "memory"); /* each of the equal copies must be made */
    }
    return true;
}

/* Rows of a fixed width, which the compiler copies without a call. */
static inline void copy_rows(const struct device_block *block, size_t width)
{
    char *dest = block->ends.dest;
    const char *source = block->ends.source;

    for (size_t row = 0; row < block->rows; row++)
        memcpy(dest + row * block->dest_distance, source + row * block->source_distance, width);
    __asm__ volatile("" ::: "memory");
}

static void plain_copy_2d(struct device *dev, const struct device_block *block)
{
    (void)dev;
    switch (block->width) {
    case 1:
        return copy_rows(block, 1);
    case 2:
        return copy_rows(block, 2);
    case 4:
        return copy_rows(block, 4);
    case 8:
        return copy_rows(block, 8);
    default:
        copy_rows(block, block->width);
    }
}

static void *plain_stream(struct device *dev)
{
    (void)dev;
    return NULL;
}

static void plain_synchronize(struct device *dev)
{
    (void)dev;
}

static void plain_enqueue(struct device *dev, const struct device_copy *copy, size_t bytes)
{
    (void)dev;
    memcpy(copy->dest, copy->source, bytes);
}

static void plain_copy_words(struct device *dev, const struct device_words *words)
{
    const struct device_copy ends = {words->dest, words->source, false, false};

    plain_copy_2d(dev, &(struct device_block){ends, 8, words->count, words->distance, words->distance});
}

#define HOST_COPIES                                                                                                    \
    .write = write_bytes, .read = read_bytes,                                                                          \
    .plain = {write_bytes, read_bytes, plain_copy, plain_copy_2d, plain_stream, plain_synchronize}

static const struct device_ops host_ops = {
    .name = "host",
    .absent = "no host memory",
    .memtype = DEVICE_TYPE_HOST,
    .local_pointer = true,
    .count = count,
    .open = open_host,
    .close = close_device,
    .alloc = heap_alloc,
    .free = heap_free,
    .enqueues = {plain_enqueue, plain_copy_words},
    HOST_COPIES,
};

static const struct device_ops pageable_ops = {
    .name = "pageable",
    .absent = "no host memory",
    .memtype = DEVICE_TYPE_HOST,
    .local_pointer = true,
    .count = count,
    .open = open_pageable,
    .close = close_device,
    .alloc = pageable_alloc,
    .free = pageable_free,
    HOST_COPIES,
};

struct device device_host = {&host_ops}, device_pageable = {&pageable_ops};
