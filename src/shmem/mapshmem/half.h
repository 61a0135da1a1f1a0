/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of 16 bits: half (binary16 of IEEE 754) and bfloat16. Included by shmemx.h; not for direct use.
 *
 * C has no portable types for them, so they are stored as uint16_t, and only their bits matter. In CUDA files that
 * include cuda_fp16.h or cuda_bf16.h before, the routines take __half * and __nv_bfloat16 *, too.
 *
 *     void shmemx_half_{put,get}[_nbi](shmemx_half_t *dest, const shmemx_half_t *source, size_t nelems, int pe);
 *     int shmemx_half_{sum,min,max}_reduce(shmem_team_t team, shmemx_half_t *dest, const shmemx_half_t *source,
 *                                          size_t nreduce);
 *     int shmemx_half_{sum,min,max}_reduce_on_stream(..., shmemx_stream_t stream); and so on_queue
 *
 * and the same with bfloat16. They are the routines of shmem.h and stream_collectives.h for these types. A sum is kept in
 * single precision until all PEs' contributions are added, and then rounded once, to nearest, ties to even. All PEs get
 * the same bits. Where a number is compared with a NaN, min and max give the second of the two.
 *
 * Source: NVSHMEM's half and bfloat16 types. */
#ifndef SHMEMI_HALF_TYPES_H
#define SHMEMI_HALF_TYPES_H

typedef uint16_t shmemx_half_t;
typedef uint16_t shmemx_bfloat16_t;

/* X(TYPENAME, TYPE, KIND, ...) */
#define SHMEMI_FOR_HALF_TYPES(X, ...)                                                                                  \
    X(half, shmemx_half_t, F16, __VA_ARGS__)                                                                           \
    X(bfloat16, shmemx_bfloat16_t, BF16, __VA_ARGS__)

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
#define SHMEMI_DECLARE_HALF_REDUCE(NAME, TYPE, KIND, OP)                                                               \
    int shmemx_##NAME##_##OP##_reduce(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce);              \
    SHMEMI_DECLARE_ON(NAME##_##OP##_reduce, shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)
#define SHMEMI_DECLARE_HALF_TRANSFER(NAME, TYPE, KIND, VERB)                                                           \
    void shmemx_##NAME##_##VERB(TYPE *dest, const TYPE *source, size_t nelems, int pe);
SHMEMI_FOR_HALF_TYPES(SHMEMI_DECLARE_HALF_REDUCE, sum)
SHMEMI_FOR_HALF_TYPES(SHMEMI_DECLARE_HALF_REDUCE, min)
SHMEMI_FOR_HALF_TYPES(SHMEMI_DECLARE_HALF_REDUCE, max)
SHMEMI_FOR_HALF_TYPES(SHMEMI_DECLARE_HALF_TRANSFER, put)
SHMEMI_FOR_HALF_TYPES(SHMEMI_DECLARE_HALF_TRANSFER, get)
SHMEMI_FOR_HALF_TYPES(SHMEMI_DECLARE_HALF_TRANSFER, put_nbi)
SHMEMI_FOR_HALF_TYPES(SHMEMI_DECLARE_HALF_TRANSFER, get_nbi)

#ifdef __cplusplus
}

/* For CUDA's own types. */
#define SHMEMI_OVERLOAD_HALF_REDUCE(NAME, CUDA, OP)                                                                    \
    inline int shmemx_##NAME##_##OP##_reduce(shmem_team_t team, CUDA *dest, const CUDA *source, size_t nreduce)        \
    { return shmemx_##NAME##_##OP##_reduce(team, (uint16_t *)dest, (const uint16_t *)source, nreduce); }               \
    inline int shmemx_##NAME##_##OP##_reduce_on_stream(shmem_team_t team, CUDA *dest, const CUDA *source,              \
                                                       size_t nreduce, shmemx_stream_t stream)                         \
    { return shmemx_##NAME##_##OP##_reduce_on_stream(team, (uint16_t *)dest, (const uint16_t *)source, nreduce,        \
                                                     stream); }
#define SHMEMI_OVERLOAD_HALF_TRANSFER(NAME, CUDA, VERB)                                                                \
    inline void shmemx_##NAME##_##VERB(CUDA *dest, const CUDA *source, size_t nelems, int pe)                          \
    { shmemx_##NAME##_##VERB((uint16_t *)dest, (const uint16_t *)source, nelems, pe); }
#define SHMEMI_OVERLOAD_HALF(NAME, CUDA)                                                                               \
    SHMEMI_OVERLOAD_HALF_REDUCE(NAME, CUDA, sum)                                                                       \
    SHMEMI_OVERLOAD_HALF_REDUCE(NAME, CUDA, min)                                                                       \
    SHMEMI_OVERLOAD_HALF_REDUCE(NAME, CUDA, max)                                                                       \
    SHMEMI_OVERLOAD_HALF_TRANSFER(NAME, CUDA, put)                                                                     \
    SHMEMI_OVERLOAD_HALF_TRANSFER(NAME, CUDA, get)                                                                     \
    SHMEMI_OVERLOAD_HALF_TRANSFER(NAME, CUDA, put_nbi)                                                                 \
    SHMEMI_OVERLOAD_HALF_TRANSFER(NAME, CUDA, get_nbi)
#ifdef __CUDA_FP16_TYPES_EXIST__
SHMEMI_OVERLOAD_HALF(half, __half)
#endif
#ifdef __CUDA_BF16_TYPES_EXIST__
SHMEMI_OVERLOAD_HALF(bfloat16, __nv_bfloat16)
#endif
#endif
/* clang-format on */

#endif
