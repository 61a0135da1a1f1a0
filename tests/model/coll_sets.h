/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives over active sets, as rows of the table of coll_calls.c, whose functions of elements they use.
 */
#ifndef MODEL_COLL_SETS_H
#define MODEL_COLL_SETS_H

#include "coll_calls.h"

/* clang-format off */
#define SET_PARAMETERS(c) (c)->start, (c)->log_stride, (c)->size
#define SET_MOVES(BITS, BYTES)                                                                                         \
    static int set_##BITS(const struct coll_call *c)                                                                   \
    {                                                                                                                  \
        switch (c->coll) {                                                                                             \
        case BROADCAST: shmem_broadcast##BITS(c->dest, c->source, c->nelems, c->root, SET_PARAMETERS(c), c->sync); return 0; \
        case COLLECT: shmem_collect##BITS(c->dest, c->source, c->nelems, SET_PARAMETERS(c), c->sync); return 0;        \
        case FCOLLECT: shmem_fcollect##BITS(c->dest, c->source, c->nelems, SET_PARAMETERS(c), c->sync); return 0;      \
        case ALLTOALL: shmem_alltoall##BITS(c->dest, c->source, c->nelems, SET_PARAMETERS(c), c->sync); return 0;      \
        case ALLTOALLS:                                                                                                \
            shmem_alltoalls##BITS(c->dest, c->source, c->dst, c->sst, c->nelems, SET_PARAMETERS(c), c->sync);          \
            return 0;                                                                                                  \
        default: shmem_sync(SET_PARAMETERS(c), c->sync); return 0;                                                     \
        }                                                                                                              \
    }
SET_MOVES(32, 4)
SET_MOVES(64, 8)

#define SET_OP(NAME, TYPE, OP, op)                                                                                     \
    static int set_##NAME##_##op(const struct coll_call *c)                                                            \
    {                                                                                                                  \
        static TYPE work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];                                                               \
        shmem_##NAME##_##op##_to_all(c->dest, c->source, (int)c->nelems, SET_PARAMETERS(c), work, c->sync);            \
        return 0;                                                                                                      \
    }
#define SET_BITS(NAME, TYPE, ...) SET_OP(NAME, TYPE, OP_AND, and) SET_OP(NAME, TYPE, OP_OR, or) SET_OP(NAME, TYPE, OP_XOR, xor)
#define SET_ORDER(NAME, TYPE, ...) SET_OP(NAME, TYPE, OP_MAX, max) SET_OP(NAME, TYPE, OP_MIN, min)
#define SET_ARITHMETIC(NAME, TYPE, ...) SET_OP(NAME, TYPE, OP_SUM, sum) SET_OP(NAME, TYPE, OP_PROD, prod)
SHMEMI_FOR_SET_BITS_TYPES(SET_BITS, )
SHMEMI_FOR_SET_ORDER_TYPES(SET_ORDER, )
SHMEMI_FOR_SET_ARITHMETIC_TYPES(SET_ARITHMETIC, )

#define SET_CASE(c, NAME, OP, op) case OP: return set_##NAME##_##op(c);
#define SET_BITS_CALL(NAME, TYPE, ...)                                                                                 \
    static int set_bits_##NAME(const struct coll_call *c)                                                              \
    {                                                                                                                  \
        switch (c->op) {                                                                                               \
        SET_CASE(c, NAME, OP_AND, and) SET_CASE(c, NAME, OP_OR, or) SET_CASE(c, NAME, OP_XOR, xor)                     \
        default: return -1;                                                                                            \
        }                                                                                                              \
    }
#define SET_ORDER_CALL(NAME, TYPE, ...)                                                                                \
    static int set_order_##NAME(const struct coll_call *c)                                                             \
    {                                                                                                                  \
        return c->op == OP_MAX ? set_##NAME##_max(c) : set_##NAME##_min(c);                                            \
    }
#define SET_ARITHMETIC_CALL(NAME, TYPE, ...)                                                                           \
    static int set_arithmetic_##NAME(const struct coll_call *c)                                                        \
    {                                                                                                                  \
        return c->op == OP_SUM ? set_##NAME##_sum(c) : set_##NAME##_prod(c);                                           \
    }
SHMEMI_FOR_SET_BITS_TYPES(SET_BITS_CALL, )
SHMEMI_FOR_SET_ORDER_TYPES(SET_ORDER_CALL, )
SHMEMI_FOR_SET_ARITHMETIC_TYPES(SET_ARITHMETIC_CALL, )

#define SET_ROW(NAME, TYPE, HAS, PREFIX)                                                                               \
    {#NAME " set", sizeof(TYPE), VALUE_BYTES(TYPE), .is_set = true, .HAS = true, .call = set_##PREFIX##_##NAME,        \
     .value = value_##NAME, .combine = combine_##PREFIX##_##NAME},
#define SET_BITS_ROW(NAME, TYPE, ...)                                                                                  \
    {#NAME " set", sizeof(TYPE), VALUE_BYTES(TYPE), .is_set = true, .has_bits = true, .call = set_bits_##NAME,         \
     .value = value_##NAME, .combine = combine_set_bits_##NAME},
#define COLL_SET_ROWS                                                                                                  \
    {.name = "32 set", .size = 4, .value_bytes = 4, .moves = true, .is_set = true, .call = set_32},                    \
    {.name = "64 set", .size = 8, .value_bytes = 8, .moves = true, .is_set = true, .call = set_64},                    \
    SHMEMI_FOR_SET_BITS_TYPES(SET_BITS_ROW, ) SHMEMI_FOR_SET_ORDER_TYPES(SET_ROW, has_order, order)                    \
    SHMEMI_FOR_SET_ARITHMETIC_TYPES(SET_ROW, has_arithmetic, arithmetic)

/* The types of active sets have bits that those of teams do not. */
#define SET_COMBINE_BITS(NAME, TYPE, ...)                                                                              \
    static void combine_set_bits_##NAME(enum coll_op op, void *acc, const void *x)                                     \
    {                                                                                                                  \
        TYPE *a = acc;                                                                                                 \
        const TYPE b = *(const TYPE *)x;                                                                               \
        *a = (TYPE)(op == OP_AND ? *a & b : op == OP_OR ? *a | b : *a ^ b);                                            \
    }
SHMEMI_FOR_SET_BITS_TYPES(SET_COMBINE_BITS, )
/* clang-format on */

#endif
