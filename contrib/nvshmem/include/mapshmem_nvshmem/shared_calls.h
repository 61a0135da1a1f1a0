/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The calls that hosts and kernels have under one name. On the host they are functions of libnvshmem_host; in kernels they
 * are inline (kernel_calls.h), for one thread. What only kernels have is in kernel_calls.h, what only hosts have in the
 * headers that include this one.
 *
 * nvcc does not let a host function and a kernel's function share a name, but it lets a declaration for both be followed,
 * in its pass for the GPU, by the definition for kernels. Its pass for the host sees the declaration alone. clang tells the
 * two apart by what they run on.
 */
#ifndef MAPSHMEM_NVSHMEM_SHARED_CALLS_H
#define MAPSHMEM_NVSHMEM_SHARED_CALLS_H

#include <mapshmem_nvshmem/type_lists.h>

#if defined(__CUDACC_RTC__)
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
#else
#include <stddef.h>
#include <stdint.h>
#endif

#if !defined(NVSHMEMI_NO_CUDA_TYPES)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#if defined(__NVCC__) || defined(__CUDACC_RTC__)
#define NVSHMEMI_SHARED __host__ __device__
#else
#define NVSHMEMI_SHARED
#endif

/* Of OpenSHMEM, as NVSHMEM tells it. */
#define NVSHMEM_MAJOR_VERSION 1
#define NVSHMEM_MINOR_VERSION 3
#define NVSHMEM_MAX_NAME_LEN 256

/* The release of NVSHMEM whose interface this is, and what tells the two libraries apart. */
#define NVSHMEM_OF_MAPSHMEM 1
#define NVSHMEM_VENDOR_MAJOR_VERSION 3
#define NVSHMEM_VENDOR_MINOR_VERSION 4
#define NVSHMEM_VENDOR_PATCH_VERSION 5
#define NVSHMEM_VENDOR_VERSION                                                                                         \
    (NVSHMEM_VENDOR_MAJOR_VERSION * 10000 + NVSHMEM_VENDOR_MINOR_VERSION * 100 + NVSHMEM_VENDOR_PATCH_VERSION)
#define NVSHMEM_VENDOR_STRING "NVSHMEM interface of MapSHMEM"

typedef int32_t nvshmem_team_t; /* the index of the team in nvshmemi_mapshmem_state.teams */
enum {
    NVSHMEM_TEAM_INVALID = -1,
    NVSHMEM_TEAM_WORLD = 0,
    NVSHMEM_TEAM_SHARED = 1,
    NVSHMEMX_TEAM_NODE = 2,
    NVSHMEMX_TEAM_SAME_MYPE_NODE = 3,
    NVSHMEMI_TEAM_FIRST_SPLIT = 4 /* those of the program begin here */
};

enum { /* SHMEM_CMP_* have these numbers */
       NVSHMEM_CMP_EQ = 1,
       NVSHMEM_CMP_NE = 2,
       NVSHMEM_CMP_GT = 3,
       NVSHMEM_CMP_GE = 4,
       NVSHMEM_CMP_LT = 5,
       NVSHMEM_CMP_LE = 6
};

enum { NVSHMEM_SIGNAL_SET = 1, NVSHMEM_SIGNAL_ADD = 2 }; /* so have SHMEM_SIGNAL_* */

#ifdef __cplusplus
extern "C" {
#endif

NVSHMEMI_SHARED int nvshmem_my_pe(void);
NVSHMEMI_SHARED int nvshmem_n_pes(void);
NVSHMEMI_SHARED void nvshmem_info_get_version(int *major, int *minor);
NVSHMEMI_SHARED void nvshmem_info_get_name(char *name);
NVSHMEMI_SHARED void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch);

/* Where this PE's kernels read and write a PE's copy of a symmetric address; NULL if they do not reach it. */
NVSHMEMI_SHARED void *nvshmem_ptr(const void *ptr, int pe);

NVSHMEMI_SHARED int nvshmem_team_my_pe(nvshmem_team_t team);
NVSHMEMI_SHARED int nvshmem_team_n_pes(nvshmem_team_t team);
NVSHMEMI_SHARED int nvshmem_team_translate_pe(nvshmem_team_t src_team, int src_pe, nvshmem_team_t dest_team);

NVSHMEMI_SHARED void nvshmem_quiet(void);
NVSHMEMI_SHARED void nvshmem_fence(void);
NVSHMEMI_SHARED uint64_t nvshmem_signal_fetch(uint64_t *sig_addr);
NVSHMEMI_SHARED void nvshmemx_signal_op(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);

/* ---- Put, get ---------------------------------------------------------------------------------------------------- */

#define NVSHMEMI_DECLARE(TYPENAME, TYPE, ...)                                                                          \
    NVSHMEMI_SHARED void nvshmem_##TYPENAME##_p(TYPE *dest, const TYPE value, int pe);                                 \
    NVSHMEMI_SHARED TYPE nvshmem_##TYPENAME##_g(const TYPE *source, int pe);                                           \
    NVSHMEMI_SHARED void nvshmem_##TYPENAME##_put(TYPE *dest, const TYPE *source, size_t nelems, int pe);              \
    NVSHMEMI_SHARED void nvshmem_##TYPENAME##_put_nbi(TYPE *dest, const TYPE *source, size_t nelems, int pe);          \
    NVSHMEMI_SHARED void nvshmem_##TYPENAME##_get(TYPE *dest, const TYPE *source, size_t nelems, int pe);              \
    NVSHMEMI_SHARED void nvshmem_##TYPENAME##_get_nbi(TYPE *dest, const TYPE *source, size_t nelems, int pe);          \
    NVSHMEMI_SHARED void nvshmem_##TYPENAME##_iput(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst,       \
                                                   size_t nelems, int pe);                                             \
    NVSHMEMI_SHARED void nvshmem_##TYPENAME##_iget(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst,       \
                                                   size_t nelems, int pe);
NVSHMEMI_FOR_RMA_TYPES(NVSHMEMI_DECLARE, )
#undef NVSHMEMI_DECLARE

/* nelems counts elements of so many bits. */
#define NVSHMEMI_DECLARE(BITS, ...)                                                                                    \
    NVSHMEMI_SHARED void nvshmem_put##BITS(void *dest, const void *source, size_t nelems, int pe);                     \
    NVSHMEMI_SHARED void nvshmem_put##BITS##_nbi(void *dest, const void *source, size_t nelems, int pe);               \
    NVSHMEMI_SHARED void nvshmem_get##BITS(void *dest, const void *source, size_t nelems, int pe);                     \
    NVSHMEMI_SHARED void nvshmem_get##BITS##_nbi(void *dest, const void *source, size_t nelems, int pe);               \
    NVSHMEMI_SHARED void nvshmem_iput##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,              \
                                            size_t nelems, int pe);                                                    \
    NVSHMEMI_SHARED void nvshmem_iget##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,              \
                                            size_t nelems, int pe);
NVSHMEMI_FOR_SIZES(NVSHMEMI_DECLARE, )
#undef NVSHMEMI_DECLARE

NVSHMEMI_SHARED void nvshmem_putmem(void *dest, const void *source, size_t nbytes, int pe);
NVSHMEMI_SHARED void nvshmem_putmem_nbi(void *dest, const void *source, size_t nbytes, int pe);
NVSHMEMI_SHARED void nvshmem_getmem(void *dest, const void *source, size_t nbytes, int pe);
NVSHMEMI_SHARED void nvshmem_getmem_nbi(void *dest, const void *source, size_t nbytes, int pe);

/* ---- Atomic operations ------------------------------------------------------------------------------------------- */

#define NVSHMEMI_DECLARE(TYPENAME, TYPE, ...)                                                                          \
    NVSHMEMI_SHARED TYPE nvshmem_##TYPENAME##_atomic_fetch(const TYPE *source, int pe);                                \
    NVSHMEMI_SHARED void nvshmem_##TYPENAME##_atomic_set(TYPE *dest, TYPE value, int pe);                              \
    NVSHMEMI_SHARED TYPE nvshmem_##TYPENAME##_atomic_swap(TYPE *dest, TYPE value, int pe);
NVSHMEMI_FOR_EXTENDED_AMO_TYPES(NVSHMEMI_DECLARE, )
#undef NVSHMEMI_DECLARE

#define NVSHMEMI_DECLARE(TYPENAME, TYPE, ...)                                                                          \
    NVSHMEMI_SHARED void nvshmem_##TYPENAME##_atomic_inc(TYPE *dest, int pe);                                          \
    NVSHMEMI_SHARED TYPE nvshmem_##TYPENAME##_atomic_fetch_inc(TYPE *dest, int pe);                                    \
    NVSHMEMI_SHARED void nvshmem_##TYPENAME##_atomic_add(TYPE *dest, TYPE value, int pe);                              \
    NVSHMEMI_SHARED TYPE nvshmem_##TYPENAME##_atomic_fetch_add(TYPE *dest, TYPE value, int pe);                        \
    NVSHMEMI_SHARED TYPE nvshmem_##TYPENAME##_atomic_compare_swap(TYPE *dest, TYPE cond, TYPE value, int pe);
NVSHMEMI_FOR_AMO_TYPES(NVSHMEMI_DECLARE, )
#undef NVSHMEMI_DECLARE

#define NVSHMEMI_DECLARE(TYPENAME, TYPE, OP, ...)                                                                      \
    NVSHMEMI_SHARED void nvshmem_##TYPENAME##_atomic_##OP(TYPE *dest, TYPE value, int pe);                             \
    NVSHMEMI_SHARED TYPE nvshmem_##TYPENAME##_atomic_fetch_##OP(TYPE *dest, TYPE value, int pe);
NVSHMEMI_FOR_BITWISE_AMO_TYPES(NVSHMEMI_DECLARE, and, )
NVSHMEMI_FOR_BITWISE_AMO_TYPES(NVSHMEMI_DECLARE, or, )
NVSHMEMI_FOR_BITWISE_AMO_TYPES(NVSHMEMI_DECLARE, xor, )
#undef NVSHMEMI_DECLARE

/* ---- Collective operations: 0, or on the host another value for an error ------------------------------------------ */

NVSHMEMI_SHARED int nvshmem_barrier(nvshmem_team_t team);
NVSHMEMI_SHARED void nvshmem_barrier_all(void);
NVSHMEMI_SHARED int nvshmem_team_sync(nvshmem_team_t team);
NVSHMEMI_SHARED void nvshmem_sync_all(void);

NVSHMEMI_SHARED int nvshmem_broadcastmem(nvshmem_team_t team, void *dest, const void *source, size_t nbytes, int root);
NVSHMEMI_SHARED int nvshmem_fcollectmem(nvshmem_team_t team, void *dest, const void *source, size_t nbytes);
NVSHMEMI_SHARED int nvshmem_alltoallmem(nvshmem_team_t team, void *dest, const void *source, size_t nbytes);

#define NVSHMEMI_DECLARE(TYPENAME, TYPE, ...)                                                                          \
    NVSHMEMI_SHARED int nvshmem_##TYPENAME##_broadcast(nvshmem_team_t team, TYPE *dest, const TYPE *source,            \
                                                       size_t nelems, int root);                                       \
    NVSHMEMI_SHARED int nvshmem_##TYPENAME##_fcollect(nvshmem_team_t team, TYPE *dest, const TYPE *source,             \
                                                      size_t nelems);                                                  \
    NVSHMEMI_SHARED int nvshmem_##TYPENAME##_alltoall(nvshmem_team_t team, TYPE *dest, const TYPE *source,             \
                                                      size_t nelems);
NVSHMEMI_FOR_RMA_TYPES(NVSHMEMI_DECLARE, )
#undef NVSHMEMI_DECLARE

/* reducescatter: nreduce elements of the result for each member. */
#define NVSHMEMI_DECLARE(TYPENAME, TYPE, OP, ...)                                                                      \
    NVSHMEMI_SHARED int nvshmem_##TYPENAME##_##OP##_reduce(nvshmem_team_t team, TYPE *dest, const TYPE *source,        \
                                                           size_t nreduce);                                            \
    NVSHMEMI_SHARED int nvshmem_##TYPENAME##_##OP##_reducescatter(nvshmem_team_t team, TYPE *dest, const TYPE *source, \
                                                                  size_t nreduce);
NVSHMEMI_FOR_REDUCTIONS(NVSHMEMI_DECLARE, )
#undef NVSHMEMI_DECLARE

#ifdef __cplusplus
}
#endif

#endif
