/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a transfer is compared with: the plain copy to the peer's memory, which is the floor, and the naive way of a
 * program whose OpenSHMEM library knows host memory only, which is the ceiling.
 */
#include "latency.h"
#include "shmem_flavour.h"

#include <math.h>

static double target_time; /* symmetric: what PE 1 tells PE 0 */

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

/* The naive way: the source's owner copies to host memory, one host transfer, a barrier, and the destination's owner
 * copies in. The time is that of one such sequence from end to end: for a put, what PE 0 does up to and including the barrier, plus
 * PE 1's copy in; for a get, PE 0 sees all of it, since it waits in the barrier for PE 1's copy out. The second barrier
 * only lets the next round begin and is not timed. */

static bool is_staged(const struct latency_test *test, const struct osu_memory *memory)
{
    return is_device(memory) || test->layout != &latency_consecutive;
}

static double naive_put_origin(const struct latency_test *test, struct latency_buffers *buffers, size_t size)
{
    struct osu_memory *local = &buffers->local, *remote = &buffers->remote, *stage = &buffers->stage;
    void *dest = is_staged(test, remote) ? stage->address : remote->address;
    void *source = is_staged(test, local) ? stage->address : local->address;
    double start = now_us();
    if (is_staged(test, local))
        test->layout->copy_out(local, source, size);
    shmem_putmem(dest, source, test->layout->bytes(size), 1);
    shmem_barrier_all();
    return now_us() - start;
}

static double naive_put_target(const struct latency_test *test, struct latency_buffers *buffers, size_t size)
{
    shmem_barrier_all();
    double start = now_us();
    if (is_staged(test, &buffers->remote))
        test->layout->copy_in(&buffers->remote, buffers->stage.address, size);
    return now_us() - start;
}

static double naive_get_origin(const struct latency_test *test, struct latency_buffers *buffers, size_t size)
{
    struct osu_memory *local = &buffers->local, *remote = &buffers->remote, *stage = &buffers->stage;
    void *dest = is_staged(test, local) ? stage->address : local->address;
    void *source = is_staged(test, remote) ? stage->address : remote->address;
    double start = now_us();
    shmem_barrier_all();
    shmem_getmem(dest, source, test->layout->bytes(size), 1);
    if (is_staged(test, local))
        test->layout->copy_in(local, dest, size);
    return now_us() - start;
}

static double naive_get_target(const struct latency_test *test, struct latency_buffers *buffers, size_t size)
{
    if (is_staged(test, &buffers->remote))
        test->layout->copy_out(&buffers->remote, buffers->stage.address, size);
    shmem_barrier_all();
    return 0; /* the origin's time includes it */
}

double compare_naive(const struct latency_test *test, struct latency_buffers *buffers, size_t size, long count)
{
    static double (*const steps[2][2])(const struct latency_test *, struct latency_buffers *, size_t) = {
        [OSU_PUT_SOURCE] = {naive_put_origin, naive_put_target},
        [OSU_GET_SOURCE] = {naive_get_origin, naive_get_target},
    };
    int me = shmem_my_pe();
    double total = 0;
    shmem_barrier_all();
    for (long i = 0; i < count; i++) {
        total += (test->naive ? test->naive : steps[test->source_pe][me])(test, buffers, size);
        shmem_barrier_all();
    }
    if (me == 1)
        shmem_double_p(&target_time, total, 0);
    shmem_barrier_all();
    return count ? (total + target_time) / (double)count : NAN;
}
