/* SPDX-License-Identifier: BSD-3-Clause
 *
 * C11 type-generic forms of the typed routines; overloads.h has those of C++. Included by shmem.h; not for direct use.
 *
 * The type is that of the object that the first pointer argument points to, so T * and const T * both match. The form
 * that takes a context has one more argument than the plain form; the number of arguments decides between them.
 */
#ifndef SHMEMI_GENERIC_H
#define SHMEMI_GENERIC_H

#include <mapshmem/types.h>

/* ---- Cases -------------------------------------------------------------------------------------------------------
 * P and V are the parts of the routine's name before and after the TYPENAME. A case begins with the comma that separates
 * it from what precedes it. */

/* clang-format off */
#define SHMEMI_CASE(NAME, TYPE, P, V) , TYPE: P##NAME##_##V
/* clang-format on */

#define SHMEMI_CASES_OLD_AMO(P, V) SHMEMI_FOR_OLD_AMO_TYPES(SHMEMI_CASE, P, V)
#define SHMEMI_CASES_OLD_XAMO(P, V) SHMEMI_FOR_OLD_XAMO_TYPES(SHMEMI_CASE, P, V)
#define SHMEMI_CASES_AMO(P, V) SHMEMI_FOR_C_AMO_TYPES(SHMEMI_CASE, P, V)
#define SHMEMI_CASES_XAMO(P, V) SHMEMI_FOR_C_XAMO_TYPES(SHMEMI_CASE, P, V)
#define SHMEMI_CASES_BAMO(P, V) SHMEMI_FOR_C_BAMO_TYPES(SHMEMI_CASE, P, V)
#define SHMEMI_CASES_WAIT(P, V) SHMEMI_FOR_C_WAIT_TYPES(SHMEMI_CASE, P, V)
#define SHMEMI_CASES_RMA(P, V) SHMEMI_FOR_C_RMA_TYPES(SHMEMI_CASE, P, V)
#define SHMEMI_CASES_ARITHMETIC(P, V) SHMEMI_FOR_C_ARITHMETIC_TYPES(SHMEMI_CASE, P, V)
#define SHMEMI_CASES_BITS(P, V) SHMEMI_FOR_C_BITS_TYPES(SHMEMI_CASE, P, V)

/* ---- Forms ------------------------------------------------------------------------------------------------------- */

#define SHMEMI_PLAIN(CASES, V, pointer, ...) _Generic (*(pointer)CASES(shmem_, V))(pointer, __VA_ARGS__)
#define SHMEMI_WITH_CONTEXT(CASES, V, ctx, pointer, ...)                                                               \
    _Generic (*(pointer)CASES(shmem_ctx_, V))(ctx, pointer, __VA_ARGS__)
#define SHMEMI_OF_TEAM(CASES, V, team, dest, ...) _Generic (*(dest)CASES(shmem_, V))(team, dest, __VA_ARGS__)

/* SHMEMI_FORM_n: the plain form for n arguments, the form with a context for n + 1. */
#define SHMEMI_4TH(a, b, c, d, ...) d
#define SHMEMI_5TH(a, b, c, d, e, ...) e
#define SHMEMI_6TH(a, b, c, d, e, f, ...) f
#define SHMEMI_7TH(a, b, c, d, e, f, g, ...) g
#define SHMEMI_8TH(a, b, c, d, e, f, g, h, ...) h
#define SHMEMI_9TH(a, b, c, d, e, f, g, h, i, ...) i
#define SHMEMI_FORM_2(...) SHMEMI_4TH(__VA_ARGS__, SHMEMI_WITH_CONTEXT, SHMEMI_PLAIN, )
#define SHMEMI_FORM_3(...) SHMEMI_5TH(__VA_ARGS__, SHMEMI_WITH_CONTEXT, SHMEMI_PLAIN, )
#define SHMEMI_FORM_4(...) SHMEMI_6TH(__VA_ARGS__, SHMEMI_WITH_CONTEXT, SHMEMI_PLAIN, )
#define SHMEMI_FORM_5(...) SHMEMI_7TH(__VA_ARGS__, SHMEMI_WITH_CONTEXT, SHMEMI_PLAIN, )
#define SHMEMI_FORM_6(...) SHMEMI_8TH(__VA_ARGS__, SHMEMI_WITH_CONTEXT, SHMEMI_PLAIN, )
#define SHMEMI_FORM_7(...) SHMEMI_9TH(__VA_ARGS__, SHMEMI_WITH_CONTEXT, SHMEMI_PLAIN, )

/* ---- Remote memory access [9.6], signals [9.8] ------------------------------------------------------------------- */

#define shmem_put(...) SHMEMI_FORM_4(__VA_ARGS__)(SHMEMI_CASES_RMA, put, __VA_ARGS__)
#define shmem_get(...) SHMEMI_FORM_4(__VA_ARGS__)(SHMEMI_CASES_RMA, get, __VA_ARGS__)
#define shmem_put_nbi(...) SHMEMI_FORM_4(__VA_ARGS__)(SHMEMI_CASES_RMA, put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...) SHMEMI_FORM_4(__VA_ARGS__)(SHMEMI_CASES_RMA, get_nbi, __VA_ARGS__)
#define shmem_p(...) SHMEMI_FORM_3(__VA_ARGS__)(SHMEMI_CASES_RMA, p, __VA_ARGS__)
#define shmem_g(...) SHMEMI_FORM_2(__VA_ARGS__)(SHMEMI_CASES_RMA, g, __VA_ARGS__)
#define shmem_iput(...) SHMEMI_FORM_6(__VA_ARGS__)(SHMEMI_CASES_RMA, iput, __VA_ARGS__)
#define shmem_iget(...) SHMEMI_FORM_6(__VA_ARGS__)(SHMEMI_CASES_RMA, iget, __VA_ARGS__)
#define shmem_ibput(...) SHMEMI_FORM_7(__VA_ARGS__)(SHMEMI_CASES_RMA, ibput, __VA_ARGS__)
#define shmem_ibget(...) SHMEMI_FORM_7(__VA_ARGS__)(SHMEMI_CASES_RMA, ibget, __VA_ARGS__)
#define shmem_put_signal(...) SHMEMI_FORM_7(__VA_ARGS__)(SHMEMI_CASES_RMA, put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...) SHMEMI_FORM_7(__VA_ARGS__)(SHMEMI_CASES_RMA, put_signal_nbi, __VA_ARGS__)

/* There are also functions of these names: the preprocessor does not expand a macro inside its own expansion. */
#define shmem_signal_add(...) SHMEMI_5TH(__VA_ARGS__, shmem_ctx_signal_add, shmem_signal_add, )(__VA_ARGS__)
#define shmem_signal_set(...) SHMEMI_5TH(__VA_ARGS__, shmem_ctx_signal_set, shmem_signal_set, )(__VA_ARGS__)

/* ---- Atomics [9.7] ----------------------------------------------------------------------------------------------- */

#define shmem_atomic_fetch(...) SHMEMI_FORM_2(__VA_ARGS__)(SHMEMI_CASES_XAMO, atomic_fetch, __VA_ARGS__)
#define shmem_atomic_set(...) SHMEMI_FORM_3(__VA_ARGS__)(SHMEMI_CASES_XAMO, atomic_set, __VA_ARGS__)
#define shmem_atomic_swap(...) SHMEMI_FORM_3(__VA_ARGS__)(SHMEMI_CASES_XAMO, atomic_swap, __VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) SHMEMI_FORM_3(__VA_ARGS__)(SHMEMI_CASES_XAMO, atomic_fetch_nbi, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) SHMEMI_FORM_4(__VA_ARGS__)(SHMEMI_CASES_XAMO, atomic_swap_nbi, __VA_ARGS__)

#define shmem_atomic_compare_swap(...) SHMEMI_FORM_4(__VA_ARGS__)(SHMEMI_CASES_AMO, atomic_compare_swap, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) SHMEMI_FORM_2(__VA_ARGS__)(SHMEMI_CASES_AMO, atomic_fetch_inc, __VA_ARGS__)
#define shmem_atomic_inc(...) SHMEMI_FORM_2(__VA_ARGS__)(SHMEMI_CASES_AMO, atomic_inc, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) SHMEMI_FORM_3(__VA_ARGS__)(SHMEMI_CASES_AMO, atomic_fetch_add, __VA_ARGS__)
#define shmem_atomic_add(...) SHMEMI_FORM_3(__VA_ARGS__)(SHMEMI_CASES_AMO, atomic_add, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...)                                                                             \
    SHMEMI_FORM_5(__VA_ARGS__)(SHMEMI_CASES_AMO, atomic_compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) SHMEMI_FORM_3(__VA_ARGS__)(SHMEMI_CASES_AMO, atomic_fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) SHMEMI_FORM_4(__VA_ARGS__)(SHMEMI_CASES_AMO, atomic_fetch_add_nbi, __VA_ARGS__)

#define shmem_atomic_fetch_and(...) SHMEMI_FORM_3(__VA_ARGS__)(SHMEMI_CASES_BAMO, atomic_fetch_and, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) SHMEMI_FORM_3(__VA_ARGS__)(SHMEMI_CASES_BAMO, atomic_fetch_or, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) SHMEMI_FORM_3(__VA_ARGS__)(SHMEMI_CASES_BAMO, atomic_fetch_xor, __VA_ARGS__)
#define shmem_atomic_and(...) SHMEMI_FORM_3(__VA_ARGS__)(SHMEMI_CASES_BAMO, atomic_and, __VA_ARGS__)
#define shmem_atomic_or(...) SHMEMI_FORM_3(__VA_ARGS__)(SHMEMI_CASES_BAMO, atomic_or, __VA_ARGS__)
#define shmem_atomic_xor(...) SHMEMI_FORM_3(__VA_ARGS__)(SHMEMI_CASES_BAMO, atomic_xor, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) SHMEMI_FORM_4(__VA_ARGS__)(SHMEMI_CASES_BAMO, atomic_fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) SHMEMI_FORM_4(__VA_ARGS__)(SHMEMI_CASES_BAMO, atomic_fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) SHMEMI_FORM_4(__VA_ARGS__)(SHMEMI_CASES_BAMO, atomic_fetch_xor_nbi, __VA_ARGS__)

/* Deprecated names. */
#define shmem_fetch(...) SHMEMI_PLAIN(SHMEMI_CASES_OLD_XAMO, fetch, __VA_ARGS__)
#define shmem_set(...) SHMEMI_PLAIN(SHMEMI_CASES_OLD_XAMO, set, __VA_ARGS__)
#define shmem_swap(...) SHMEMI_PLAIN(SHMEMI_CASES_OLD_XAMO, swap, __VA_ARGS__)
#define shmem_cswap(...) SHMEMI_PLAIN(SHMEMI_CASES_OLD_AMO, cswap, __VA_ARGS__)
#define shmem_finc(...) SHMEMI_PLAIN(SHMEMI_CASES_OLD_AMO, finc, __VA_ARGS__)
#define shmem_inc(...) SHMEMI_PLAIN(SHMEMI_CASES_OLD_AMO, inc, __VA_ARGS__)
#define shmem_fadd(...) SHMEMI_PLAIN(SHMEMI_CASES_OLD_AMO, fadd, __VA_ARGS__)
#define shmem_add(...) SHMEMI_PLAIN(SHMEMI_CASES_OLD_AMO, add, __VA_ARGS__)

/* ---- Collectives [9.10] ------------------------------------------------------------------------------------------ */

/* With one argument, which is a team, this is shmem_team_sync; with four, which give an active set, shmem_sync. */
#define shmem_sync(...) SHMEMI_5TH(__VA_ARGS__, shmem_sync, shmem_sync, shmem_sync, shmem_team_sync, )(__VA_ARGS__)

#define shmem_broadcast(...) SHMEMI_OF_TEAM(SHMEMI_CASES_RMA, broadcast, __VA_ARGS__)
#define shmem_collect(...) SHMEMI_OF_TEAM(SHMEMI_CASES_RMA, collect, __VA_ARGS__)
#define shmem_fcollect(...) SHMEMI_OF_TEAM(SHMEMI_CASES_RMA, fcollect, __VA_ARGS__)
#define shmem_alltoall(...) SHMEMI_OF_TEAM(SHMEMI_CASES_RMA, alltoall, __VA_ARGS__)
#define shmem_alltoalls(...) SHMEMI_OF_TEAM(SHMEMI_CASES_RMA, alltoalls, __VA_ARGS__)
#define shmem_and_reduce(...) SHMEMI_OF_TEAM(SHMEMI_CASES_BITS, and_reduce, __VA_ARGS__)
#define shmem_or_reduce(...) SHMEMI_OF_TEAM(SHMEMI_CASES_BITS, or_reduce, __VA_ARGS__)
#define shmem_xor_reduce(...) SHMEMI_OF_TEAM(SHMEMI_CASES_BITS, xor_reduce, __VA_ARGS__)
#define shmem_max_reduce(...) SHMEMI_OF_TEAM(SHMEMI_CASES_RMA, max_reduce, __VA_ARGS__)
#define shmem_min_reduce(...) SHMEMI_OF_TEAM(SHMEMI_CASES_RMA, min_reduce, __VA_ARGS__)
#define shmem_sum_reduce(...) SHMEMI_OF_TEAM(SHMEMI_CASES_ARITHMETIC, sum_reduce, __VA_ARGS__)
#define shmem_prod_reduce(...) SHMEMI_OF_TEAM(SHMEMI_CASES_ARITHMETIC, prod_reduce, __VA_ARGS__)
#define shmem_sum_inscan(...) SHMEMI_OF_TEAM(SHMEMI_CASES_ARITHMETIC, sum_inscan, __VA_ARGS__)
#define shmem_sum_exscan(...) SHMEMI_OF_TEAM(SHMEMI_CASES_ARITHMETIC, sum_exscan, __VA_ARGS__)

/* ---- Point-to-point synchronisation [9.11] ----------------------------------------------------------------------- */

#define shmem_wait_until(...) SHMEMI_PLAIN(SHMEMI_CASES_WAIT, wait_until, __VA_ARGS__)
#define shmem_test(...) SHMEMI_PLAIN(SHMEMI_CASES_WAIT, test, __VA_ARGS__)
#define shmem_wait_until_all(...) SHMEMI_PLAIN(SHMEMI_CASES_AMO, wait_until_all, __VA_ARGS__)
#define shmem_wait_until_any(...) SHMEMI_PLAIN(SHMEMI_CASES_AMO, wait_until_any, __VA_ARGS__)
#define shmem_wait_until_some(...) SHMEMI_PLAIN(SHMEMI_CASES_AMO, wait_until_some, __VA_ARGS__)
#define shmem_wait_until_all_vector(...) SHMEMI_PLAIN(SHMEMI_CASES_AMO, wait_until_all_vector, __VA_ARGS__)
#define shmem_wait_until_any_vector(...) SHMEMI_PLAIN(SHMEMI_CASES_AMO, wait_until_any_vector, __VA_ARGS__)
#define shmem_wait_until_some_vector(...) SHMEMI_PLAIN(SHMEMI_CASES_AMO, wait_until_some_vector, __VA_ARGS__)
#define shmem_test_all(...) SHMEMI_PLAIN(SHMEMI_CASES_AMO, test_all, __VA_ARGS__)
#define shmem_test_any(...) SHMEMI_PLAIN(SHMEMI_CASES_AMO, test_any, __VA_ARGS__)
#define shmem_test_some(...) SHMEMI_PLAIN(SHMEMI_CASES_AMO, test_some, __VA_ARGS__)
#define shmem_test_all_vector(...) SHMEMI_PLAIN(SHMEMI_CASES_AMO, test_all_vector, __VA_ARGS__)
#define shmem_test_any_vector(...) SHMEMI_PLAIN(SHMEMI_CASES_AMO, test_any_vector, __VA_ARGS__)
#define shmem_test_some_vector(...) SHMEMI_PLAIN(SHMEMI_CASES_AMO, test_some_vector, __VA_ARGS__)

#endif
