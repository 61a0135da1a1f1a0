/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The typed families of NVSHMEM's names: for which TYPENAMEs each of them exists, on the host, on streams and in kernels.
 *
 * X(TYPENAME, TYPE, ...): what follows the list's name goes through. The two types of 16 bits are those of CUDA's headers
 * cuda_fp16.h and cuda_bf16.h, which are included before; without them (NVSHMEMI_NO_CUDA_TYPES) their families are missing.
 */
#ifndef MAPSHMEM_NVSHMEM_TYPE_LISTS_H
#define MAPSHMEM_NVSHMEM_TYPE_LISTS_H

#if defined(NVSHMEMI_NO_CUDA_TYPES)
#define NVSHMEMI_FOR_CUDA_TYPES(X, ...)
#else
#define NVSHMEMI_FOR_CUDA_TYPES(X, ...)                                                                                \
    X(half, half, __VA_ARGS__)                                                                                         \
    X(bfloat16, __nv_bfloat16, __VA_ARGS__)
#endif

#define NVSHMEMI_FOR_UNSIGNED_TYPES(X, ...)                                                                            \
    X(uint, unsigned int, __VA_ARGS__)                                                                                 \
    X(ulong, unsigned long, __VA_ARGS__)                                                                               \
    X(ulonglong, unsigned long long, __VA_ARGS__)                                                                      \
    X(uint32, uint32_t, __VA_ARGS__)                                                                                   \
    X(uint64, uint64_t, __VA_ARGS__)
#define NVSHMEMI_FOR_SIGNED_TYPES(X, ...)                                                                              \
    X(int, int, __VA_ARGS__)                                                                                           \
    X(long, long, __VA_ARGS__)                                                                                         \
    X(longlong, long long, __VA_ARGS__)                                                                                \
    X(ptrdiff, ptrdiff_t, __VA_ARGS__)
#define NVSHMEMI_FOR_FIXED_SIGNED_TYPES(X, ...)                                                                        \
    X(int32, int32_t, __VA_ARGS__)                                                                                     \
    X(int64, int64_t, __VA_ARGS__)

/* Atomic and, or, xor and their fetching forms. */
#define NVSHMEMI_FOR_BITWISE_AMO_TYPES(X, ...)                                                                         \
    NVSHMEMI_FOR_UNSIGNED_TYPES(X, __VA_ARGS__)                                                                        \
    NVSHMEMI_FOR_FIXED_SIGNED_TYPES(X, __VA_ARGS__)
/* Atomic inc, fetch_inc, add, fetch_add, compare_swap. */
#define NVSHMEMI_FOR_AMO_TYPES(X, ...)                                                                                 \
    NVSHMEMI_FOR_BITWISE_AMO_TYPES(X, __VA_ARGS__)                                                                     \
    NVSHMEMI_FOR_SIGNED_TYPES(X, __VA_ARGS__)                                                                          \
    X(size, size_t, __VA_ARGS__)
#define NVSHMEMI_FOR_REAL_TYPES(X, ...)                                                                                \
    X(float, float, __VA_ARGS__)                                                                                       \
    X(double, double, __VA_ARGS__)
/* Atomic fetch, set, swap. */
#define NVSHMEMI_FOR_EXTENDED_AMO_TYPES(X, ...)                                                                        \
    NVSHMEMI_FOR_AMO_TYPES(X, __VA_ARGS__)                                                                             \
    NVSHMEMI_FOR_REAL_TYPES(X, __VA_ARGS__)

/* Waits and tests. */
#define NVSHMEMI_FOR_WAIT_TYPES(X, ...)                                                                                \
    NVSHMEMI_FOR_AMO_TYPES(X, __VA_ARGS__)                                                                             \
    X(short, short, __VA_ARGS__)                                                                                       \
    X(ushort, unsigned short, __VA_ARGS__)

/* Reductions with and, or, xor. */
#define NVSHMEMI_FOR_BITWISE_REDUCE_TYPES(X, ...)                                                                      \
    NVSHMEMI_FOR_UNSIGNED_TYPES(X, __VA_ARGS__)                                                                        \
    NVSHMEMI_FOR_FIXED_SIGNED_TYPES(X, __VA_ARGS__)                                                                    \
    X(uchar, unsigned char, __VA_ARGS__)                                                                               \
    X(ushort, unsigned short, __VA_ARGS__)                                                                             \
    X(int8, int8_t, __VA_ARGS__)                                                                                       \
    X(int16, int16_t, __VA_ARGS__)                                                                                     \
    X(uint8, uint8_t, __VA_ARGS__)                                                                                     \
    X(uint16, uint16_t, __VA_ARGS__)                                                                                   \
    X(size, size_t, __VA_ARGS__)
/* Reductions with min, max, sum, prod. */
#define NVSHMEMI_FOR_REDUCE_TYPES(X, ...)                                                                              \
    NVSHMEMI_FOR_BITWISE_REDUCE_TYPES(X, __VA_ARGS__)                                                                  \
    NVSHMEMI_FOR_REAL_TYPES(X, __VA_ARGS__)                                                                            \
    NVSHMEMI_FOR_CUDA_TYPES(X, __VA_ARGS__)                                                                            \
    X(char, char, __VA_ARGS__)                                                                                         \
    X(schar, signed char, __VA_ARGS__)                                                                                 \
    X(short, short, __VA_ARGS__)                                                                                       \
    X(int, int, __VA_ARGS__)                                                                                           \
    X(long, long, __VA_ARGS__)                                                                                         \
    X(longlong, long long, __VA_ARGS__)

/* All reductions: X(TYPENAME, TYPE, OP, ...) */
#define NVSHMEMI_FOR_REDUCTIONS(X, ...)                                                                                \
    NVSHMEMI_FOR_REDUCE_TYPES(X, sum, __VA_ARGS__)                                                                     \
    NVSHMEMI_FOR_REDUCE_TYPES(X, prod, __VA_ARGS__)                                                                    \
    NVSHMEMI_FOR_REDUCE_TYPES(X, min, __VA_ARGS__)                                                                     \
    NVSHMEMI_FOR_REDUCE_TYPES(X, max, __VA_ARGS__)                                                                     \
    NVSHMEMI_FOR_BITWISE_REDUCE_TYPES(X, and, __VA_ARGS__)                                                             \
    NVSHMEMI_FOR_BITWISE_REDUCE_TYPES(X, or, __VA_ARGS__)                                                              \
    NVSHMEMI_FOR_BITWISE_REDUCE_TYPES(X, xor, __VA_ARGS__)

/* p, g, put, get and their kin, put_signal, broadcast, fcollect, alltoall. */
#define NVSHMEMI_FOR_RMA_TYPES(X, ...)                                                                                 \
    NVSHMEMI_FOR_REDUCE_TYPES(X, __VA_ARGS__)                                                                          \
    X(ptrdiff, ptrdiff_t, __VA_ARGS__)

/* put8, get128 and so on: X(BITS, BYTES, ...) */
#define NVSHMEMI_FOR_SIZES(X, ...)                                                                                     \
    X(8, 1, __VA_ARGS__)                                                                                               \
    X(16, 2, __VA_ARGS__)                                                                                              \
    X(32, 4, __VA_ARGS__)                                                                                              \
    X(64, 8, __VA_ARGS__)                                                                                              \
    X(128, 16, __VA_ARGS__)

#endif
