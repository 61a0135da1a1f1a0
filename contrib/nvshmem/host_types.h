/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The lists of types as the library needs them: it is C and has none of CUDA's types, so numbers of 16 bits, whose bits
 * alone matter to it, are uint16_t. Included before the headers that declare by these lists.
 */
#ifndef NVS_HOST_TYPES_H
#define NVS_HOST_TYPES_H

#include <shmemx.h>

#include <mapshmem_nvshmem/nvshmem_types.h>

#include <mapshmem_nvshmem/type_lists.h>

#undef NVSHMEMI_FOR_CUDA_TYPES
#define NVSHMEMI_FOR_CUDA_TYPES(X, ...)                                                                                \
    X(half, shmemx_half_t, __VA_ARGS__)                                                                                \
    X(bfloat16, shmemx_bfloat16_t, __VA_ARGS__)

/* MapSHMEM's reductions of these types are extensions. It has no products of them: nvs_no_product refuses those. */
#define shmem_half_sum_reduce shmemx_half_sum_reduce
#define shmem_half_min_reduce shmemx_half_min_reduce
#define shmem_half_max_reduce shmemx_half_max_reduce
#define shmem_half_prod_reduce nvs_no_product
#define shmem_bfloat16_sum_reduce shmemx_bfloat16_sum_reduce
#define shmem_bfloat16_min_reduce shmemx_bfloat16_min_reduce
#define shmem_bfloat16_max_reduce shmemx_bfloat16_max_reduce
#define shmem_bfloat16_prod_reduce nvs_no_product
#define shmemx_half_prod_reduce_on_stream nvs_no_product_on_stream
#define shmemx_bfloat16_prod_reduce_on_stream nvs_no_product_on_stream

#endif
