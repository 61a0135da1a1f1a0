/* SPDX-License-Identifier: BSD-3-Clause
 *
 * C11 type-generic forms of the typed routines. Included by shmem.h; not for direct use.
 *
 * A _Generic list may not name compatible types twice, so each C type appears once, under one of its TYPENAMEs.
 */
#ifndef SHMEM_GENERIC_H
#define SHMEM_GENERIC_H

/* X(TYPENAME, TYPE, ...) over the distinct C types of the RMA and AMO tables; the last has no comma after it. */
#define SHMEMI_GENERIC_CASE(NAME, TYPE, VERB) TYPE : shmem_##NAME##_##VERB,

#define SHMEMI_GENERIC_AMO_CASES(VERB)                                                                                 \
    SHMEMI_GENERIC_CASE(int, int, VERB)                                                                                \
    SHMEMI_GENERIC_CASE(long, long, VERB)                                                                              \
    SHMEMI_GENERIC_CASE(longlong, long long, VERB)                                                                     \
    SHMEMI_GENERIC_CASE(uint, unsigned int, VERB)                                                                      \
    SHMEMI_GENERIC_CASE(ulonglong, unsigned long long, VERB)                                                           \
    unsigned long : shmem_ulong_##VERB

#define SHMEMI_GENERIC_RMA_CASES(VERB)                                                                                 \
    SHMEMI_GENERIC_CASE(float, float, VERB)                                                                            \
    SHMEMI_GENERIC_CASE(double, double, VERB)                                                                          \
    SHMEMI_GENERIC_CASE(longdouble, long double, VERB)                                                                 \
    SHMEMI_GENERIC_CASE(char, char, VERB)                                                                              \
    SHMEMI_GENERIC_CASE(schar, signed char, VERB)                                                                      \
    SHMEMI_GENERIC_CASE(short, short, VERB)                                                                            \
    SHMEMI_GENERIC_CASE(uchar, unsigned char, VERB)                                                                    \
    SHMEMI_GENERIC_CASE(ushort, unsigned short, VERB)                                                                  \
    SHMEMI_GENERIC_AMO_CASES(VERB)

#define SHMEMI_GENERIC_SUM_CASES(VERB)                                                                                 \
    SHMEMI_GENERIC_CASE(complexd, double _Complex, VERB)                                                               \
    SHMEMI_GENERIC_CASE(complexf, float _Complex, VERB)                                                                \
    SHMEMI_GENERIC_RMA_CASES(VERB)

/* Selection is by the value that the pointer leads to, so that T * and const T * both match. */
#define SHMEMI_GENERIC_RMA(VERB, pointer) _Generic(*(pointer), SHMEMI_GENERIC_RMA_CASES(VERB))
#define SHMEMI_GENERIC_AMO(VERB, pointer) _Generic(*(pointer), SHMEMI_GENERIC_AMO_CASES(VERB))
#define SHMEMI_GENERIC_SUM(VERB, pointer) _Generic(*(pointer), SHMEMI_GENERIC_SUM_CASES(VERB))

#define shmem_put(dest, ...) SHMEMI_GENERIC_RMA(put, dest)(dest, __VA_ARGS__)
#define shmem_get(dest, ...) SHMEMI_GENERIC_RMA(get, dest)(dest, __VA_ARGS__)
#define shmem_put_nbi(dest, ...) SHMEMI_GENERIC_RMA(put_nbi, dest)(dest, __VA_ARGS__)
#define shmem_get_nbi(dest, ...) SHMEMI_GENERIC_RMA(get_nbi, dest)(dest, __VA_ARGS__)
#define shmem_p(dest, ...) SHMEMI_GENERIC_RMA(p, dest)(dest, __VA_ARGS__)
#define shmem_g(source, pe) SHMEMI_GENERIC_RMA(g, source)(source, pe)
#define shmem_iput(dest, ...) SHMEMI_GENERIC_RMA(iput, dest)(dest, __VA_ARGS__)
#define shmem_iget(dest, ...) SHMEMI_GENERIC_RMA(iget, dest)(dest, __VA_ARGS__)
#define shmem_put_signal(dest, ...) SHMEMI_GENERIC_RMA(put_signal, dest)(dest, __VA_ARGS__)

#define shmem_atomic_fetch(source, pe) SHMEMI_GENERIC_AMO(atomic_fetch, source)(source, pe)
#define shmem_atomic_set(dest, ...) SHMEMI_GENERIC_AMO(atomic_set, dest)(dest, __VA_ARGS__)
#define shmem_atomic_compare_swap(dest, ...) SHMEMI_GENERIC_AMO(atomic_compare_swap, dest)(dest, __VA_ARGS__)
#define shmem_atomic_swap(dest, ...) SHMEMI_GENERIC_AMO(atomic_swap, dest)(dest, __VA_ARGS__)
#define shmem_atomic_fetch_inc(dest, pe) SHMEMI_GENERIC_AMO(atomic_fetch_inc, dest)(dest, pe)
#define shmem_atomic_inc(dest, pe) SHMEMI_GENERIC_AMO(atomic_inc, dest)(dest, pe)
#define shmem_atomic_fetch_add(dest, ...) SHMEMI_GENERIC_AMO(atomic_fetch_add, dest)(dest, __VA_ARGS__)
#define shmem_atomic_add(dest, ...) SHMEMI_GENERIC_AMO(atomic_add, dest)(dest, __VA_ARGS__)

#define shmem_broadcast(team, dest, ...) SHMEMI_GENERIC_RMA(broadcast, dest)(team, dest, __VA_ARGS__)
#define shmem_fcollect(team, dest, ...) SHMEMI_GENERIC_RMA(fcollect, dest)(team, dest, __VA_ARGS__)
#define shmem_sum_reduce(team, dest, ...) SHMEMI_GENERIC_SUM(sum_reduce, dest)(team, dest, __VA_ARGS__)
#define shmem_max_reduce(team, dest, ...) SHMEMI_GENERIC_RMA(max_reduce, dest)(team, dest, __VA_ARGS__)

#define shmem_wait_until(ivar, ...) SHMEMI_GENERIC_AMO(wait_until, ivar)(ivar, __VA_ARGS__)
#define shmem_test(ivar, ...) SHMEMI_GENERIC_AMO(test, ivar)(ivar, __VA_ARGS__)

#endif
