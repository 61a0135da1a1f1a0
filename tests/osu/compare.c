/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a transfer is compared with: the plain copy to the peer's memory, which is the floor. The ceiling, the way of a
 * program whose OpenSHMEM library knows host memory only, is in by_hand.c.
 */
#include "latency.h"
#include "shmem_flavour.h"

#include <math.h>

static bool is_device(const struct osu_memory *memory)
{
    return memory->device->ops->memtype != 0;
}

/* The layout of consecutive bytes: a size is a number of bytes. */
static size_t same_size(size_t size)
{
    return size;
}

static bool copy_bytes(struct device *device, const struct device_copy *copy, size_t size, long count)
{
    return plain_copy(device, copy, size, count);
}

static void bytes_out(struct osu_memory *memory, void *host, size_t size)
{
    plain_read(memory->device, host, memory->object, 0, size);
}

static void bytes_in(struct osu_memory *memory, const void *host, size_t size)
{
    plain_write(memory->device, memory->object, 0, host, size);
}

const struct latency_layout latency_consecutive = {
    .bytes = same_size,
    .span = same_size,
    .fill = osu_memory_fill,
    .clear = osu_memory_clear,
    .check = osu_memory_check,
    .copy = copy_bytes,
    .copy_out = bytes_out,
    .copy_in = bytes_in,
};

struct device *compare_device(const struct latency_buffers *buffers)
{
    return is_device(&buffers->remote) ? buffers->remote.device : buffers->local.device;
}

bool compare_copy(const struct latency_test *test, const struct latency_buffers *buffers, struct device_copy *copy)
{
    const struct osu_memory *local = &buffers->local, *remote = &buffers->remote;
    void *peer = shmem_ptr(remote->address, 1);
    struct device_copy put = {peer, local->object, is_device(remote), is_device(local)};
    struct device_copy get = {local->object, peer, is_device(local), is_device(remote)};
    *copy = test->source_pe == OSU_PUT_SOURCE ? put : get;
    return peer != NULL;
}

static bool raw_copy(const struct latency_test *test, const struct latency_buffers *buffers, size_t size, long count)
{
    struct device_copy copy;
    return compare_copy(test, buffers, &copy) && test->layout->copy(compare_device(buffers), &copy, size, count);
}

double compare_raw(const struct latency_test *test, const struct latency_buffers *buffers, size_t size, long count)
{
    if (shmem_my_pe() != 0)
        return 0;
    double start = now_us();
    return raw_copy(test, buffers, size, count) ? now_us() - start : NAN;
}

double compare_locked(const struct latency_test *test, const struct latency_buffers *buffers, size_t size, long count)
{
    struct device *device = buffers->remote.device;
    void *host = buffers->local.object;
    if (shmem_my_pe() != 0 || buffers->local.device != &device_pageable || buffers->local.is_prepared ||
        !can_lock(device))
        return NAN;
    device->ops->locks.lock(device, host, size);
    raw_copy(test, buffers, size, 1);
    double start = now_us();
    bool done = raw_copy(test, buffers, size, count);
    double time = done ? now_us() - start : NAN;
    device->ops->locks.unlock(device, host);
    return time;
}
