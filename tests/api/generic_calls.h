/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls of the names without a type, over all C types, with const pointers too, and with numbers whose type is another
 * than that of the words. generic.c compiles them as C11, overloads.cc as C++.
 */
#ifndef GENERIC_CALLS_H
#define GENERIC_CALLS_H

#include "check.h"

/* clang-format off */
#define FOR_C_TYPES(X) \
    X(float, f) X(double, d) X(long double, ld) X(char, c) X(signed char, sc) X(short, s) X(int, i) X(long, l) \
    X(long long, ll) X(unsigned char, uc) X(unsigned short, us) X(unsigned int, ui) X(unsigned long, ul) \
    X(unsigned long long, ull)
#define FOR_C_AMO_TYPES(X) \
    X(int, i) X(long, l) X(long long, ll) X(unsigned int, ui) X(unsigned long, ul) X(unsigned long long, ull)

#define CHECK_RMA(TYPE, name)                                                                                          \
    static TYPE rma_##name[8];                                                                                         \
    static uint64_t signal_##name;                                                                                     \
    static void check_rma_##name(void)                                                                                 \
    {                                                                                                                  \
        const int pe = check_target(1);                                                                                \
        const TYPE source[4] = {1, 2, 3, 4};                                                                           \
        const TYPE *const symmetric = rma_##name;                                                                      \
        TYPE back[4] = {0};                                                                                            \
        shmem_put(rma_##name, source, 2, pe);                                                                          \
        shmem_put_nbi(rma_##name + 2, source + 2, 1, pe);                                                              \
        shmem_p(rma_##name + 3, 4, pe);                                                                                \
        shmem_iput(rma_##name + 4, source, 2, 1, 2, pe);                                                               \
        shmem_quiet();                                                                                                 \
        shmem_get(back, symmetric, 2, pe);                                                                             \
        shmem_get_nbi(back + 2, symmetric + 2, 1, pe);                                                                 \
        shmem_iget(back + 3, symmetric + 3, 1, 1, 1, pe);                                                              \
        shmem_quiet();                                                                                                 \
        CHECK(back[0] == 1 && back[1] == 2 && back[2] == 3 && back[3] == 4);                                           \
        CHECK(shmem_g(symmetric + 4, pe) == 1 && shmem_g(rma_##name + 6, pe) == 2 && shmem_g(symmetric + 5, pe) == 0); \
        shmem_put_signal(rma_##name, source, 4, &signal_##name, 1, SHMEM_SIGNAL_ADD, pe);                              \
        shmem_signal_wait_until(&signal_##name, SHMEM_CMP_EQ, 1);                                                      \
        shmem_barrier_all();                                                                                           \
        shmem_broadcast(SHMEM_TEAM_WORLD, rma_##name, source, 4, 0);                                                   \
        shmem_sum_reduce(SHMEM_TEAM_WORLD, rma_##name, source + 1, 1);                                                 \
        CHECK(rma_##name[0] == (TYPE)(2 * shmem_n_pes()) && rma_##name[3] == 4);                                       \
        shmem_max_reduce(SHMEM_TEAM_WORLD, rma_##name, source + 3, 1);                                                 \
        CHECK(rma_##name[0] == 4);                                                                                     \
        shmem_barrier_all();                                                                                           \
    }

#define CHECK_AMO(TYPE, name)                                                                                          \
    static TYPE amo_##name;                                                                                            \
    static void check_amo_##name(void)                                                                                 \
    {                                                                                                                  \
        const int pe = check_target(1);                                                                                \
        const TYPE *const word = &amo_##name;                                                                          \
        shmem_atomic_set(&amo_##name, 5, pe);                                                                          \
        shmem_quiet();                                                                                                 \
        CHECK(shmem_atomic_fetch(word, pe) == 5);                                                                      \
        CHECK(shmem_atomic_fetch_add(&amo_##name, 2, pe) == 5);                                                        \
        CHECK(shmem_atomic_fetch_inc(&amo_##name, pe) == 7);                                                           \
        CHECK(shmem_atomic_swap(&amo_##name, 20, pe) == 8);                                                            \
        CHECK(shmem_atomic_compare_swap(&amo_##name, 20, 30, pe) == 20);                                               \
        shmem_atomic_add(&amo_##name, 3, pe);                                                                          \
        shmem_atomic_inc(&amo_##name, pe);                                                                             \
        shmem_wait_until(&amo_##name, SHMEM_CMP_EQ, 34);                                                               \
        CHECK(shmem_test(&amo_##name, SHMEM_CMP_GT, 33));                                                              \
        shmem_barrier_all();                                                                                           \
    }
/* clang-format on */

FOR_C_TYPES(CHECK_RMA)
FOR_C_AMO_TYPES(CHECK_AMO)

#define RUN_RMA(TYPE, name) check_rma_##name();
#define RUN_AMO(TYPE, name) check_amo_##name();
static void check_calls(void)
{
    FOR_C_TYPES(RUN_RMA)
    FOR_C_AMO_TYPES(RUN_AMO)
}

#endif
