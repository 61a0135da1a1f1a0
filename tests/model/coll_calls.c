/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives of every type over teams, blocking and in queues or streams.
 */
#include "coll_calls.h"

#include "coll_halves.h"
#include "coll_sets.h"

const char *const coll_names[N_COLLS] = {"broadcast", "collect", "fcollect", "alltoall", "alltoalls",
                                         "reduce",    "inscan",  "exscan",   "sync"};
const char *const op_names[N_OPS] = {"and", "or", "xor", "max", "min", "sum", "prod"};

/* clang-format off */
#define ON(c, NAME, ...)                                                                                               \
    return !(c)->queue ? shmem_##NAME((c)->team, __VA_ARGS__)                                                          \
           : (c)->is_stream ? shmemx_##NAME##_on_stream((c)->team, __VA_ARGS__, (c)->queue)                            \
                            : shmemx_##NAME##_on_queue((c)->team, __VA_ARGS__, (c)->queue, 0, NULL, NULL)
#define MOVE_CASES(c, NAME, MEM)                                                                                       \
    case BROADCAST: ON(c, NAME##broadcast##MEM, (c)->dest, (c)->source, (c)->nelems, (c)->root);                       \
    case COLLECT: ON(c, NAME##collect##MEM, (c)->dest, (c)->source, (c)->nelems);                                      \
    case FCOLLECT: ON(c, NAME##fcollect##MEM, (c)->dest, (c)->source, (c)->nelems);                                    \
    case ALLTOALL: ON(c, NAME##alltoall##MEM, (c)->dest, (c)->source, (c)->nelems);                                    \
    case ALLTOALLS: ON(c, NAME##alltoalls##MEM, (c)->dest, (c)->source, (c)->dst, (c)->sst, (c)->nelems);
#define OP_CASE(c, NAME, OP, op) case OP: ON(c, NAME##_##op##_reduce, (c)->dest, (c)->source, (c)->nelems);

#define MOVE(NAME, TYPE, ...)                                                                                          \
    static int move_##NAME(const struct coll_call *c)                                                                  \
    {                                                                                                                  \
        switch (c->coll) {                                                                                             \
        MOVE_CASES(c, NAME##_, )                                                                                       \
        default: return -1;                                                                                            \
        }                                                                                                              \
    }
#define BITS(NAME, TYPE, ...)                                                                                          \
    static int bits_##NAME(const struct coll_call *c)                                                                  \
    {                                                                                                                  \
        switch (c->op) {                                                                                               \
        OP_CASE(c, NAME, OP_AND, and) OP_CASE(c, NAME, OP_OR, or) OP_CASE(c, NAME, OP_XOR, xor)                        \
        default: return -1;                                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    static void combine_bits_##NAME(enum coll_op op, void *acc, const void *x)                                         \
    {                                                                                                                  \
        TYPE *a = acc;                                                                                                 \
        const TYPE b = *(const TYPE *)x;                                                                               \
        *a = (TYPE)(op == OP_AND ? *a & b : op == OP_OR ? *a | b : *a ^ b);                                            \
    }
#define ORDER(NAME, TYPE, ...)                                                                                         \
    static int order_##NAME(const struct coll_call *c)                                                                 \
    {                                                                                                                  \
        switch (c->op) {                                                                                               \
        OP_CASE(c, NAME, OP_MAX, max) OP_CASE(c, NAME, OP_MIN, min)                                                    \
        default: return -1;                                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    static void combine_order_##NAME(enum coll_op op, void *acc, const void *x)                                        \
    {                                                                                                                  \
        TYPE *a = acc;                                                                                                 \
        const TYPE b = *(const TYPE *)x;                                                                               \
        *a = (op == OP_MAX) == (b > *a) ? b : *a;                                                                      \
    }
#define ARITHMETIC(NAME, TYPE, ...)                                                                                    \
    static int arithmetic_##NAME(const struct coll_call *c)                                                            \
    {                                                                                                                  \
        if (c->coll == INSCAN) { ON(c, NAME##_sum_inscan, c->dest, c->source, c->nelems); }                            \
        if (c->coll == EXSCAN) { ON(c, NAME##_sum_exscan, c->dest, c->source, c->nelems); }                            \
        switch (c->op) {                                                                                               \
        OP_CASE(c, NAME, OP_SUM, sum) OP_CASE(c, NAME, OP_PROD, prod)                                                  \
        default: return -1;                                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    static void combine_arithmetic_##NAME(enum coll_op op, void *acc, const void *x)                                   \
    {                                                                                                                  \
        TYPE *a = acc;                                                                                                 \
        const TYPE b = *(const TYPE *)x;                                                                               \
        *a = (TYPE)(op == OP_SUM ? *a + b : *a * b);                                                                   \
    }                                                                                                                  \
    static void value_##NAME(void *value, uint64_t number) { *(TYPE *)value = (TYPE)number; }
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(MOVE, )
SHMEMI_FOR_BITS_TYPES(BITS, )
SHMEMI_FOR_ORDER_TYPES(ORDER, )
SHMEMI_FOR_ARITHMETIC_TYPES(ARITHMETIC, )

static int move_mem(const struct coll_call *c)
{
    switch (c->coll) {
        MOVE_CASES(c, , mem)
    default:
        return -1;
    }
}

/* Over a team, which may be all that there is to it. */
static int sync_team(const struct coll_call *c)
{
    if (!c->queue)
        return shmem_team_sync(c->team);
    return c->is_stream ? shmemx_team_sync_on_stream(c->team, c->queue)
                        : shmemx_team_sync_on_queue(c->team, c->queue, 0, NULL, NULL);
}

#define VALUE_BYTES(TYPE) (sizeof(TYPE) == 16 && _Alignof(TYPE) == 16 ? 10 : sizeof(TYPE))
#define MOVE_ROW(NAME, TYPE, ...)                                                                                      \
    {.name = #NAME, .size = sizeof(TYPE), .value_bytes = sizeof(TYPE), .moves = true, .call = move_##NAME},
#define BITS_ROW(NAME, TYPE, ...)                                                                                      \
    {#NAME,                                                                                                            \
     sizeof(TYPE),                                                                                                     \
     VALUE_BYTES(TYPE),                                                                                                \
     .has_bits = true,                                                                                                 \
     .call = bits_##NAME,                                                                                              \
     .value = value_##NAME,                                                                                            \
     .combine = combine_bits_##NAME},
#define ORDER_ROW(NAME, TYPE, ...)                                                                                     \
    {#NAME,                                                                                                            \
     sizeof(TYPE),                                                                                                     \
     VALUE_BYTES(TYPE),                                                                                                \
     .has_order = true,                                                                                                \
     .call = order_##NAME,                                                                                             \
     .value = value_##NAME,                                                                                            \
     .combine = combine_order_##NAME},
#define ARITHMETIC_ROW(NAME, TYPE, ...)                                                                                \
    {#NAME,                                                                                                            \
     sizeof(TYPE),                                                                                                     \
     VALUE_BYTES(TYPE),                                                                                                \
     .has_arithmetic = true,                                                                                           \
     .call = arithmetic_##NAME,                                                                                        \
     .value = value_##NAME,                                                                                            \
     .combine = combine_arithmetic_##NAME},

const struct coll_type coll_types[] = {
    {.name = "", .size = 1, .value_bytes = 1, .call = sync_team},
    {.name = "mem", .size = 1, .value_bytes = 1, .moves = true, .call = move_mem},
    SHMEMI_FOR_RMA_TYPES(MOVE_ROW, ) SHMEMI_FOR_BITS_TYPES(BITS_ROW, ) SHMEMI_FOR_ORDER_TYPES(ORDER_ROW, )
        SHMEMI_FOR_ARITHMETIC_TYPES(ARITHMETIC_ROW, ) COLL_SET_ROWS SHMEMI_FOR_HALF_TYPES(HALF_ROWS, )};
const int n_coll_types = sizeof coll_types / sizeof coll_types[0];
