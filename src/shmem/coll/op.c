/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions that combine elements. Sums and products of signed integers are computed in the unsigned type of the
 * same size, which gives the same bits and wraps on overflow.
 */
#include "shmem/coll/op.h"

#include "gpu/half_floats.h"

#include <complex.h>

/* Vectorise these loops, whatever level the rest is compiled with. */
#pragma GCC optimize("O3")

/* clang-format off */

/* Each element of the result depends only on the elements of the same index, so into may be a or b. */
#define DEFINE(KIND, TYPE, OP, EXPRESSION)                                                                             \
    static void KIND##_##OP(void *into, const void *a, const void *b, size_t nelems)                                   \
    {                                                                                                                  \
        TYPE *result = into;                                                                                           \
        const TYPE *left = a, *right = b;                                                                              \
        _Pragma("GCC ivdep")                                                                                           \
        for (size_t i = 0; i < nelems; i++) {                                                                          \
            TYPE x = left[i], y = right[i];                                                                            \
            result[i] = (TYPE)(EXPRESSION);                                                                            \
        }                                                                                                              \
    }

#define DEFINE_BITS(KIND, TYPE)                                                                                        \
    DEFINE(KIND, TYPE, and, x & y)                                                                                     \
    DEFINE(KIND, TYPE, or, x | y)                                                                                      \
    DEFINE(KIND, TYPE, xor, x ^ y)
#define DEFINE_ORDER(KIND, TYPE)                                                                                       \
    DEFINE(KIND, TYPE, max, x > y ? x : y)                                                                             \
    DEFINE(KIND, TYPE, min, x < y ? x : y)
/* 1u: a product of unsigned shorts would otherwise be computed in int and might overflow. */
#define DEFINE_INTEGER_ARITHMETIC(KIND, TYPE)                                                                          \
    DEFINE(KIND, TYPE, sum, x + y)                                                                                     \
    DEFINE(KIND, TYPE, prod, 1u * x * y)
#define DEFINE_ARITHMETIC(KIND, TYPE)                                                                                  \
    DEFINE(KIND, TYPE, sum, x + y)                                                                                     \
    DEFINE(KIND, TYPE, prod, x * y)

#define DEFINE_UNSIGNED(KIND, TYPE)                                                                                    \
    DEFINE_BITS(KIND, TYPE)                                                                                            \
    DEFINE_ORDER(KIND, TYPE)                                                                                           \
    DEFINE_INTEGER_ARITHMETIC(KIND, TYPE)
#define DEFINE_REAL(KIND, TYPE)                                                                                        \
    DEFINE_ORDER(KIND, TYPE)                                                                                           \
    DEFINE_ARITHMETIC(KIND, TYPE)

DEFINE_ORDER(I8, int8_t)
DEFINE_ORDER(I16, int16_t)
DEFINE_ORDER(I32, int32_t)
DEFINE_ORDER(I64, int64_t)
DEFINE_UNSIGNED(U8, uint8_t)
DEFINE_UNSIGNED(U16, uint16_t)
DEFINE_UNSIGNED(U32, uint32_t)
DEFINE_UNSIGNED(U64, uint64_t)
DEFINE_REAL(F32, float)
DEFINE_REAL(F64, double)
DEFINE_REAL(F80, long double)
DEFINE_ARITHMETIC(C32, float complex)
DEFINE_ARITHMETIC(C64, double complex)

/* Numbers of 16 bits: each operation is that of floats, rounded. */
#define DEFINE_HALF(KIND, NAME)                                                                                        \
    static inline float KIND##_float(uint16_t x) { return shmemi_float_of_##NAME(x); }                                 \
    DEFINE(KIND, uint16_t, max, KIND##_float(x) > KIND##_float(y) ? x : y)                                             \
    DEFINE(KIND, uint16_t, min, KIND##_float(x) < KIND##_float(y) ? x : y)                                             \
    DEFINE(KIND, uint16_t, sum, shmemi_##NAME##_of_float(KIND##_float(x) + KIND##_float(y)))                           \
    static void KIND##_widen(float *into, const void *a, size_t nelems)                                                \
    {                                                                                                                  \
        const uint16_t *from = a;                                                                                      \
        for (size_t i = 0; i < nelems; i++)                                                                            \
            into[i] = KIND##_float(from[i]);                                                                           \
    }                                                                                                                  \
    static void KIND##_narrow(void *into, const float *a, size_t nelems)                                               \
    {                                                                                                                  \
        uint16_t *result = into;                                                                                       \
        for (size_t i = 0; i < nelems; i++)                                                                            \
            result[i] = shmemi_##NAME##_of_float(a[i]);                                                                \
    }
DEFINE_HALF(F16, half)
DEFINE_HALF(BF16, bfloat16)

#define ENTRY(FUNCTION, SIZE) {.combine = FUNCTION, .size = SIZE}
#define INTEGER_ROW(OP, SIGNED)                                                                                        \
    [SHMEMI_KIND_I8] = ENTRY(SIGNED##8_##OP, 1), [SHMEMI_KIND_I16] = ENTRY(SIGNED##16_##OP, 2),                        \
    [SHMEMI_KIND_I32] = ENTRY(SIGNED##32_##OP, 4), [SHMEMI_KIND_I64] = ENTRY(SIGNED##64_##OP, 8),                      \
    [SHMEMI_KIND_U8] = ENTRY(U8_##OP, 1), [SHMEMI_KIND_U16] = ENTRY(U16_##OP, 2),                                      \
    [SHMEMI_KIND_U32] = ENTRY(U32_##OP, 4), [SHMEMI_KIND_U64] = ENTRY(U64_##OP, 8),
#define REAL_ROW(OP)                                                                                                   \
    [SHMEMI_KIND_F32] = ENTRY(F32_##OP, sizeof(float)), [SHMEMI_KIND_F64] = ENTRY(F64_##OP, sizeof(double)),           \
    [SHMEMI_KIND_F80] = ENTRY(F80_##OP, sizeof(long double)),
#define COMPLEX_ROW(OP)                                                                                                \
    [SHMEMI_KIND_C32] = ENTRY(C32_##OP, sizeof(float complex)),                                                        \
    [SHMEMI_KIND_C64] = ENTRY(C64_##OP, sizeof(double complex)),
#define HALF_ROW(OP) [SHMEMI_KIND_F16] = ENTRY(F16_##OP, 2), [SHMEMI_KIND_BF16] = ENTRY(BF16_##OP, 2),
#define HALF_SUM(KIND)                                                                                                 \
    [SHMEMI_KIND_##KIND] = {.combine = KIND##_sum, .size = 2, .widen = KIND##_widen, .narrow = KIND##_narrow},

const struct shmemi_op shmemi_ops[SHMEMI_OPS][SHMEMI_KINDS] = {
    [SHMEMI_OP_and] = {INTEGER_ROW(and, U)},
    [SHMEMI_OP_or] = {INTEGER_ROW(or, U)},
    [SHMEMI_OP_xor] = {INTEGER_ROW(xor, U)},
    [SHMEMI_OP_max] = {INTEGER_ROW(max, I) REAL_ROW(max) HALF_ROW(max)},
    [SHMEMI_OP_min] = {INTEGER_ROW(min, I) REAL_ROW(min) HALF_ROW(min)},
    [SHMEMI_OP_sum] = {INTEGER_ROW(sum, U) REAL_ROW(sum) COMPLEX_ROW(sum) HALF_SUM(F16) HALF_SUM(BF16)},
    [SHMEMI_OP_prod] = {INTEGER_ROW(prod, U) REAL_ROW(prod) COMPLEX_ROW(prod)},
};
/* clang-format on */
