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
    return memory->ops->type != 0;
}

static bool raw_copy(const struct latency_test *test, const struct latency_buffers *buffers, size_t size, long count)
{
    const struct osu_memory *local = &buffers->local, *remote = &buffers->remote;
    const struct device_ops *ops = is_device(remote) ? remote->ops : local->ops;
    void *peer = shmem_ptr(remote->address, 1);
    struct device_copy put = {peer, local->object, is_device(remote), is_device(local)};
    struct device_copy get = {local->object, peer, is_device(local), is_device(remote)};
    return peer && ops->copy(test->source_pe == OSU_PUT_SOURCE ? &put : &get, size, count);
}

double compare_raw(const struct latency_test *test, const struct latency_buffers *buffers, size_t size, long count)
{
    double start = osu_time();
    return raw_copy(test, buffers, size, count) ? osu_time() - start : NAN;
}

double compare_locked(const struct latency_test *test, const struct latency_buffers *buffers, size_t size, long count)
{
    const struct device_ops *ops = buffers->remote.ops;
    void *host = buffers->local.object;
    if (buffers->local.ops != &device_pageable || buffers->local.is_prepared || !ops->lock)
        return NAN;
    ops->lock(host, size);
    raw_copy(test, buffers, size, 1);
    double start = osu_time();
    bool done = raw_copy(test, buffers, size, count);
    double time = done ? osu_time() - start : NAN;
    ops->unlock(host);
    return time;
}

/* The naive way: the source's owner copies to host memory, one host transfer, a barrier, and the destination's owner
 * copies in. Timed is one such sequence as a chain: for a put, what PE 0 does up to and including the barrier, plus
 * PE 1's copy in; for a get, PE 0 sees all of it, since it waits in the barrier for PE 1's copy out. The second barrier
 * only lets the next round begin and is not timed. */

static double naive_put_origin(struct latency_buffers *buffers, size_t size)
{
    struct osu_memory *local = &buffers->local, *remote = &buffers->remote, *stage = &buffers->stage;
    void *dest = is_device(remote) ? stage->address : remote->address;
    void *source = is_device(local) ? stage->address : local->address;
    double start = osu_time();
    if (is_device(local))
        local->ops->read(source, local->object, 0, size);
    shmem_putmem(dest, source, size, 1);
    shmem_barrier_all();
    return osu_time() - start;
}

static double naive_put_target(struct latency_buffers *buffers, size_t size)
{
    struct osu_memory *remote = &buffers->remote;
    shmem_barrier_all();
    double start = osu_time();
    if (is_device(remote))
        remote->ops->write(remote->object, 0, buffers->stage.address, size);
    return osu_time() - start;
}

static double naive_get_origin(struct latency_buffers *buffers, size_t size)
{
    struct osu_memory *local = &buffers->local, *remote = &buffers->remote, *stage = &buffers->stage;
    void *dest = is_device(local) ? stage->address : local->address;
    void *source = is_device(remote) ? stage->address : remote->address;
    double start = osu_time();
    shmem_barrier_all();
    shmem_getmem(dest, source, size, 1);
    if (is_device(local))
        local->ops->write(local->object, 0, dest, size);
    return osu_time() - start;
}

static double naive_get_target(struct latency_buffers *buffers, size_t size)
{
    struct osu_memory *remote = &buffers->remote;
    if (is_device(remote))
        remote->ops->read(buffers->stage.address, remote->object, 0, size);
    shmem_barrier_all();
    return 0; /* inside the origin's time */
}

double compare_naive(const struct latency_test *test, struct latency_buffers *buffers, size_t size, long count)
{
    static double (*const steps[2][2])(struct latency_buffers *, size_t) = {
        [OSU_PUT_SOURCE] = {naive_put_origin, naive_put_target},
        [OSU_GET_SOURCE] = {naive_get_origin, naive_get_target},
    };
    int me = shmem_my_pe();
    double total = 0;
    shmem_barrier_all();
    for (long i = 0; i < count; i++) {
        total += steps[test->source_pe][me](buffers, size);
        shmem_barrier_all();
    }
    if (me == 1)
        shmem_double_p(&target_time, total, 0);
    shmem_barrier_all();
    return count ? (total + target_time) / (double)count : NAN;
}
