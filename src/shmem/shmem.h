/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenSHMEM 1.6 API of MapSHMEM; the deprecated routines are in shmem_deprecated.h, which this header includes.
 *
 * Names and semantics are those of the specification; the number in brackets is its section. Routines that exist once
 * per type are declared from the type lists below; above each expansion stands the specification's prototype.
 *
 * Sizes named nelems, bsize and the strides dst and sst count elements, of one byte in the routines on void * without a
 * SIZE. Symmetric arguments may lie in the symmetric heap, static data or memory that shmmap returned; the other side
 * of a transfer may be any memory, including a GPU's. PE numbers are those of the context's team; for the default
 * context, those of SHMEM_TEAM_WORLD. Errors for which the specification gives no result are reported and end the job.
 * The level of thread support [9.2] says which threads may call.
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

/* This library and its version, 10000 * major + 100 * minor + patch, for programs that know several libraries. */
#define MAPSHMEM_NUMVERSION 200

/* The names with an underscore in front are deprecated spellings [annex F]. */
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING

#define SHMEM_CMP_EQ 1
#define SHMEM_CMP_NE 2
#define SHMEM_CMP_GT 3
#define SHMEM_CMP_GE 4
#define SHMEM_CMP_LT 5
#define SHMEM_CMP_LE 6
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_LE SHMEM_CMP_LE

#define SHMEM_SIGNAL_SET 1
#define SHMEM_SIGNAL_ADD 2

#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

/* Options of contexts, sessions and allocations: bits of a long. */
#define SHMEM_CTX_SERIALIZED 1L
#define SHMEM_CTX_PRIVATE 2L
#define SHMEM_CTX_NOSTORE 4L
#define SHMEM_CTX_SESSION_BATCH 1L
#define SHMEM_CTX_SESSION_TOTAL_OPS 1L
#define SHMEM_TEAM_NUM_CONTEXTS 1L
#define SHMEM_MALLOC_ATOMICS_REMOTE 1L
#define SHMEM_MALLOC_SIGNAL_REMOTE 2L

/* For the active-set collectives (deprecated): pSync is long[..._SYNC_SIZE], every element SHMEM_SYNC_VALUE. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 16
#define SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 16
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

/* Handles. The predefined ones are constants, so they may initialise static objects. */
typedef struct shmemi_team *shmem_team_t;
typedef struct shmemi_context *shmem_ctx_t;

#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_TEAM_WORLD ((shmem_team_t)1)
#define SHMEM_TEAM_SHARED ((shmem_team_t)2)
#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)1)

/* Configurations of a new team and of a session; config_mask says which of their fields are used. */
typedef struct {
    int num_contexts; /* SHMEM_TEAM_NUM_CONTEXTS: the most the team will have at a time; default 0 */
} shmem_team_config_t;

typedef struct {
    size_t total_ops; /* SHMEM_CTX_SESSION_TOTAL_OPS: expected in the session; default SIZE_MAX */
} shmem_ctx_session_config_t;

/* ---- Type tables [9.6 table 5, 9.7 table 6, 9.10 table 10] ------------------------------------------------------
 * X(TYPENAME, TYPE, ...): the list passes further arguments on. */

/* Bitwise AMO types [table 8]. */
#define SHMEMI_FOR_BAMO_TYPES(X, ...)                                                                                  \
    X(uint, unsigned int, __VA_ARGS__)                                                                                 \
    X(ulong, unsigned long, __VA_ARGS__)                                                                               \
    X(ulonglong, unsigned long long, __VA_ARGS__)                                                                      \
    X(int32, int32_t, __VA_ARGS__)                                                                                     \
    X(int64, int64_t, __VA_ARGS__)                                                                                     \
    X(uint32, uint32_t, __VA_ARGS__)                                                                                   \
    X(uint64, uint64_t, __VA_ARGS__)
/* Standard AMO types [table 6]. */
#define SHMEMI_FOR_AMO_TYPES(X, ...)                                                                                   \
    X(int, int, __VA_ARGS__)                                                                                           \
    X(long, long, __VA_ARGS__)                                                                                         \
    X(longlong, long long, __VA_ARGS__)                                                                                \
    X(size, size_t, __VA_ARGS__)                                                                                       \
    X(ptrdiff, ptrdiff_t, __VA_ARGS__)                                                                                 \
    SHMEMI_FOR_BAMO_TYPES(X, __VA_ARGS__)
/* Extended AMO types [table 7]: fetch, set and swap. */
#define SHMEMI_FOR_XAMO_TYPES(X, ...)                                                                                  \
    X(float, float, __VA_ARGS__)                                                                                       \
    X(double, double, __VA_ARGS__)                                                                                     \
    SHMEMI_FOR_AMO_TYPES(X, __VA_ARGS__)

/* Reductions [table 10]: BITS by AND, OR and XOR; ORDER by MAX and MIN; ARITHMETIC by SUM and PROD, and scans. */
#define SHMEMI_FOR_BITS_TYPES(X, ...)                                                                                  \
    X(uchar, unsigned char, __VA_ARGS__)                                                                               \
    X(ushort, unsigned short, __VA_ARGS__)                                                                             \
    X(int8, int8_t, __VA_ARGS__)                                                                                       \
    X(int16, int16_t, __VA_ARGS__)                                                                                     \
    X(uint8, uint8_t, __VA_ARGS__)                                                                                     \
    X(uint16, uint16_t, __VA_ARGS__)                                                                                   \
    X(size, size_t, __VA_ARGS__)                                                                                       \
    SHMEMI_FOR_BAMO_TYPES(X, __VA_ARGS__)
/* Standard RMA types [table 5]. */
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
    X(ptrdiff, ptrdiff_t, __VA_ARGS__)                                                                                 \
    SHMEMI_FOR_BITS_TYPES(X, __VA_ARGS__)
#define SHMEMI_FOR_ORDER_TYPES SHMEMI_FOR_RMA_TYPES
__extension__ typedef double _Complex shmemi_complexd;
__extension__ typedef float _Complex shmemi_complexf;
#define SHMEMI_FOR_COMPLEX_TYPES(X, ...)                                                                               \
    X(complexd, shmemi_complexd, __VA_ARGS__)                                                                          \
    X(complexf, shmemi_complexf, __VA_ARGS__)
#define SHMEMI_FOR_ARITHMETIC_TYPES(X, ...)                                                                            \
    SHMEMI_FOR_RMA_TYPES(X, __VA_ARGS__)                                                                               \
    SHMEMI_FOR_COMPLEX_TYPES(X, __VA_ARGS__)

/* Element sizes of the SIZE forms: X(BITS, BYTES, ...). */
#define SHMEMI_FOR_SIZES(X, ...)                                                                                       \
    X(8, 1, __VA_ARGS__)                                                                                               \
    X(16, 2, __VA_ARGS__)                                                                                              \
    X(32, 4, __VA_ARGS__)                                                                                              \
    X(64, 8, __VA_ARGS__)                                                                                              \
    X(128, 16, __VA_ARGS__)

/* Each routine has a twin with the prefix pshmem_ for profiling tools [10]. Most communication routines have two forms:
 * one on the default context, and one whose first argument is the context [9.5]. */
#define SHMEMI_DECLARE(ret, name, params)                                                                              \
    ret shmem_##name params;                                                                                           \
    ret pshmem_##name params;
#define SHMEMI_DECLARE_BOTH(ret, name, ...)                                                                            \
    SHMEMI_DECLARE(ret, name, (__VA_ARGS__))                                                                           \
    SHMEMI_DECLARE(ret, ctx_##name, (shmem_ctx_t ctx, __VA_ARGS__))

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(__cplusplus)
#define SHMEMI_NORETURN _Noreturn
#else
#define SHMEMI_NORETURN
#endif

/* clang-format off */

/* ---- Setup, exit, query [9.1] and threads [9.2] ---------------------------------------------------------------------
 *
 * init, init_thread and finalize are collective over all PEs; the others are local. init_thread returns 0 and sets
 * *provided to the level granted (SHMEM_THREAD_*). finalize completes all communication. global_exit ends all PEs with
 * the status. ptr and team_ptr return an address for loads and stores of dest on that PE, or NULL if there is none, as
 * for GPU memory. The accessible queries return 1 or 0. pcontrol is for profiling tools and does nothing here. */

SHMEMI_DECLARE(void, init, (void))
SHMEMI_DECLARE(int, init_thread, (int requested, int *provided))
SHMEMI_DECLARE(void, query_thread, (int *provided))
SHMEMI_DECLARE(void, finalize, (void))
SHMEMI_DECLARE(void, query_initialized, (int *initialized))
SHMEMI_DECLARE(SHMEMI_NORETURN void, global_exit, (int status))
SHMEMI_DECLARE(int, my_pe, (void))
SHMEMI_DECLARE(int, n_pes, (void))
SHMEMI_DECLARE(int, pe_accessible, (int pe))
SHMEMI_DECLARE(int, addr_accessible, (const void *addr, int pe))
SHMEMI_DECLARE(void *, ptr, (const void *dest, int pe))
SHMEMI_DECLARE(void *, team_ptr, (shmem_team_t team, const void *dest, int pe))
SHMEMI_DECLARE(void, info_get_version, (int *major, int *minor))
SHMEMI_DECLARE(void, info_get_name, (char *name))
SHMEMI_DECLARE(void, pcontrol, (int level, ...))

/* ---- Memory management [9.3] ----------------------------------------------------------------------------------------
 *
 * Collective over all PEs with the same arguments, in bytes; a barrier on exit (free: on entry, realloc: both). Return
 * NULL for size 0 and if there is no room. One thread of a PE at a time. */

SHMEMI_DECLARE(void *, malloc, (size_t size))
SHMEMI_DECLARE(void *, calloc, (size_t count, size_t size))
SHMEMI_DECLARE(void *, align, (size_t alignment, size_t size))
SHMEMI_DECLARE(void *, realloc, (void *ptr, size_t size))
SHMEMI_DECLARE(void *, malloc_with_hints, (size_t size, long hints))
SHMEMI_DECLARE(void, free, (void *ptr))

/* ---- Teams [9.4] ----------------------------------------------------------------------------------------------------
 *
 * The splits are collective over the parent team and return 0 on success; team_destroy is collective over the team. A
 * PE that is not a member gets SHMEM_TEAM_INVALID. The queries are local and return -1 for SHMEM_TEAM_INVALID and for a
 * PE that is not in dest_team (team_get_config: nonzero). */

SHMEMI_DECLARE(int, team_my_pe, (shmem_team_t team))
SHMEMI_DECLARE(int, team_n_pes, (shmem_team_t team))
SHMEMI_DECLARE(int, team_get_config, (shmem_team_t team, long config_mask, shmem_team_config_t *config))
SHMEMI_DECLARE(int, team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team))
SHMEMI_DECLARE(int, team_split_strided, (shmem_team_t parent_team, int start, int stride, int size,
                                         const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team))
SHMEMI_DECLARE(int, team_split_2d, (shmem_team_t parent_team, int xrange,
                                    const shmem_team_config_t *xaxis_config, long xaxis_mask, shmem_team_t *xaxis_team,
                                    const shmem_team_config_t *yaxis_config, long yaxis_mask, shmem_team_t *yaxis_team))
SHMEMI_DECLARE(void, team_destroy, (shmem_team_t team))

/* ---- Contexts [9.5] and sessions [9.9] ------------------------------------------------------------------------------
 *
 * Local. Creation returns 0, or nonzero and sets *ctx to SHMEM_CTX_INVALID. ctx_destroy completes the context's
 * operations. The program makes one call at a time on a SERIALIZED context; only the thread that created a PRIVATE
 * context uses it. A session announces many small operations, which the library may then batch. */

SHMEMI_DECLARE(int, ctx_create, (long options, shmem_ctx_t *ctx))
SHMEMI_DECLARE(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t *ctx))
SHMEMI_DECLARE(void, ctx_destroy, (shmem_ctx_t ctx))
SHMEMI_DECLARE(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t *team))
SHMEMI_DECLARE(void, ctx_session_start, (shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config,
                                         long config_mask))
SHMEMI_DECLARE(void, ctx_session_stop, (shmem_ctx_t ctx))

/* ---- Remote memory access [9.6] and put with signal [9.8] -------------------------------------------------------- */

#define SHMEMI_DECLARE_TRANSFERS(put, get, iput, iget, ibput, ibget, ELEMENT)                                          \
    SHMEMI_DECLARE_BOTH(void, put, ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                        \
    SHMEMI_DECLARE_BOTH(void, get, ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                        \
    SHMEMI_DECLARE_BOTH(void, put##_nbi, ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                  \
    SHMEMI_DECLARE_BOTH(void, get##_nbi, ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                  \
    SHMEMI_DECLARE_BOTH(void, put##_signal, ELEMENT *dest, const ELEMENT *source, size_t nelems, uint64_t *sig_addr,   \
                        uint64_t signal, int sig_op, int pe)                                                           \
    SHMEMI_DECLARE_BOTH(void, put##_signal_nbi, ELEMENT *dest, const ELEMENT *source, size_t nelems,                   \
                        uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)                                       \
    SHMEMI_DECLARE_STRIDED(iput, iget, ibput, ibget, ELEMENT)
#define SHMEMI_DECLARE_STRIDED(iput, iget, ibput, ibget, ELEMENT)                                                      \
    SHMEMI_DECLARE_BOTH(void, iput, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
                        int pe)                                                                                        \
    SHMEMI_DECLARE_BOTH(void, iget, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, \
                        int pe)                                                                                        \
    SHMEMI_DECLARE_BOTH(void, ibput, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, \
                        size_t nblocks, int pe)                                                                        \
    SHMEMI_DECLARE_BOTH(void, ibget, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, \
                        size_t nblocks, int pe)

/* get and put return when the local side may be used: the data of get have arrived, the source of put may be changed.
 * The nbi forms return at once, and quiet completes them. Data of a put are delivered by quiet or a barrier. The signal
 * is updated after the data of its put have been delivered; sig_op is SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD. iput and
 * iget move one element per stride, ibput and ibget one block of bsize elements.
 *
 * void shmem_[ctx_]TYPENAME_{put,get}[_nbi]([ctx,] TYPE *dest, const TYPE *source, size_t nelems, int pe);
 * void shmem_[ctx_]TYPENAME_put_signal[_nbi]([ctx,] TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr,
 *                                            uint64_t signal, int sig_op, int pe);
 * void shmem_[ctx_]TYPENAME_{iput,iget}([ctx,] TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst,
 *                                       size_t nelems, int pe);
 * void shmem_[ctx_]TYPENAME_{ibput,ibget}([ctx,] TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst,
 *                                         size_t bsize, size_t nblocks, int pe);
 * void shmem_[ctx_]TYPENAME_p([ctx,] TYPE *dest, TYPE value, int pe);
 * TYPE shmem_[ctx_]TYPENAME_g([ctx,] const TYPE *source, int pe); */
#define SHMEMI_DECLARE_RMA(NAME, TYPE, ...)                                                                            \
    SHMEMI_DECLARE_TRANSFERS(NAME##_put, NAME##_get, NAME##_iput, NAME##_iget, NAME##_ibput, NAME##_ibget, TYPE)       \
    SHMEMI_DECLARE_BOTH(void, NAME##_p, TYPE *dest, TYPE value, int pe)                                                \
    SHMEMI_DECLARE_BOTH(TYPE, NAME##_g, const TYPE *source, int pe)
SHMEMI_FOR_RMA_TYPES(SHMEMI_DECLARE_RMA, )

/* Transfers of elements of SIZE bits. */
#define SHMEMI_DECLARE_RMA_SIZE(BITS, BYTES, ...)                                                                      \
    SHMEMI_DECLARE_BOTH(void, put##BITS, void *dest, const void *source, size_t nelems, int pe)                        \
    SHMEMI_DECLARE_BOTH(void, get##BITS, void *dest, const void *source, size_t nelems, int pe)                        \
    SHMEMI_DECLARE_BOTH(void, put##BITS##_nbi, void *dest, const void *source, size_t nelems, int pe)                  \
    SHMEMI_DECLARE_BOTH(void, get##BITS##_nbi, void *dest, const void *source, size_t nelems, int pe)                  \
    SHMEMI_DECLARE_BOTH(void, put##BITS##_signal, void *dest, const void *source, size_t nelems, uint64_t *sig_addr,   \
                        uint64_t signal, int sig_op, int pe)                                                           \
    SHMEMI_DECLARE_BOTH(void, put##BITS##_signal_nbi, void *dest, const void *source, size_t nelems,                   \
                        uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)                                       \
    SHMEMI_DECLARE_STRIDED(iput##BITS, iget##BITS, ibput##BITS, ibget##BITS, void)
SHMEMI_FOR_SIZES(SHMEMI_DECLARE_RMA_SIZE, )

/* Transfers of bytes, which have no strided forms. */
SHMEMI_DECLARE_BOTH(void, putmem, void *dest, const void *source, size_t nelems, int pe)
SHMEMI_DECLARE_BOTH(void, getmem, void *dest, const void *source, size_t nelems, int pe)
SHMEMI_DECLARE_BOTH(void, putmem_nbi, void *dest, const void *source, size_t nelems, int pe)
SHMEMI_DECLARE_BOTH(void, getmem_nbi, void *dest, const void *source, size_t nelems, int pe)
SHMEMI_DECLARE_BOTH(void, putmem_signal, void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                    uint64_t signal, int sig_op, int pe)
SHMEMI_DECLARE_BOTH(void, putmem_signal_nbi, void *dest, const void *source, size_t nelems, uint64_t *sig_addr,
                    uint64_t signal, int sig_op, int pe)

/* ---- Signals [9.8] --------------------------------------------------------------------------------------------------
 *
 * The updates are atomic. signal_fetch and signal_wait_until act on this PE's own signal and return its value; data
 * that were put with that signal have then arrived. */

SHMEMI_DECLARE_BOTH(void, signal_add, uint64_t *sig_addr, uint64_t signal, int pe)
SHMEMI_DECLARE_BOTH(void, signal_set, uint64_t *sig_addr, uint64_t signal, int pe)
SHMEMI_DECLARE(uint64_t, signal_fetch, (const uint64_t *sig_addr))
SHMEMI_DECLARE(uint64_t, signal_wait_until, (uint64_t *sig_addr, int cmp, uint64_t cmp_value))

/* ---- Atomic memory operations [9.7] ---------------------------------------------------------------------------------
 *
 * Atomic with each other on the same word and type. Those with a result wait for the old value and return it; those
 * without one are complete at the target after quiet. */

/* TYPE shmem_[ctx_]TYPENAME_atomic_fetch([ctx,] const TYPE *source, int pe), ..._swap([ctx,] dest, value, pe);
 * void ..._atomic_set([ctx,] dest, value, pe); the _nbi forms have stored the old value in *fetch after quiet. */
#define SHMEMI_DECLARE_XAMO(NAME, TYPE, ...)                                                                           \
    SHMEMI_DECLARE_BOTH(TYPE, NAME##_atomic_fetch, const TYPE *source, int pe)                                         \
    SHMEMI_DECLARE_BOTH(void, NAME##_atomic_set, TYPE *dest, TYPE value, int pe)                                       \
    SHMEMI_DECLARE_BOTH(TYPE, NAME##_atomic_swap, TYPE *dest, TYPE value, int pe)                                      \
    SHMEMI_DECLARE_BOTH(void, NAME##_atomic_fetch_nbi, TYPE *fetch, const TYPE *source, int pe)                        \
    SHMEMI_DECLARE_BOTH(void, NAME##_atomic_swap_nbi, TYPE *fetch, TYPE *dest, TYPE value, int pe)
SHMEMI_FOR_XAMO_TYPES(SHMEMI_DECLARE_XAMO, )

/* TYPE ..._atomic_{compare_swap,fetch_inc,fetch_add}[_nbi](...), void ..._atomic_{inc,add}(...) */
#define SHMEMI_DECLARE_AMO(NAME, TYPE, ...)                                                                            \
    SHMEMI_DECLARE_BOTH(TYPE, NAME##_atomic_compare_swap, TYPE *dest, TYPE cond, TYPE value, int pe)                   \
    SHMEMI_DECLARE_BOTH(TYPE, NAME##_atomic_fetch_inc, TYPE *dest, int pe)                                             \
    SHMEMI_DECLARE_BOTH(void, NAME##_atomic_inc, TYPE *dest, int pe)                                                   \
    SHMEMI_DECLARE_BOTH(TYPE, NAME##_atomic_fetch_add, TYPE *dest, TYPE value, int pe)                                 \
    SHMEMI_DECLARE_BOTH(void, NAME##_atomic_add, TYPE *dest, TYPE value, int pe)                                       \
    SHMEMI_DECLARE_BOTH(void, NAME##_atomic_compare_swap_nbi, TYPE *fetch, TYPE *dest, TYPE cond, TYPE value, int pe)  \
    SHMEMI_DECLARE_BOTH(void, NAME##_atomic_fetch_inc_nbi, TYPE *fetch, TYPE *dest, int pe)                            \
    SHMEMI_DECLARE_BOTH(void, NAME##_atomic_fetch_add_nbi, TYPE *fetch, TYPE *dest, TYPE value, int pe)
SHMEMI_FOR_AMO_TYPES(SHMEMI_DECLARE_AMO, )

/* TYPE ..._atomic_fetch_{and,or,xor}[_nbi](...), void ..._atomic_{and,or,xor}(...) */
#define SHMEMI_DECLARE_BAMO_OP(NAME, TYPE, OP)                                                                         \
    SHMEMI_DECLARE_BOTH(TYPE, NAME##_atomic_fetch_##OP, TYPE *dest, TYPE value, int pe)                                \
    SHMEMI_DECLARE_BOTH(void, NAME##_atomic_##OP, TYPE *dest, TYPE value, int pe)                                      \
    SHMEMI_DECLARE_BOTH(void, NAME##_atomic_fetch_##OP##_nbi, TYPE *fetch, TYPE *dest, TYPE value, int pe)
SHMEMI_FOR_BAMO_TYPES(SHMEMI_DECLARE_BAMO_OP, and)
SHMEMI_FOR_BAMO_TYPES(SHMEMI_DECLARE_BAMO_OP, or)
SHMEMI_FOR_BAMO_TYPES(SHMEMI_DECLARE_BAMO_OP, xor)

/* ---- Collectives over teams [9.10] ----------------------------------------------------------------------------------
 *
 * Every PE of the team calls, with the same team, size and root; dest and source are symmetric. Return 0, or nonzero if
 * this PE failed. On return dest is complete and source may be changed. One collective of a team at a time. barrier_all
 * completes all PEs' puts on the default context; sync_all and team_sync complete nothing. */

SHMEMI_DECLARE(void, barrier_all, (void))
SHMEMI_DECLARE(void, sync_all, (void))
SHMEMI_DECLARE(int, team_sync, (shmem_team_t team))

#define SHMEMI_DECLARE_COLLECTIVES(broadcast, collect, fcollect, alltoall, alltoalls, ELEMENT)                         \
    SHMEMI_DECLARE(int, broadcast, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems, int PE_root)) \
    SHMEMI_DECLARE(int, collect, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems))             \
    SHMEMI_DECLARE(int, fcollect, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems))            \
    SHMEMI_DECLARE(int, alltoall, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems))            \
    SHMEMI_DECLARE(int, alltoalls, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst,            \
                                    ptrdiff_t sst, size_t nelems))

/* int shmem_TYPENAME_broadcast(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems, int PE_root);
 * int shmem_TYPENAME_{collect,fcollect,alltoall}(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems);
 * int shmem_TYPENAME_alltoalls(shmem_team_t team, TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst,
 *                              size_t nelems);   and the same with elements of one byte: shmem_broadcastmem, ... */
#define SHMEMI_DECLARE_TYPED_COLLECTIVES(NAME, TYPE, ...)                                                              \
    SHMEMI_DECLARE_COLLECTIVES(NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall, NAME##_alltoalls, TYPE)
SHMEMI_FOR_RMA_TYPES(SHMEMI_DECLARE_TYPED_COLLECTIVES, )
SHMEMI_DECLARE_COLLECTIVES(broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem, void)

/* int shmem_TYPENAME_{and,or,xor,max,min,sum,prod}_reduce(shmem_team_t team, TYPE *dest, const TYPE *source,
 *                                                         size_t nreduce);  dest may be the same as source
 * int shmem_TYPENAME_sum_{inscan,exscan}(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems); */
#define SHMEMI_DECLARE_REDUCE(NAME, TYPE, OP)                                                                          \
    SHMEMI_DECLARE(int, NAME##_##OP##_reduce, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce))
#define SHMEMI_DECLARE_SCAN(NAME, TYPE, SCAN)                                                                          \
    SHMEMI_DECLARE(int, NAME##_sum_##SCAN, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems))
SHMEMI_FOR_BITS_TYPES(SHMEMI_DECLARE_REDUCE, and)
SHMEMI_FOR_BITS_TYPES(SHMEMI_DECLARE_REDUCE, or)
SHMEMI_FOR_BITS_TYPES(SHMEMI_DECLARE_REDUCE, xor)
SHMEMI_FOR_ORDER_TYPES(SHMEMI_DECLARE_REDUCE, max)
SHMEMI_FOR_ORDER_TYPES(SHMEMI_DECLARE_REDUCE, min)
SHMEMI_FOR_ARITHMETIC_TYPES(SHMEMI_DECLARE_REDUCE, sum)
SHMEMI_FOR_ARITHMETIC_TYPES(SHMEMI_DECLARE_REDUCE, prod)
SHMEMI_FOR_ARITHMETIC_TYPES(SHMEMI_DECLARE_SCAN, inscan)
SHMEMI_FOR_ARITHMETIC_TYPES(SHMEMI_DECLARE_SCAN, exscan)

/* ---- Point-to-point synchronisation [9.11] ----------------------------------------------------------------------- */

/* Wait for, or test, changes of this PE's own symmetric words by other PEs; cmp is one of SHMEM_CMP_*.
 *
 * void shmem_TYPENAME_wait_until(TYPE *ivar, int cmp, TYPE cmp_value);  int shmem_TYPENAME_test(...);
 * The forms below take ivars[0..nelems) and ignore those whose status is nonzero (status may be NULL):
 *   all     until every one meets the condition
 *   any     until one does; returns its index, or SIZE_MAX if there is none
 *   some    until one does; returns how many do, and stores their indices
 *   vector  compares each with a value of its own, cmp_values[i] */
#define SHMEMI_DECLARE_WAIT(NAME, TYPE, ...)                                                                           \
    SHMEMI_DECLARE(void, NAME##_wait_until, (TYPE *ivar, int cmp, TYPE cmp_value))                                     \
    SHMEMI_DECLARE(int, NAME##_test, (TYPE *ivar, int cmp, TYPE cmp_value))
#define SHMEMI_DECLARE_WAIT_SET(NAME, TYPE, VERB, ALL)                                                                 \
    SHMEMI_DECLARE(ALL, NAME##_##VERB##_all, (TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value)) \
    SHMEMI_DECLARE(size_t, NAME##_##VERB##_any, (TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value)) \
    SHMEMI_DECLARE(size_t, NAME##_##VERB##_some, (TYPE *ivars, size_t nelems, size_t *indices, const int *status,      \
                                                  int cmp, TYPE cmp_value))                                            \
    SHMEMI_DECLARE(ALL, NAME##_##VERB##_all_vector, (TYPE *ivars, size_t nelems, const int *status, int cmp,           \
                                                     const TYPE *cmp_values))                                          \
    SHMEMI_DECLARE(size_t, NAME##_##VERB##_any_vector, (TYPE *ivars, size_t nelems, const int *status, int cmp,        \
                                                        const TYPE *cmp_values))                                       \
    SHMEMI_DECLARE(size_t, NAME##_##VERB##_some_vector, (TYPE *ivars, size_t nelems, size_t *indices, const int *status, \
                                                         int cmp, const TYPE *cmp_values))
SHMEMI_FOR_AMO_TYPES(SHMEMI_DECLARE_WAIT, )
SHMEMI_FOR_AMO_TYPES(SHMEMI_DECLARE_WAIT_SET, wait_until, void)
SHMEMI_FOR_AMO_TYPES(SHMEMI_DECLARE_WAIT_SET, test, int)

/* ---- Memory ordering [9.12] and locks [9.13] ------------------------------------------------------------------------
 *
 * fence: puts and atomics to each PE that come before it are delivered before those that come after it. quiet: returns
 * when everything issued on the context is complete; pe_quiet: what was issued to the npes PEs of target_pes. */

SHMEMI_DECLARE(void, fence, (void))
SHMEMI_DECLARE(void, ctx_fence, (shmem_ctx_t ctx))
SHMEMI_DECLARE(void, quiet, (void))
SHMEMI_DECLARE(void, ctx_quiet, (shmem_ctx_t ctx))
SHMEMI_DECLARE_BOTH(void, pe_quiet, const int *target_pes, size_t npes)

/* A lock is a symmetric long in the heap or in static data, zero on all PEs before its first use; only these routines
 * may access it while it is in use. PEs get it in the order in which they asked. test_lock does not wait: it returns 0
 * if this PE now holds the lock, 1 if another holds it or waits for it. clear_lock first completes what was issued on
 * the default context. A PE must not set a lock that it holds, but several of its threads may compete for one. */
SHMEMI_DECLARE(void, set_lock, (long *lock))
SHMEMI_DECLARE(int, test_lock, (long *lock))
SHMEMI_DECLARE(void, clear_lock, (long *lock))

/* clang-format on */

#ifdef __cplusplus
}
#endif

#include <shmem_deprecated.h>

#endif

/* The names without a type. pshmem.h omits them: a tool defines functions of these names. */
#if !defined(SHMEMI_WITHOUT_GENERIC)
#if defined(__cplusplus) && __cplusplus >= 201103L && !defined(SHMEMX_NO_OVERLOADS)
#include <mapshmem/overloads.h>
#elif !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include <mapshmem/generic.h>
#endif
#endif
