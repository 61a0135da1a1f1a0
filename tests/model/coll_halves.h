/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reductions of 16-bit numbers, as rows of the table of coll_calls.c: sums of multiples of 1/64 that floats add
 * exactly, so that only the last rounding shows; minima and maxima of all numbers but -0, whose order with 0 is open, and
 * those of the largest exponent, since a NaN may win or lose.
 */
#ifndef MODEL_COLL_HALVES_H
#define MODEL_COLL_HALVES_H

#include "coll_calls.h"

#include "gpu/half_floats.h"

/* clang-format off */
#define HALF_ON(c, NAME, OP)                                                                                           \
    return !(c)->queue ? shmemx_##NAME##_##OP##_reduce((c)->team, (c)->dest, (c)->source, (c)->nelems)                 \
           : (c)->is_stream                                                                                            \
               ? shmemx_##NAME##_##OP##_reduce_on_stream((c)->team, (c)->dest, (c)->source, (c)->nelems, (c)->queue)   \
               : shmemx_##NAME##_##OP##_reduce_on_queue((c)->team, (c)->dest, (c)->source, (c)->nelems, (c)->queue, 0, \
                                                        NULL, NULL)
#define HALF_TYPE(NAME, TYPE, KIND, ...)                                                                               \
    static int halves_##NAME(const struct coll_call *c)                                                                \
    {                                                                                                                  \
        switch (c->op) {                                                                                               \
        case OP_SUM: HALF_ON(c, NAME, sum);                                                                            \
        case OP_MAX: HALF_ON(c, NAME, max);                                                                            \
        default: HALF_ON(c, NAME, min);                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    static float widen_##NAME(uint16_t number) { return shmemi_float_of_##NAME(number); }                              \
    static uint16_t narrow_##NAME(float number) { return shmemi_##NAME##_of_float(number); }
SHMEMI_FOR_HALF_TYPES(HALF_TYPE, )
/* clang-format on */

/* Up to 2^10 and 2^8 of 1/64: exact in the format, while their sums are not. */
static void summand_half(void *value, uint64_t number)
{
    *(uint16_t *)value = shmemi_half_of_float(((float)(number % 2048) - 1024) / 64);
}
static void summand_bfloat16(void *value, uint64_t number)
{
    *(uint16_t *)value = shmemi_bfloat16_of_float(((float)(number % 512) - 256) / 64);
}

static void any_number(void *value, uint64_t number, unsigned exponent)
{
    uint16_t bits = (uint16_t)number;
    if ((bits & exponent) == exponent)
        bits ^= (uint16_t)(exponent & (0u - exponent));
    *(uint16_t *)value = bits == 0x8000 ? 0 : bits;
}
static void any_half(void *value, uint64_t number)
{
    any_number(value, number, 0x7c00);
}
static void any_bfloat16(void *value, uint64_t number)
{
    any_number(value, number, 0x7f80);
}

static void combine_floats(enum coll_op op, void *acc, const void *x)
{
    float *a = acc;
    const float b = *(const float *)x;
    *a = op == OP_SUM ? *a + b : (op == OP_MAX) == (b > *a) ? b : *a;
}

#define HALF_ROW(NAME, HAS, VALUE)                                                                                     \
    {.name = #NAME,                                                                                                    \
     .size = 2,                                                                                                        \
     .value_bytes = 2,                                                                                                 \
     .HAS = true,                                                                                                      \
     .is_half = true,                                                                                                  \
     .call = halves_##NAME,                                                                                            \
     .value = VALUE##_##NAME,                                                                                          \
     .combine = combine_floats,                                                                                        \
     .widen = widen_##NAME,                                                                                            \
     .narrow = narrow_##NAME},
#define HALF_ROWS(NAME, TYPE, KIND, ...) HALF_ROW(NAME, has_order, any) HALF_ROW(NAME, has_arithmetic, summand)

#endif
