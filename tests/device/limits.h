/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers and collectives of shmemx_device.h around the sizes at which they go another way: what lies aside, what a slot
 * of the ring holds, what a piece of a work area holds. Sources are written again as soon as a call allows it, and every
 * byte of what they may write to is compared. The same code for threads of the CPU (tests/api/device_limits.cc) and for
 * kernels (limits.cu).
 */
#ifndef DEVICE_LIMITS_H
#define DEVICE_LIMITS_H

#include <shmemx_device.h>

enum { LIMIT_BYTES = 40000, LIMIT_GUARD = 64, LIMIT_SIZES = 14 };

struct limited { /* symmetric, all 0 at the start */
    alignas(16) unsigned char bytes[LIMIT_BYTES + 2 * LIMIT_GUARD];
    unsigned long signal;
};

struct limit_run {
    shmemx_device_view_t view, signal_view;
    shmemx_device_team_t team;
    limited *own;
    unsigned long *signal;            /* of signal_view's object */
    unsigned char *source, *expected; /* LIMIT_BYTES and LIMIT_BYTES + 2 * LIMIT_GUARD of this PE alone */
    int *failed;                      /* the line of a check that has failed */
};

#ifdef __CUDACC__
#define LIMITS static __device__ __noinline__
#else
#define LIMITS static inline
#endif
#define LIMIT_EXPECT(condition)                                                                                        \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            shmemi_device::store_relaxed(reinterpret_cast<unsigned *>(run.failed), static_cast<unsigned>(__LINE__));   \
    } while (0)

LIMITS unsigned limit_size(unsigned i)
{
    const unsigned sizes[LIMIT_SIZES] = {1,     8,     191,   192,   193,   511,   513,
                                         16376, 16383, 16384, 16385, 16392, 32777, LIMIT_BYTES};
    return sizes[i];
}

LIMITS unsigned char limit_pattern(unsigned i, int pe, unsigned round)
{
    return static_cast<unsigned char>(i * 5 + i / 251 + static_cast<unsigned>(pe) * 37 + round * 11 + 1);
}

LIMITS void fill_bytes(unsigned char *bytes, unsigned n, int pe, unsigned round)
{
    const shmemx_device_block_t block;
    block.sync();
    for (unsigned i = block.rank(); i < n; i += block.size())
        bytes[i] = limit_pattern(i, pe, round);
    block.sync();
}

/* From what is at LIMIT_GUARD on, n bytes came from a PE; what is around them has not changed since set_around. */
LIMITS void expect_bytes(const limit_run &run, const unsigned char *bytes, unsigned n, int pe, unsigned round)
{
    const shmemx_device_block_t block;
    block.sync();
    for (unsigned i = block.rank(); i < LIMIT_BYTES + 2 * LIMIT_GUARD; i += block.size()) {
        const bool is_data = i >= LIMIT_GUARD && i < LIMIT_GUARD + n;
        LIMIT_EXPECT(bytes[i] == (is_data ? limit_pattern(i - LIMIT_GUARD, pe, round) : 0xee));
    }
    block.sync();
}
LIMITS void set_around(unsigned char *bytes)
{
    const shmemx_device_block_t block;
    block.sync();
    for (unsigned i = block.rank(); i < LIMIT_BYTES + 2 * LIMIT_GUARD; i += block.size())
        bytes[i] = 0xee;
    block.sync();
}

/* The first group of its kind in the block makes calls that are for a group. */
LIMITS bool takes_part(shmemx_device_block_t)
{
    return true;
}
LIMITS bool takes_part(shmemx_device_warp_t group)
{
    return shmemx_device_block_t().rank() < group.size() && shmemx_device_block_t().rank() == group.rank();
}
LIMITS bool takes_part(shmemx_device_thread_t)
{
    return shmemx_device_block_t().rank() == 0;
}

template <class GROUP> LIMITS void spoil(const GROUP &group, unsigned char *bytes, unsigned n)
{
    group.sync();
    for (unsigned i = group.rank(); i < n; i += group.size())
        bytes[i] = 0x55;
    group.sync();
}

enum { LIMIT_PUT, LIMIT_PUT_NBI, LIMIT_PUT_SIGNAL, LIMIT_WAYS };

template <class GROUP> LIMITS void put_once(const limit_run &run, GROUP group, int way, unsigned n, int to)
{
    unsigned char *dest = run.own->bytes + LIMIT_GUARD;
    if (way == LIMIT_PUT)
        shmemx_device_putmem(group, run.view, dest, run.source, n, to);
    else if (way == LIMIT_PUT_NBI) {
        shmemx_device_putmem_nbi(group, run.view, dest, run.source, n, to);
        shmemx_device_quiet(group, run.signal_view);
    } else
        shmemx_device_put_signal(group, run.view, dest, run.source, n, run.signal_view, run.signal, 1, SHMEM_SIGNAL_ADD,
                                 to);
    spoil(group, run.source, n);
}

template <class GROUP> LIMITS void check_puts(const limit_run &run, GROUP group, unsigned n, unsigned round)
{
    const shmemx_device_block_t block;
    const int n_pes = run.view.n_pes, me = run.view.pe, to = (me + 1) % n_pes, from = (me + n_pes - 1) % n_pes;
    for (int way = 0; way < LIMIT_WAYS; way++) {
        const unsigned long come = shmemx_device_signal_fetch(run.signal_view, run.signal);
        set_around(run.own->bytes);
        fill_bytes(run.source, n, me, round + static_cast<unsigned>(way));
        shmemx_device_barrier(block, run.team);
        if (takes_part(group))
            put_once(run, group, way, n, to);
        if (way == LIMIT_PUT_SIGNAL)
            shmemx_device_signal_wait_until(block, run.signal_view, run.signal, SHMEM_CMP_GT, come);
        else
            shmemx_device_barrier(block, run.team);
        expect_bytes(run, run.own->bytes, n, from, round + static_cast<unsigned>(way));
        shmemx_device_barrier(block, run.team);
    }
}

/* Into memory of this PE alone, of which the source is a part: room is left around it. */
template <class GROUP>
LIMITS void check_gets(const limit_run &run, GROUP group, unsigned char *local, unsigned n, unsigned round)
{
    const shmemx_device_block_t block;
    const int from = (run.view.pe + 1) % run.view.n_pes;
    for (int nbi = 0; nbi < 2; nbi++) {
        fill_bytes(run.own->bytes, n, run.view.pe, round);
        set_around(local);
        shmemx_device_barrier(block, run.team);
        if (takes_part(group) && nbi) {
            shmemx_device_getmem_nbi(group, run.view, local + LIMIT_GUARD, run.own->bytes, n, from);
            shmemx_device_quiet(group, run.signal_view);
        } else if (takes_part(group))
            shmemx_device_getmem(group, run.view, local + LIMIT_GUARD, run.own->bytes, n, from);
        expect_bytes(run, local, n, from, round);
        shmemx_device_barrier(block, run.team);
    }
}

/* Bytes add up modulo 256. In place, and from a source that is spoiled at once. */
template <class GROUP>
LIMITS void check_collectives(const limit_run &run, GROUP group, unsigned n, bool in_place, unsigned round)
{
    const shmemx_device_block_t block;
    const int n_pes = run.team.n_pes, root = static_cast<int>(round) % n_pes;
    unsigned char *data = run.expected + LIMIT_GUARD, *source = in_place ? data : run.source;
    set_around(run.expected);
    fill_bytes(source, n, run.team.pe, round);
    if (takes_part(group)) {
        shmemx_device_sum_reduce(group, run.team, data, source, n);
        if (!in_place)
            spoil(group, source, n);
    }
    block.sync();
    for (unsigned i = block.rank(); i < n; i += block.size()) {
        unsigned char sum = 0;
        for (int pe = 0; pe < n_pes; pe++)
            sum = static_cast<unsigned char>(sum + limit_pattern(i, pe, round));
        LIMIT_EXPECT(data[i] == sum);
    }
    set_around(run.expected);
    fill_bytes(source, n, run.team.pe, round);
    if (takes_part(group))
        shmemx_device_broadcast(group, run.team, data, source, n, root);
    expect_bytes(run, run.expected, n, root, round);
    spoil(block, source, n);
}

template <class GROUP> LIMITS void check_limits_of(const limit_run &run, GROUP group, unsigned first, unsigned step)
{
    for (unsigned i = first; i < LIMIT_SIZES; i += step) {
        const unsigned n = limit_size(i);
        check_puts(run, group, n, i);
        check_gets(run, group, run.expected, n, i);
        check_collectives(run, group, n, false, i);
        check_collectives(run, group, n, true, i);
    }
}

LIMITS void check_limits(const limit_run &run, unsigned step)
{
    check_limits_of(run, shmemx_device_block_t(), 0, 1);
    check_limits_of(run, shmemx_device_warp_t(), 1 % step, step);
    check_limits_of(run, shmemx_device_thread_t(), 2 % step, step);
    shmemx_device_barrier(shmemx_device_block_t(), run.team);
}

#endif
