/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The deprecated routines of OpenSHMEM 1.6 [annex F]: active-set collectives, atomics and waits of old versions, and
 * names that do not begin with shmem_; and those that older versions had. Included by shmem.h; not for direct use. Their
 * constants are in shmem.h.
 */
#ifndef SHMEM_DEPRECATED_H
#define SHMEM_DEPRECATED_H

/* With -DSHMEMX_WARN_DEPRECATED the compiler warns of each use of these names; otherwise it says nothing, since programs
 * may go on using them. Not nvcc, which would also warn of uses in our own headers. */
#if defined(SHMEMX_WARN_DEPRECATED) && !defined(__CUDACC__)
#define SHMEMI_DEPRECATED __attribute__((__deprecated__))
#else
#define SHMEMI_DEPRECATED
#endif
#define SHMEMI_DEPRECATE(ret, name, params) SHMEMI_DECLARE(SHMEMI_DEPRECATED ret, name, params)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Type tables ------------------------------------------------------------------------------------------------- */

/* Reductions over active sets [table 11]: by AND, OR and XOR; by MAX and MIN; by SUM and PROD. */
#define SHMEMI_FOR_SET_BITS_TYPES(X, ...)                                                                              \
    X(short, short, __VA_ARGS__)                                                                                       \
    X(int, int, __VA_ARGS__)                                                                                           \
    X(long, long, __VA_ARGS__)                                                                                         \
    X(longlong, long long, __VA_ARGS__)
#define SHMEMI_FOR_SET_ORDER_TYPES(X, ...)                                                                             \
    SHMEMI_FOR_SET_BITS_TYPES(X, __VA_ARGS__)                                                                          \
    X(float, float, __VA_ARGS__)                                                                                       \
    X(double, double, __VA_ARGS__)                                                                                     \
    X(longdouble, long double, __VA_ARGS__)
#define SHMEMI_FOR_SET_ARITHMETIC_TYPES(X, ...)                                                                        \
    SHMEMI_FOR_SET_ORDER_TYPES(X, __VA_ARGS__)                                                                         \
    SHMEMI_FOR_COMPLEX_TYPES(X, __VA_ARGS__)

/* Atomics of versions before 1.4: cswap, finc, inc, fadd and add; with more types fetch, set and swap. */
#define SHMEMI_FOR_OLD_AMO_TYPES(X, ...)                                                                               \
    X(int, int, __VA_ARGS__)                                                                                           \
    X(long, long, __VA_ARGS__)                                                                                         \
    X(longlong, long long, __VA_ARGS__)
#define SHMEMI_FOR_OLD_XAMO_TYPES(X, ...)                                                                              \
    X(float, float, __VA_ARGS__)                                                                                       \
    X(double, double, __VA_ARGS__)                                                                                     \
    SHMEMI_FOR_OLD_AMO_TYPES(X, __VA_ARGS__)

/* Further types for wait_until and test. */
#define SHMEMI_FOR_SHORT_TYPES(X, ...)                                                                                 \
    X(short, short, __VA_ARGS__)                                                                                       \
    X(ushort, unsigned short, __VA_ARGS__)

/* clang-format off */

/* ---- Names that do not begin with shmem_ ------------------------------------------------------------------------- */

#define SHMEMI_DECLARE_OLD(ret, name, params)                                                                          \
    SHMEMI_DEPRECATED ret name params;                                                                                 \
    SHMEMI_DEPRECATED ret p##name params;

/* start_pes is shmem_init; its argument is ignored. The others are shmem_my_pe, shmem_n_pes, shmem_malloc, shmem_align,
 * shmem_realloc and shmem_free. */
SHMEMI_DECLARE_OLD(void, start_pes, (int npes))
SHMEMI_DECLARE_OLD(int, _my_pe, (void))
SHMEMI_DECLARE_OLD(int, _num_pes, (void))
/* Names of Cray's library for these two, only where the program wants them: others have variables of these names. */
#ifdef SHMEMX_CRAY_NAMES
SHMEMI_DECLARE_OLD(int, my_pe, (void))
SHMEMI_DECLARE_OLD(int, num_pes, (void))
#endif
SHMEMI_DECLARE_OLD(void *, shmalloc, (size_t size))
SHMEMI_DECLARE_OLD(void *, shmemalign, (size_t alignment, size_t size))
SHMEMI_DECLARE_OLD(void *, shrealloc, (void *ptr, size_t size))
SHMEMI_DECLARE_OLD(void, shfree, (void *ptr))

/* ---- Atomics: the old names of shmem_TYPENAME_atomic_compare_swap, fetch_inc, ... -------------------------------- */

#define SHMEMI_DECLARE_OLD_XAMO(NAME, TYPE, ...)                                                                       \
    SHMEMI_DEPRECATE(TYPE, NAME##_fetch, (const TYPE *source, int pe))                                                 \
    SHMEMI_DEPRECATE(void, NAME##_set, (TYPE *dest, TYPE value, int pe))                                               \
    SHMEMI_DEPRECATE(TYPE, NAME##_swap, (TYPE *dest, TYPE value, int pe))
#define SHMEMI_DECLARE_OLD_AMO(NAME, TYPE, ...)                                                                        \
    SHMEMI_DEPRECATE(TYPE, NAME##_cswap, (TYPE *dest, TYPE cond, TYPE value, int pe))                                  \
    SHMEMI_DEPRECATE(TYPE, NAME##_finc, (TYPE *dest, int pe))                                                          \
    SHMEMI_DEPRECATE(void, NAME##_inc, (TYPE *dest, int pe))                                                           \
    SHMEMI_DEPRECATE(TYPE, NAME##_fadd, (TYPE *dest, TYPE value, int pe))                                              \
    SHMEMI_DEPRECATE(void, NAME##_add, (TYPE *dest, TYPE value, int pe))
SHMEMI_FOR_OLD_XAMO_TYPES(SHMEMI_DECLARE_OLD_XAMO, )
SHMEMI_FOR_OLD_AMO_TYPES(SHMEMI_DECLARE_OLD_AMO, )
/* A routine of OpenSHMEM 1.0 to 1.3, for C before C11. In C11 and C++ the name is that of all types, so it has no warning. */
SHMEMI_DECLARE(long, swap, (long *dest, long value, int pe))

/* ---- Collectives over active sets -----------------------------------------------------------------------------------
 *
 * An active set is the PE_size PEs PE_start + i * 2^logPE_stride. All of them call, and no other PE does. pSync is
 * symmetric and holds SHMEM_SYNC_VALUE in every element before and after a call; pWrk is ignored. */

#define SHMEMI_ACTIVE_SET int PE_start, int logPE_stride, int PE_size

SHMEMI_DEPRECATE(void, barrier, (SHMEMI_ACTIVE_SET, long *pSync))
SHMEMI_DEPRECATE(void, sync, (SHMEMI_ACTIVE_SET, long *pSync))

#define SHMEMI_DECLARE_SET_COLLECTIVES(BITS)                                                                           \
    SHMEMI_DEPRECATE(void, broadcast##BITS, (void *dest, const void *source, size_t nelems, int PE_root,               \
                                           SHMEMI_ACTIVE_SET, long *pSync))                                            \
    SHMEMI_DEPRECATE(void, collect##BITS, (void *dest, const void *source, size_t nelems, SHMEMI_ACTIVE_SET, long *pSync)) \
    SHMEMI_DEPRECATE(void, fcollect##BITS, (void *dest, const void *source, size_t nelems, SHMEMI_ACTIVE_SET, long *pSync)) \
    SHMEMI_DEPRECATE(void, alltoall##BITS, (void *dest, const void *source, size_t nelems, SHMEMI_ACTIVE_SET, long *pSync)) \
    SHMEMI_DEPRECATE(void, alltoalls##BITS, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
                                           SHMEMI_ACTIVE_SET, long *pSync))
SHMEMI_DECLARE_SET_COLLECTIVES(32)
SHMEMI_DECLARE_SET_COLLECTIVES(64)

/* void shmem_TYPENAME_{and,or,xor,max,min,sum,prod}_to_all(TYPE *dest, const TYPE *source, int nreduce, int PE_start,
 *                                                          int logPE_stride, int PE_size, TYPE *pWrk, long *pSync); */
#define SHMEMI_DECLARE_TO_ALL(NAME, TYPE, OP)                                                                          \
    SHMEMI_DEPRECATE(void, NAME##_##OP##_to_all, (TYPE *dest, const TYPE *source, int nreduce, SHMEMI_ACTIVE_SET,      \
                                                TYPE *pWrk, long *pSync))
SHMEMI_FOR_SET_BITS_TYPES(SHMEMI_DECLARE_TO_ALL, and)
SHMEMI_FOR_SET_BITS_TYPES(SHMEMI_DECLARE_TO_ALL, or)
SHMEMI_FOR_SET_BITS_TYPES(SHMEMI_DECLARE_TO_ALL, xor)
SHMEMI_FOR_SET_ORDER_TYPES(SHMEMI_DECLARE_TO_ALL, max)
SHMEMI_FOR_SET_ORDER_TYPES(SHMEMI_DECLARE_TO_ALL, min)
SHMEMI_FOR_SET_ARITHMETIC_TYPES(SHMEMI_DECLARE_TO_ALL, sum)
SHMEMI_FOR_SET_ARITHMETIC_TYPES(SHMEMI_DECLARE_TO_ALL, prod)

/* ---- Waits ------------------------------------------------------------------------------------------------------- */

SHMEMI_FOR_SHORT_TYPES(SHMEMI_DECLARE_WAIT, )
/* A name of its own in C11 and C++ only, so it has no warning. */
SHMEMI_DECLARE(void, wait_until, (long *ivar, int cmp, long cmp_value))
/* These wait until *ivar differs from cmp_value. */
SHMEMI_DEPRECATE(void, wait, (long *ivar, long cmp_value))
SHMEMI_DEPRECATE(void, short_wait, (short *ivar, short cmp_value))
SHMEMI_DEPRECATE(void, int_wait, (int *ivar, int cmp_value))
SHMEMI_DEPRECATE(void, long_wait, (long *ivar, long cmp_value))
SHMEMI_DEPRECATE(void, longlong_wait, (long long *ivar, long long cmp_value))

/* ---- Caches: removed in OpenSHMEM 1.5. They do nothing, since caches are coherent ------------------------------------ */

SHMEMI_DEPRECATE(void, clear_cache_inv, (void))
SHMEMI_DEPRECATE(void, set_cache_inv, (void))
SHMEMI_DEPRECATE(void, clear_cache_line_inv, (void *dest))
SHMEMI_DEPRECATE(void, set_cache_line_inv, (void *dest))
SHMEMI_DEPRECATE(void, udcflush, (void))
SHMEMI_DEPRECATE(void, udcflush_line, (void *dest))

/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
