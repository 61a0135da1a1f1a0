/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations with NVSHMEM's names in kernels: what kernel_checks.h is for other calls.
 */
#ifndef KERNEL_COLLECTIVE_CHECKS_H
#define KERNEL_COLLECTIVE_CHECKS_H

#include "kernel_checks.h"

/* Small numbers: sums and products over all PEs are exact in every type, or wrap as those of integers do. */
template <class T> CHECKS T small_number(unsigned i, int member, unsigned round)
{
    return static_cast<T>(static_cast<float>((i * 3 + static_cast<unsigned>(member) * 5 + round) % 3 + 1));
}

template <class T> CHECKS void fill_numbers(const check_run &run, unsigned n, unsigned round)
{
    const whole_block block;
    T *source = reinterpret_cast<T *>(run.local);
    set_bytes(run.own->collected, sizeof run.own->collected, 0xee);
    for (unsigned i = block.rank(); i < n; i += block.size())
        source[i] = small_number<T>(i, nvshmem_team_my_pe(run.team), round);
    nvshmemx_barrier_all_block();
}

/* Element i of block b comes from the source of a member: from[b] from the element first + i on. All else is 0xee. */
template <class T>
CHECKS void expect_block(const check_run &run, unsigned b, unsigned n, int member, unsigned first, unsigned round)
{
    const whole_block block;
    const T *dest = reinterpret_cast<const T *>(run.own->collected) + b * n;
    for (unsigned i = block.rank(); i < n; i += block.size())
        EXPECT_IN_KERNEL(static_cast<float>(dest[i]) == static_cast<float>(small_number<T>(first + i, member, round)));
}

CHECKS void expect_rest(const check_run &run, unsigned nbytes)
{
    const whole_block block;
    for (unsigned i = nbytes + block.rank(); i < sizeof run.own->collected; i += block.size())
        EXPECT_IN_KERNEL(run.own->collected[i] == 0xee);
    nvshmemx_barrier_all_block();
}

enum { CHECK_SUM, CHECK_PROD, CHECK_MIN, CHECK_MAX, CHECK_AND, CHECK_OR, CHECK_XOR };

CHECKS unsigned combined(unsigned a, unsigned b, int op)
{
    switch (op) {
    case CHECK_SUM:
        return a + b;
    case CHECK_PROD:
        return a * b;
    case CHECK_MIN:
        return a < b ? a : b;
    case CHECK_MAX:
        return a > b ? a : b;
    case CHECK_AND:
        return a & b;
    case CHECK_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

template <class T> CHECKS void expect_combined(const check_run &run, unsigned n, unsigned first, unsigned round, int op)
{
    const whole_block block;
    const T *dest = reinterpret_cast<const T *>(run.own->collected);
    for (unsigned i = block.rank(); i < n; i += block.size()) {
        unsigned result = static_cast<unsigned>(static_cast<float>(small_number<T>(first + i, 0, round)));
        for (int m = 1; m < nvshmem_team_n_pes(run.team); m++)
            result =
                combined(result, static_cast<unsigned>(static_cast<float>(small_number<T>(first + i, m, round))), op);
        const T expected = static_cast<T>(static_cast<float>(result));
        EXPECT_IN_KERNEL(static_cast<float>(dest[i]) == static_cast<float>(expected));
    }
    expect_rest(run, n * static_cast<unsigned>(sizeof(T)));
}

/* WHO makes the call of a family; n is what a member sends to each other one. */
#define CHECK_COLLECTS(T, WHO, PREFIX, NAME, ENDING, SIZE)                                                             \
    do {                                                                                                               \
        fill_numbers<T>(run, n, n);                                                                                    \
        if (WHO)                                                                                                       \
            PREFIX##NAME##broadcast##ENDING(run.team, dest, source, n *(SIZE), members - 1);                           \
        whole_block().sync();                                                                                          \
        expect_block<T>(run, 0, n, members - 1, 0, n);                                                                 \
        expect_rest(run, n *static_cast<unsigned>(sizeof(T)));                                                         \
        fill_numbers<T>(run, n, n + 1);                                                                                \
        if (WHO)                                                                                                       \
            PREFIX##NAME##fcollect##ENDING(run.team, dest, source, n *(SIZE));                                         \
        whole_block().sync();                                                                                          \
        for (int m = 0; m < members; m++)                                                                              \
            expect_block<T>(run, static_cast<unsigned>(m), n, m, 0, n + 1);                                            \
        expect_rest(run, static_cast<unsigned>(members) * n * static_cast<unsigned>(sizeof(T)));                       \
        fill_numbers<T>(run, static_cast<unsigned>(members) * n, n + 2);                                               \
        if (WHO)                                                                                                       \
            PREFIX##NAME##alltoall##ENDING(run.team, dest, source, n *(SIZE));                                         \
        whole_block().sync();                                                                                          \
        for (int m = 0; m < members; m++)                                                                              \
            expect_block<T>(run, static_cast<unsigned>(m), n, m, static_cast<unsigned>(mine) * n, n + 2);              \
        expect_rest(run, static_cast<unsigned>(members) * n * static_cast<unsigned>(sizeof(T)));                       \
    } while (0)

#define CHECK_COLLECTIVE_PLACES(T)                                                                                     \
    const int mine = nvshmem_team_my_pe(run.team), members = nvshmem_team_n_pes(run.team);                             \
    T *dest = reinterpret_cast<T *>(run.own->collected), *source = reinterpret_cast<T *>(run.local)

#define CHECK_DEFINE(TYPENAME, TYPE, ...)                                                                              \
    CHECKS void check_collects_##TYPENAME(const check_run &run, unsigned n)                                            \
    {                                                                                                                  \
        CHECK_COLLECTIVE_PLACES(TYPE);                                                                                 \
        CHECK_COLLECTS(TYPE, is_thread(), nvshmem_, TYPENAME##_, , 1);                                                 \
        CHECK_COLLECTS(TYPE, is_warp(), nvshmemx_, TYPENAME##_, _warp, 1);                                             \
        CHECK_COLLECTS(TYPE, true, nvshmemx_, TYPENAME##_, _block, 1);                                                 \
    }
CHECK_FOR_COLLECT_TYPES(CHECK_DEFINE, )
#undef CHECK_DEFINE

/* The names that count bytes. */
template <class RUN> CHECKS void check_collects_mem(const RUN &run, unsigned n)
{
    CHECK_COLLECTIVE_PLACES(unsigned short);
    CHECK_COLLECTS(unsigned short, is_thread(), nvshmem_, , mem, 2);
    CHECK_COLLECTS(unsigned short, is_warp(), nvshmemx_, , mem_warp, 2);
    CHECK_COLLECTS(unsigned short, true, nvshmemx_, , mem_block, 2);
}

#define CHECK_REDUCE(T, WHO, PREFIX, TYPENAME, OP, ENDING, NUMBER)                                                     \
    do {                                                                                                               \
        fill_numbers<T>(run, n, n);                                                                                    \
        if (WHO)                                                                                                       \
            PREFIX##TYPENAME##_##OP##_reduce##ENDING(run.team, dest, source, n);                                       \
        whole_block().sync();                                                                                          \
        expect_combined<T>(run, n, 0, n, NUMBER);                                                                      \
        fill_numbers<T>(run, static_cast<unsigned>(members) * n, n + 1);                                               \
        if (WHO)                                                                                                       \
            PREFIX##TYPENAME##_##OP##_reducescatter##ENDING(run.team, dest, source, n);                                \
        whole_block().sync();                                                                                          \
        expect_combined<T>(run, n, static_cast<unsigned>(mine) * n, n + 1, NUMBER);                                    \
    } while (0)
#define CHECK_DEFINE(TYPENAME, TYPE, OP, NUMBER, ...)                                                                  \
    CHECKS void check_##OP##_##TYPENAME(const check_run &run, unsigned n)                                              \
    {                                                                                                                  \
        CHECK_COLLECTIVE_PLACES(TYPE);                                                                                 \
        CHECK_REDUCE(TYPE, is_thread(), nvshmem_, TYPENAME, OP, , NUMBER);                                             \
        CHECK_REDUCE(TYPE, is_warp(), nvshmemx_, TYPENAME, OP, _warp, NUMBER);                                         \
        CHECK_REDUCE(TYPE, true, nvshmemx_, TYPENAME, OP, _block, NUMBER);                                             \
    }
CHECK_FOR_REDUCTIONS(CHECK_DEFINE)
#undef CHECK_DEFINE

/* What a PE has put is there behind a barrier of whatever group, and each of the members has come to a sync. */
#define CHECK_BARRIER(WHO, CALL, ALSO)                                                                                 \
    do {                                                                                                               \
        const int next = nvshmem_team_translate_pe(run.team, (mine + 1) % members, NVSHMEM_TEAM_WORLD);                \
        set_bytes(run.own->data, CHECK_BYTES, 0xee);                                                                   \
        nvshmemx_barrier_all_block();                                                                                  \
        if (WHO) {                                                                                                     \
            if (is_thread())                                                                                           \
                nvshmem_int_p(reinterpret_cast<int *>(run.own->data), 100 + mine, next);                               \
            ALSO;                                                                                                      \
            CALL;                                                                                                      \
        }                                                                                                              \
        whole_block().sync();                                                                                          \
        EXPECT_IN_KERNEL(*reinterpret_cast<const int *>(run.own->data) == 100 + (mine + members - 1) % members);       \
        nvshmemx_barrier_all_block();                                                                                  \
    } while (0)
CHECKS void check_barriers(const check_run &run)
{
    const int mine = nvshmem_team_my_pe(run.team), members = nvshmem_team_n_pes(run.team);
    CHECK_BARRIER(is_thread(), EXPECT_IN_KERNEL(nvshmem_barrier(run.team) == 0), (void)0);
    CHECK_BARRIER(is_warp(), EXPECT_IN_KERNEL(nvshmemx_barrier_warp(run.team) == 0), (void)0);
    CHECK_BARRIER(true, EXPECT_IN_KERNEL(nvshmemx_barrier_block(run.team) == 0), (void)0);
    CHECK_BARRIER(is_thread(), nvshmem_team_sync(run.team), nvshmem_quiet());
    CHECK_BARRIER(is_warp(), nvshmemx_team_sync_warp(run.team), nvshmem_quiet());
    CHECK_BARRIER(true, nvshmemx_team_sync_block(run.team), nvshmem_quiet());
    CHECK_BARRIER(is_thread(), nvshmem_barrier_all(), (void)0);
    CHECK_BARRIER(is_warp(), nvshmemx_barrier_all_warp(), (void)0);
    CHECK_BARRIER(is_thread(), nvshmem_sync_all(), nvshmem_quiet());
    CHECK_BARRIER(is_warp(), nvshmemx_sync_all_warp(), nvshmem_quiet());
    CHECK_BARRIER(true, nvshmemx_sync_all_block(), nvshmem_quiet());
}

#endif
