/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrappers of the atomic operations, with their deprecated names.
 */
#include "race/calls/wrapped_call.h"

#define BOTH(WRAP, ...)                                                                                                \
    WRAP(, , , SHMEM_CTX_DEFAULT, __VA_ARGS__)                                                                         \
    WRAP(ctx_, CTX_PARAMETER, CTX_PASSED, ctx, __VA_ARGS__)
#define CTX_PARAMETER shmem_ctx_t ctx,
#define CTX_PASSED ctx,

/* The arguments between dest and pe, NONE, VALUE or COND_VALUE: as parameters, and as they are passed on. */
#define PARAMETERS_NONE(TYPE)
#define PARAMETERS_VALUE(TYPE) TYPE value,
#define PARAMETERS_COND_VALUE(TYPE) TYPE cond, TYPE value,
#define PASS_NONE
#define PASS_VALUE value,
#define PASS_COND_VALUE cond, value,

/* 1.5 is 1 in types that have no fractions. */
#define IS_FLOATING(TYPE) ((TYPE)1.5 != (TYPE)1)
#define FLAGS(TYPE, WRITES) ((uint8_t)((IS_FLOATING(TYPE) ? RACE_FLOATING : 0) | ((WRITES) ? RACE_WRITE : 0)))

/* Without a result. */
#define WRAP_UPDATE(CTX_, PARAMETER, PASSED, CTX, NAME, TYPE, OPERANDS)                                                \
    RACE_WRAPPER void shmem_##CTX_##NAME(PARAMETER TYPE *dest, PARAMETERS_##OPERANDS(TYPE) int pe)                     \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #CTX_ #NAME, CTX);                                                                         \
        race_amo(&call, dest, sizeof *dest, IS_FLOATING(TYPE), pe);                                                    \
        pshmem_##CTX_##NAME(PASSED dest, PASS_##OPERANDS pe);                                                          \
        race_call_end(&call);                                                                                          \
    }

/* With one. */
#define WRAP_FETCH(CTX_, PARAMETER, PASSED, CTX, NAME, TYPE, DEST, WRITES, OPERANDS)                                   \
    RACE_WRAPPER TYPE shmem_##CTX_##NAME(PARAMETER DEST *dest, PARAMETERS_##OPERANDS(TYPE) int pe)                     \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #CTX_ #NAME, CTX);                                                                         \
        race_amo_fetch(&call, dest, sizeof *dest, FLAGS(TYPE, WRITES), pe);                                            \
        const TYPE result = pshmem_##CTX_##NAME(PASSED dest, PASS_##OPERANDS pe);                                      \
        race_amo_fetched(&call, dest, sizeof *dest, pe);                                                               \
        race_call_end(&call);                                                                                          \
        return result;                                                                                                 \
    }

#define WRAP_FETCH_NBI(CTX_, PARAMETER, PASSED, CTX, NAME, TYPE, DEST, WRITES, OPERANDS)                               \
    RACE_WRAPPER void shmem_##CTX_##NAME##_nbi(PARAMETER TYPE *fetch, DEST *dest, PARAMETERS_##OPERANDS(TYPE) int pe)  \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #CTX_ #NAME "_nbi", CTX);                                                                  \
        race_amo_nbi(&call, fetch, dest, sizeof *dest, FLAGS(TYPE, WRITES), pe);                                       \
        pshmem_##CTX_##NAME##_nbi(PASSED fetch, dest, PASS_##OPERANDS pe);                                             \
        race_call_end(&call);                                                                                          \
    }

#define WRAP_FETCHES(NAME, TYPE, DEST, WRITES, OPERANDS)                                                               \
    BOTH(WRAP_FETCH, NAME, TYPE, DEST, WRITES, OPERANDS)                                                               \
    BOTH(WRAP_FETCH_NBI, NAME, TYPE, DEST, WRITES, OPERANDS)

#define WRAP_XAMO(NAME, TYPE, ...)                                                                                     \
    WRAP_FETCHES(NAME##_atomic_fetch, TYPE, const TYPE, false, NONE)                                                   \
    WRAP_FETCHES(NAME##_atomic_swap, TYPE, TYPE, true, VALUE)                                                          \
    BOTH(WRAP_UPDATE, NAME##_atomic_set, TYPE, VALUE)

#define WRAP_AMO(NAME, TYPE, ...)                                                                                      \
    WRAP_FETCHES(NAME##_atomic_compare_swap, TYPE, TYPE, true, COND_VALUE)                                             \
    WRAP_FETCHES(NAME##_atomic_fetch_inc, TYPE, TYPE, true, NONE)                                                      \
    WRAP_FETCHES(NAME##_atomic_fetch_add, TYPE, TYPE, true, VALUE)                                                     \
    BOTH(WRAP_UPDATE, NAME##_atomic_inc, TYPE, NONE)                                                                   \
    BOTH(WRAP_UPDATE, NAME##_atomic_add, TYPE, VALUE)

#define WRAP_BITWISE(NAME, TYPE, OP)                                                                                   \
    WRAP_FETCHES(NAME##_atomic_fetch_##OP, TYPE, TYPE, true, VALUE)                                                    \
    BOTH(WRAP_UPDATE, NAME##_atomic_##OP, TYPE, VALUE)

SHMEMI_FOR_XAMO_TYPES(WRAP_XAMO, )
SHMEMI_FOR_AMO_TYPES(WRAP_AMO, )
SHMEMI_FOR_BAMO_TYPES(WRAP_BITWISE, and)
SHMEMI_FOR_BAMO_TYPES(WRAP_BITWISE, or)
SHMEMI_FOR_BAMO_TYPES(WRAP_BITWISE, xor)

#define WRAP_OLD_XAMO(NAME, TYPE, ...)                                                                                 \
    WRAP_FETCH(, , , SHMEM_CTX_DEFAULT, NAME##_fetch, TYPE, const TYPE, false, NONE)                                   \
    WRAP_FETCH(, , , SHMEM_CTX_DEFAULT, NAME##_swap, TYPE, TYPE, true, VALUE)                                          \
    WRAP_UPDATE(, , , SHMEM_CTX_DEFAULT, NAME##_set, TYPE, VALUE)
#define WRAP_OLD_AMO(NAME, TYPE, ...)                                                                                  \
    WRAP_FETCH(, , , SHMEM_CTX_DEFAULT, NAME##_cswap, TYPE, TYPE, true, COND_VALUE)                                    \
    WRAP_FETCH(, , , SHMEM_CTX_DEFAULT, NAME##_finc, TYPE, TYPE, true, NONE)                                           \
    WRAP_FETCH(, , , SHMEM_CTX_DEFAULT, NAME##_fadd, TYPE, TYPE, true, VALUE)                                          \
    WRAP_UPDATE(, , , SHMEM_CTX_DEFAULT, NAME##_inc, TYPE, NONE)                                                       \
    WRAP_UPDATE(, , , SHMEM_CTX_DEFAULT, NAME##_add, TYPE, VALUE)

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
SHMEMI_FOR_OLD_XAMO_TYPES(WRAP_OLD_XAMO, )
SHMEMI_FOR_OLD_AMO_TYPES(WRAP_OLD_AMO, )
WRAP_FETCH(, , , SHMEM_CTX_DEFAULT, swap, long, long, true, VALUE)
