/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenSHMEM 1.6 API of MapSHMEM.
 *
 * Names and semantics are those of the specification; the number in brackets is its section. The routines that come
 * in one form per type are declared from the type lists below; above each expansion stands the specification's line.
 */
#ifndef SHMEM_H
#define SHMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Constants and handles [6, 7] ------------------------------------------------------------------------------- */

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_MAX_NAME_LEN 256
#define SHMEM_VENDOR_STRING "MapSHMEM"

enum { SHMEM_CMP_EQ = 1, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE };
enum { SHMEM_SIGNAL_SET = 1, SHMEM_SIGNAL_ADD };

typedef struct shmemi_team *shmem_team_t;
extern struct shmemi_team shmemi_team_world;

#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_TEAM_WORLD (&shmemi_team_world)

/* ---- Type tables [9.6 table 5, 9.7 table 6, 9.10 table 10] ------------------------------------------------------
 * X(TYPENAME, TYPE, ...): further arguments are passed through. */

#define SHMEMI_FOR_RMA_TYPES(X, ...)                                                                                   \
    X(float, float, __VA_ARGS__)                                                                                       \
    X(double, double, __VA_ARGS__)                                                                                     \
    X(longdouble, long double, __VA_ARGS__)                                                                            \
    X(char, char, __VA_ARGS__)                                                                                         \
    X(schar, signed char, __VA_ARGS__)                                                                                 \
    X(short, short, __VA_ARGS__)                                                                                       \
    X(int, int, __VA_ARGS__)                                                                                           \
    X(long, long, __VA_ARGS__)                                                                                         \
    X(longlong, long long, __VA_ARGS__)                                                                                \
    X(uchar, unsigned char, __VA_ARGS__)                                                                               \
    X(ushort, unsigned short, __VA_ARGS__)                                                                             \
    X(uint, unsigned int, __VA_ARGS__)                                                                                 \
    X(ulong, unsigned long, __VA_ARGS__)                                                                               \
    X(ulonglong, unsigned long long, __VA_ARGS__)                                                                      \
    X(int8, int8_t, __VA_ARGS__)                                                                                       \
    X(int16, int16_t, __VA_ARGS__)                                                                                     \
    X(int32, int32_t, __VA_ARGS__)                                                                                     \
    X(int64, int64_t, __VA_ARGS__)                                                                                     \
    X(uint8, uint8_t, __VA_ARGS__)                                                                                     \
    X(uint16, uint16_t, __VA_ARGS__)                                                                                   \
    X(uint32, uint32_t, __VA_ARGS__)                                                                                   \
    X(uint64, uint64_t, __VA_ARGS__)                                                                                   \
    X(size, size_t, __VA_ARGS__)                                                                                       \
    X(ptrdiff, ptrdiff_t, __VA_ARGS__)

#define SHMEMI_FOR_AMO_TYPES(X, ...)                                                                                   \
    X(int, int, __VA_ARGS__)                                                                                           \
    X(long, long, __VA_ARGS__)                                                                                         \
    X(longlong, long long, __VA_ARGS__)                                                                                \
    X(uint, unsigned int, __VA_ARGS__)                                                                                 \
    X(ulong, unsigned long, __VA_ARGS__)                                                                               \
    X(ulonglong, unsigned long long, __VA_ARGS__)                                                                      \
    X(int32, int32_t, __VA_ARGS__)                                                                                     \
    X(int64, int64_t, __VA_ARGS__)                                                                                     \
    X(uint32, uint32_t, __VA_ARGS__)                                                                                   \
    X(uint64, uint64_t, __VA_ARGS__)                                                                                   \
    X(size, size_t, __VA_ARGS__)                                                                                       \
    X(ptrdiff, ptrdiff_t, __VA_ARGS__)

/* Reductions by MAX: the RMA types; by SUM: these and the complex ones, which only C has. */
#define SHMEMI_FOR_MAX_TYPES SHMEMI_FOR_RMA_TYPES
#ifdef __cplusplus
#define SHMEMI_FOR_SUM_TYPES SHMEMI_FOR_RMA_TYPES
#else
#define SHMEMI_FOR_SUM_TYPES(X, ...)                                                                                   \
    SHMEMI_FOR_RMA_TYPES(X, __VA_ARGS__)                                                                               \
    X(complexd, double _Complex, __VA_ARGS__)                                                                          \
    X(complexf, float _Complex, __VA_ARGS__)
#endif

/* Element sizes of the SIZE forms: X(BITS, BYTES, ...). */
#define SHMEMI_FOR_SIZES(X, ...)                                                                                       \
    X(8, 1, __VA_ARGS__)                                                                                               \
    X(16, 2, __VA_ARGS__)                                                                                              \
    X(32, 4, __VA_ARGS__)                                                                                              \
    X(64, 8, __VA_ARGS__)                                                                                              \
    X(128, 16, __VA_ARGS__)

/* Each routine has a twin with the prefix pshmem_ for profiling tools [10]. */
#define SHMEMI_DECLARE(ret, name, params)                                                                              \
    ret shmem_##name params;                                                                                           \
    ret pshmem_##name params;

/* ---- Setup, exit, query [9.1] ------------------------------------------------------------------------------------ */

SHMEMI_DECLARE(void, init, (void))
SHMEMI_DECLARE(void, finalize, (void))
SHMEMI_DECLARE(void, query_initialized, (int *initialized))
SHMEMI_DECLARE(void, global_exit, (int status))
SHMEMI_DECLARE(int, my_pe, (void))
SHMEMI_DECLARE(int, n_pes, (void))
SHMEMI_DECLARE(int, pe_accessible, (int pe))
SHMEMI_DECLARE(int, addr_accessible, (const void *addr, int pe))
SHMEMI_DECLARE(void *, ptr, (const void *dest, int pe))
SHMEMI_DECLARE(void, info_get_version, (int *major, int *minor))
SHMEMI_DECLARE(void, info_get_name, (char *name))

/* ---- Memory management [9.3] ------------------------------------------------------------------------------------- */

SHMEMI_DECLARE(void *, malloc, (size_t size))
SHMEMI_DECLARE(void *, calloc, (size_t count, size_t size))
SHMEMI_DECLARE(void *, align, (size_t alignment, size_t size))
SHMEMI_DECLARE(void *, realloc, (void *ptr, size_t size))
SHMEMI_DECLARE(void, free, (void *ptr))

/* ---- Remote memory access [9.6] ---------------------------------------------------------------------------------- */

/* clang-format off */
#define SHMEMI_DECLARE_RMA(NAME, TYPE, ...)                                                                            \
    SHMEMI_DECLARE(void, NAME##_put, (TYPE *dest, const TYPE *source, size_t nelems, int pe))                          \
    SHMEMI_DECLARE(void, NAME##_get, (TYPE *dest, const TYPE *source, size_t nelems, int pe))                          \
    SHMEMI_DECLARE(void, NAME##_put_nbi, (TYPE *dest, const TYPE *source, size_t nelems, int pe))                      \
    SHMEMI_DECLARE(void, NAME##_get_nbi, (TYPE *dest, const TYPE *source, size_t nelems, int pe))                      \
    SHMEMI_DECLARE(void, NAME##_p, (TYPE *dest, TYPE value, int pe))                                                   \
    SHMEMI_DECLARE(TYPE, NAME##_g, (const TYPE *source, int pe))                                                       \
    SHMEMI_DECLARE(void, NAME##_iput, (TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)) \
    SHMEMI_DECLARE(void, NAME##_iget, (TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)) \
    SHMEMI_DECLARE(void, NAME##_put_signal, (TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr,        \
                                             uint64_t signal, int sig_op, int pe))

/* void shmem_TYPENAME_{put,get}[_nbi](TYPE *dest, const TYPE *source, size_t nelems, int pe);
 * void shmem_TYPENAME_p(TYPE *dest, TYPE value, int pe);  TYPE shmem_TYPENAME_g(const TYPE *source, int pe);
 * void shmem_TYPENAME_{iput,iget}(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe);
 * void shmem_TYPENAME_put_signal(TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,
 *                                int sig_op, int pe); */
SHMEMI_FOR_RMA_TYPES(SHMEMI_DECLARE_RMA, )

#define SHMEMI_DECLARE_RMA_SIZE(BITS, BYTES, ...)                                                                      \
    SHMEMI_DECLARE(void, put##BITS, (void *dest, const void *source, size_t nelems, int pe))                           \
    SHMEMI_DECLARE(void, get##BITS, (void *dest, const void *source, size_t nelems, int pe))                           \
    SHMEMI_DECLARE(void, put##BITS##_nbi, (void *dest, const void *source, size_t nelems, int pe))                     \
    SHMEMI_DECLARE(void, get##BITS##_nbi, (void *dest, const void *source, size_t nelems, int pe))                     \
    SHMEMI_DECLARE(void, iput##BITS, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)) \
    SHMEMI_DECLARE(void, iget##BITS, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)) \
    SHMEMI_DECLARE(void, put##BITS##_signal, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr,       \
                                              uint64_t signal, int sig_op, int pe))

/* The same with elements of SIZE bits, and putmem/getmem with elements of one byte. */
SHMEMI_FOR_SIZES(SHMEMI_DECLARE_RMA_SIZE, )

SHMEMI_DECLARE(void, putmem, (void *dest, const void *source, size_t nelems, int pe))
SHMEMI_DECLARE(void, getmem, (void *dest, const void *source, size_t nelems, int pe))
SHMEMI_DECLARE(void, putmem_nbi, (void *dest, const void *source, size_t nelems, int pe))
SHMEMI_DECLARE(void, getmem_nbi, (void *dest, const void *source, size_t nelems, int pe))
SHMEMI_DECLARE(void, putmem_signal, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                                     uint64_t signal, int sig_op, int pe))

/* ---- Atomic memory operations [9.7] ------------------------------------------------------------------------------ */

#define SHMEMI_DECLARE_AMO(NAME, TYPE, ...)                                                                            \
    SHMEMI_DECLARE(TYPE, NAME##_atomic_fetch, (const TYPE *source, int pe))                                            \
    SHMEMI_DECLARE(void, NAME##_atomic_set, (TYPE *dest, TYPE value, int pe))                                          \
    SHMEMI_DECLARE(TYPE, NAME##_atomic_compare_swap, (TYPE *dest, TYPE cond, TYPE value, int pe))                      \
    SHMEMI_DECLARE(TYPE, NAME##_atomic_swap, (TYPE *dest, TYPE value, int pe))                                         \
    SHMEMI_DECLARE(TYPE, NAME##_atomic_fetch_inc, (TYPE *dest, int pe))                                                \
    SHMEMI_DECLARE(void, NAME##_atomic_inc, (TYPE *dest, int pe))                                                      \
    SHMEMI_DECLARE(TYPE, NAME##_atomic_fetch_add, (TYPE *dest, TYPE value, int pe))                                    \
    SHMEMI_DECLARE(void, NAME##_atomic_add, (TYPE *dest, TYPE value, int pe))

/* TYPE shmem_TYPENAME_atomic_{fetch,compare_swap,swap,fetch_inc,fetch_add}(...), void ..._atomic_{set,inc,add}(...) */
SHMEMI_FOR_AMO_TYPES(SHMEMI_DECLARE_AMO, )

/* ---- Signals [9.8] ----------------------------------------------------------------------------------------------- */

SHMEMI_DECLARE(void, signal_add, (uint64_t *sig_addr, uint64_t signal, int pe))
SHMEMI_DECLARE(void, signal_set, (uint64_t *sig_addr, uint64_t signal, int pe))
SHMEMI_DECLARE(uint64_t, signal_fetch, (const uint64_t *sig_addr))

/* ---- Collectives [9.10] ------------------------------------------------------------------------------------------ */

SHMEMI_DECLARE(void, barrier_all, (void))
SHMEMI_DECLARE(void, sync_all, (void))
SHMEMI_DECLARE(int, team_my_pe, (shmem_team_t team))
SHMEMI_DECLARE(int, team_n_pes, (shmem_team_t team))
SHMEMI_DECLARE(int, team_sync, (shmem_team_t team))
SHMEMI_DECLARE(int, broadcastmem, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root))
SHMEMI_DECLARE(int, fcollectmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))

#define SHMEMI_DECLARE_COLLECTIVE(NAME, TYPE, ...)                                                                     \
    SHMEMI_DECLARE(int, NAME##_broadcast, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, int PE_root)) \
    SHMEMI_DECLARE(int, NAME##_fcollect, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems))
#define SHMEMI_DECLARE_REDUCE(NAME, TYPE, OP)                                                                          \
    SHMEMI_DECLARE(int, NAME##_##OP##_reduce, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce))

/* int shmem_TYPENAME_broadcast(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, int PE_root);
 * int shmem_TYPENAME_fcollect(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems);
 * int shmem_TYPENAME_{sum,max}_reduce(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce); */
SHMEMI_FOR_RMA_TYPES(SHMEMI_DECLARE_COLLECTIVE, )
SHMEMI_FOR_SUM_TYPES(SHMEMI_DECLARE_REDUCE, sum)
SHMEMI_FOR_MAX_TYPES(SHMEMI_DECLARE_REDUCE, max)

/* ---- Point-to-point synchronisation [9.11] ----------------------------------------------------------------------- */

#define SHMEMI_DECLARE_WAIT(NAME, TYPE, ...)                                                                           \
    SHMEMI_DECLARE(void, NAME##_wait_until, (TYPE *ivar, int cmp, TYPE cmp_value))                                     \
    SHMEMI_DECLARE(int, NAME##_test, (TYPE *ivar, int cmp, TYPE cmp_value))

/* void shmem_TYPENAME_wait_until(TYPE *ivar, int cmp, TYPE cmp_value);  int shmem_TYPENAME_test(...); */
SHMEMI_FOR_AMO_TYPES(SHMEMI_DECLARE_WAIT, )
SHMEMI_DECLARE(uint64_t, signal_wait_until, (uint64_t *sig_addr, int cmp, uint64_t cmp_value))

/* ---- Memory ordering [9.12] -------------------------------------------------------------------------------------- */

SHMEMI_DECLARE(void, fence, (void))
SHMEMI_DECLARE(void, quiet, (void))

#ifdef __cplusplus
}
#endif

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(__cplusplus)
#include <shmem_generic.h>
#endif

/* clang-format on */

#endif
