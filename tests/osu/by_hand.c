/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers of device memory by hand.
 */
#include "by_hand.h"
#include "shmem_flavour.h"

#include <math.h>

static double target_time; /* symmetric: what PE 1 tells PE 0 */

/* ---- With signals --------------------------------------------------------------------------------------------------
 * Nobody waits for more than it needs: the target of a put waits for the data, PE 0 for the word that they are in
 * place. A barrier before each round, which is not timed, lets both begin together. */

enum { ARRIVED, DONE };

static void copy_out(const struct by_hand *hand, const struct by_hand_call *call, void *source)
{
    const struct device_copy ends = {.dest = hand->out, .source = source, .source_on_device = true};
    const struct device_block block = {ends, call->width, call->width ? call->bytes / call->width : 0, call->width,
                                       call->distance};
    if (call->width)
        plain_copy_2d(hand->device, &block);
    else
        plain_read(hand->device, hand->out, source, 0, call->bytes);
}

static void copy_in(const struct by_hand *hand, const struct by_hand_call *call, void *dest)
{
    const struct device_copy ends = {.dest = dest, .source = hand->in, .dest_on_device = true};
    const struct device_block block = {ends, call->width, call->width ? call->bytes / call->width : 0, call->distance,
                                       call->width};
    if (call->width)
        plain_copy_2d(hand->device, &block);
    else
        plain_write(hand->device, dest, 0, hand->in, call->bytes);
}

static void send(const struct by_hand *hand, const struct by_hand_call *call, int pe)
{
    if (!call->message)
        shmem_putmem(hand->in, hand->out, call->bytes, pe);
    for (size_t at = 0; call->message && at < call->bytes; at += call->message)
        shmem_putmem_nbi(hand->in + at, hand->out + at, call->message, pe);
}

static void tell(const struct by_hand *hand, int word, int pe)
{
    shmem_fence();
    shmem_ulong_atomic_set(&hand->signal[word], hand->n_told, pe);
}

static void await(const struct by_hand *hand, int word)
{
    shmem_uint64_wait_until(&hand->signal[word], SHMEM_CMP_GE, hand->n_told);
}

static void put_round(const struct by_hand *hand, const struct by_hand_call *call)
{
    if (hand->me == 0) {
        copy_out(hand, call, hand->near);
        send(hand, call, 1);
        tell(hand, ARRIVED, 1);
        await(hand, DONE);
    } else {
        await(hand, ARRIVED);
        copy_in(hand, call, hand->far);
        tell(hand, DONE, 0);
    }
}

static void get_round(const struct by_hand *hand, const struct by_hand_call *call)
{
    if (hand->me == 0) {
        await(hand, ARRIVED);
        shmem_getmem(hand->in, hand->out, call->bytes, 1);
        copy_in(hand, call, hand->near);
    } else {
        copy_out(hand, call, hand->far);
        tell(hand, ARRIVED, 0);
    }
}

static void send_out(const struct by_hand *hand, const struct by_hand_call *call)
{
    copy_out(hand, call, hand->near);
    send(hand, call, 1 - hand->me);
    tell(hand, ARRIVED, 1 - hand->me);
}

static void exchange_round(const struct by_hand *hand, const struct by_hand_call *call)
{
    if (hand->me == 0)
        send_out(hand, call);
    await(hand, ARRIVED);
    copy_in(hand, call, hand->far);
    if (hand->me == 1)
        send_out(hand, call);
}

static double repeat(struct by_hand *hand, const struct by_hand_call *call, long count,
                     void (*round)(const struct by_hand *, const struct by_hand_call *))
{
    double total = 0;
    for (long i = 0; i < count; i++) {
        hand->n_told++;
        shmem_barrier_all();
        double start = now_us();
        round(hand, call);
        total += now_us() - start;
    }
    shmem_barrier_all();
    return total;
}

double by_hand_put(struct by_hand *hand, const struct by_hand_call *call, long count)
{
    return repeat(hand, call, count, put_round);
}

double by_hand_get(struct by_hand *hand, const struct by_hand_call *call, long count)
{
    return repeat(hand, call, count, get_round);
}

double by_hand_exchange(struct by_hand *hand, const struct by_hand_call *call, long count)
{
    return repeat(hand, call, count, exchange_round);
}

void by_hand_send(struct osu_memory *memory, struct osu_memory *stage, size_t size, uint64_t *signal, uint64_t value,
                  int pe)
{
    plain_read(memory->device, stage->address, memory->object, 0, size);
    shmem_putmem(stage->address, stage->address, size, pe);
    shmem_fence();
    shmem_ulong_atomic_set(signal, value, pe);
}

void by_hand_receive(struct osu_memory *memory, struct osu_memory *stage, size_t size, uint64_t *signal, uint64_t value)
{
    shmem_uint64_wait_until(signal, SHMEM_CMP_GE, value);
    plain_write(memory->device, memory->object, 0, stage->address, size);
}

/* ---- With barriers -------------------------------------------------------------------------------------------------
 * The source's owner copies to host memory, one host transfer, a barrier, and the destination's owner copies in. The
 * time is that of one such sequence from end to end: for a put, what PE 0 does up to and including the barrier, plus
 * PE 1's copy in; for a get, PE 0 sees all of it, since it waits in the barrier for PE 1's copy out. The second barrier
 * only lets the next round begin and is not timed. */

static bool is_device(const struct osu_memory *memory)
{
    return memory->device->ops->memtype != 0;
}

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

double by_hand_naive(const struct latency_test *test, struct latency_buffers *buffers, size_t size, long count)
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
