/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Constants and types of the NVSHMEM interface on MapSHMEM. Included by nvshmem.h; not for direct use. Only the names are
 * NVSHMEM's: values and layouts are MapSHMEM's own, so programs have to be compiled with these headers.
 */
#ifndef MAPSHMEM_NVSHMEM_TYPES_H
#define MAPSHMEM_NVSHMEM_TYPES_H

#include <assert.h> /* programs rely on it: NVSHMEM includes it, too */
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

/* Programs take what these declare from nvshmem.h, and NVSHMEM's perftests the macro. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NVSHMEMI_ERROR_PRINT(...)                                                                                      \
    do {                                                                                                               \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                                \
        fprintf(stderr, __VA_ARGS__);                                                                                  \
        fprintf(stderr, "\n");                                                                                         \
    } while (0)

/* CUDA's own types, where its headers are; without them, host code can still name a stream or a module. NVRTC has them
 * built in. */
#ifdef __has_include
#if __has_include(<cuda_runtime.h>) && __has_include(<cuda.h>) && !defined(NVSHMEMI_WITHOUT_CUDA)
#define NVSHMEMI_HAS_CUDA 1
#include <cuda.h>
#include <cuda_runtime.h>
#ifdef __cplusplus
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif
#endif
#endif
#if !defined(NVSHMEMI_HAS_CUDA) || !defined(__cplusplus)
#define NVSHMEMI_NO_CUDA_TYPES 1
#endif
#ifndef NVSHMEMI_HAS_CUDA
typedef struct CUstream_st *cudaStream_t;
typedef struct CUmod_st *CUmodule;
typedef struct CUlib_st *CUlibrary;
#endif

/* SHMEM_THREAD_* have these numbers. */
typedef enum {
    NVSHMEM_THREAD_SINGLE = 0,
    NVSHMEM_THREAD_FUNNELED = 1,
    NVSHMEM_THREAD_SERIALIZED = 2,
    NVSHMEM_THREAD_MULTIPLE = 3
} nvshmemx_thread_support_t;

/* What calls with a status return. */
enum nvshmemx_status {
    NVSHMEMX_SUCCESS = 0,
    NVSHMEMX_ERROR_INVALID_VALUE,
    NVSHMEMX_ERROR_OUT_OF_MEMORY,
    NVSHMEMX_ERROR_NOT_SUPPORTED,
    NVSHMEMX_ERROR_SYMMETRY,
    NVSHMEMX_ERROR_GPU_NOT_SELECTED,
    NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED,
    NVSHMEMX_ERROR_INTERNAL
};

/* What nvshmemx_init_status returns. MPG is several PEs on this PE's GPU: LIMITED if their kernels take turns, so that none
 * may wait for another PE (shmemx_kernels_may_wait); FULL if they run at the same time. */
typedef enum {
    NVSHMEM_STATUS_NOT_INITIALIZED = 0,
    NVSHMEM_STATUS_IS_BOOTSTRAPPED,
    NVSHMEM_STATUS_IS_INITIALIZED,
    NVSHMEM_STATUS_LIMITED_MPG,
    NVSHMEM_STATUS_FULL_MPG
} nvshmemx_init_status_t;

typedef struct {
    int version;
    int num_contexts;
} nvshmem_team_config_t;
#define NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS 1
#define NVSHMEM_TEAM_CONFIG_INITIALIZER                                                                                \
    {                                                                                                                  \
        1, 0                                                                                                           \
    }

/* ---- How the library is started --------------------------------------------------------------------------------- */

enum { /* bits of the flags of nvshmemx_init_attr */
       NVSHMEMX_INIT_THREAD_PES = 1,
       NVSHMEMX_INIT_WITH_MPI_COMM = 2,
       NVSHMEMX_INIT_WITH_SHMEM = 4,
       NVSHMEMX_INIT_WITH_UNIQUEID = 8
};

/* Bytes for sending only. They are a secret: whoever has them can become a PE. */
typedef struct {
    char internal[128];
} nvshmemx_uniqueid_t;
#define NVSHMEMX_UNIQUEID_INITIALIZER                                                                                  \
    {                                                                                                                  \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }

typedef struct {
    int version;
    nvshmemx_uniqueid_t *id; /* valid until the start */
    int myrank, nranks;
} nvshmemx_uniqueid_args_t;
#define NVSHMEMX_UNIQUEID_ARGS_INITIALIZER                                                                             \
    {                                                                                                                  \
        1, NULL, -1, -1                                                                                                \
    }

typedef struct {
    int version;
    nvshmemx_uniqueid_args_t uid_args;
} nvshmemx_init_args_t;
#define NVSHMEMX_INIT_ARGS_INITIALIZER                                                                                 \
    {                                                                                                                  \
        1, NVSHMEMX_UNIQUEID_ARGS_INITIALIZER                                                                          \
    }

typedef struct {
    int version;
    void *mpi_comm; /* MPI_Comm * */
    nvshmemx_init_args_t args;
} nvshmemx_init_attr_t;
#define NVSHMEMX_INIT_ATTR_INITIALIZER                                                                                 \
    {                                                                                                                  \
        1, NULL, NVSHMEMX_INIT_ARGS_INITIALIZER                                                                        \
    }

#endif
