/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations and waits of every type.
 */
#include "word_calls.h"

const char *const amo_names[N_AMOS] = {"fetch",    "set",       "swap",      "compare_swap", "fetch_inc",
                                       "inc",      "fetch_add", "add",       "fetch_and",    "and",
                                       "fetch_or", "or",        "fetch_xor", "xor"};
const char *const wait_names[N_WAIT_FORMS] = {
    "", "_all", "_any", "_some", "_all_vector", "_any_vector", "_some_vector"};

/* clang-format off */
#define EITHER(c, NAME, ...) \
    do { if ((c)->ctx == SHMEM_CTX_INVALID) shmem_##NAME(__VA_ARGS__); else shmem_ctx_##NAME((c)->ctx, __VA_ARGS__); } while (0)
#define FETCH(c, NAME, ...)                                                                                            \
    do {                                                                                                               \
        if ((c)->is_nbi) EITHER(c, NAME##_nbi, fetch, __VA_ARGS__);                                                    \
        else *fetch = (c)->ctx == SHMEM_CTX_INVALID ? shmem_##NAME(__VA_ARGS__) : shmem_ctx_##NAME((c)->ctx, __VA_ARGS__); \
    } while (0)
#define ARGUMENTS(c, TYPE) \
    TYPE *const dest = (c)->dest, *const fetch = (c)->fetch; \
    TYPE value, cond; \
    memcpy(&value, &(c)->value, sizeof value); \
    memcpy(&cond, &(c)->cond, sizeof cond); \
    (void)cond; (void)value; (void)fetch;

#define EXTENDED(NAME, TYPE, ...)                                                                                      \
    static void extended_##NAME(const struct amo_call *c)                                                              \
    {                                                                                                                  \
        ARGUMENTS(c, TYPE)                                                                                             \
        switch (c->amo) {                                                                                              \
        case A_FETCH: FETCH(c, NAME##_atomic_fetch, dest, c->pe); break;                                               \
        case A_SET: EITHER(c, NAME##_atomic_set, dest, value, c->pe); break;                                           \
        default: FETCH(c, NAME##_atomic_swap, dest, value, c->pe);                                                     \
        }                                                                                                              \
    }
#define STANDARD(NAME, TYPE, ...)                                                                                      \
    static void standard_##NAME(const struct amo_call *c)                                                              \
    {                                                                                                                  \
        ARGUMENTS(c, TYPE)                                                                                             \
        switch (c->amo) {                                                                                              \
        case A_CSWAP: FETCH(c, NAME##_atomic_compare_swap, dest, cond, value, c->pe); break;                           \
        case A_FINC: FETCH(c, NAME##_atomic_fetch_inc, dest, c->pe); break;                                            \
        case A_INC: EITHER(c, NAME##_atomic_inc, dest, c->pe); break;                                                  \
        case A_FADD: FETCH(c, NAME##_atomic_fetch_add, dest, value, c->pe); break;                                     \
        case A_ADD: EITHER(c, NAME##_atomic_add, dest, value, c->pe); break;                                           \
        default: extended_##NAME(c);                                                                                   \
        }                                                                                                              \
    }
#define BITWISE(NAME, TYPE, ...)                                                                                       \
    static void bitwise_##NAME(const struct amo_call *c)                                                               \
    {                                                                                                                  \
        ARGUMENTS(c, TYPE)                                                                                             \
        switch (c->amo) {                                                                                              \
        case A_FAND: FETCH(c, NAME##_atomic_fetch_and, dest, value, c->pe); break;                                     \
        case A_AND: EITHER(c, NAME##_atomic_and, dest, value, c->pe); break;                                           \
        case A_FOR: FETCH(c, NAME##_atomic_fetch_or, dest, value, c->pe); break;                                       \
        case A_OR: EITHER(c, NAME##_atomic_or, dest, value, c->pe); break;                                             \
        case A_FXOR: FETCH(c, NAME##_atomic_fetch_xor, dest, value, c->pe); break;                                     \
        case A_XOR: EITHER(c, NAME##_atomic_xor, dest, value, c->pe); break;                                           \
        default: standard_##NAME(c);                                                                                   \
        }                                                                                                              \
    }
SHMEMI_FOR_XAMO_TYPES(EXTENDED, )
SHMEMI_FOR_AMO_TYPES(STANDARD, )
SHMEMI_FOR_BAMO_TYPES(BITWISE, )

#define WAIT(NAME, TYPE, ...)                                                                                          \
    static size_t wait_##NAME(const struct wait_call *c)                                                               \
    {                                                                                                                  \
        TYPE value, *const words = c->words;                                                                           \
        const TYPE *const values = c->values;                                                                          \
        memcpy(&value, &c->value, sizeof value);                                                                       \
        switch (c->form) {                                                                                             \
        case W_ONE:                                                                                                    \
            if (c->is_test) return (size_t)shmem_##NAME##_test(words, c->cmp, value);                                  \
            shmem_##NAME##_wait_until(words, c->cmp, value);                                                           \
            return 1;                                                                                                  \
        case W_ALL:                                                                                                    \
            if (c->is_test) return (size_t)shmem_##NAME##_test_all(words, c->n, c->status, c->cmp, value);             \
            shmem_##NAME##_wait_until_all(words, c->n, c->status, c->cmp, value);                                      \
            return 1;                                                                                                  \
        case W_ANY:                                                                                                    \
            return c->is_test ? shmem_##NAME##_test_any(words, c->n, c->status, c->cmp, value)                         \
                              : shmem_##NAME##_wait_until_any(words, c->n, c->status, c->cmp, value);                  \
        case W_SOME:                                                                                                   \
            return c->is_test ? shmem_##NAME##_test_some(words, c->n, c->indices, c->status, c->cmp, value)            \
                              : shmem_##NAME##_wait_until_some(words, c->n, c->indices, c->status, c->cmp, value);     \
        case W_ALL_VECTOR:                                                                                             \
            if (c->is_test) return (size_t)shmem_##NAME##_test_all_vector(words, c->n, c->status, c->cmp, values);     \
            shmem_##NAME##_wait_until_all_vector(words, c->n, c->status, c->cmp, values);                              \
            return 1;                                                                                                  \
        case W_ANY_VECTOR:                                                                                             \
            return c->is_test ? shmem_##NAME##_test_any_vector(words, c->n, c->status, c->cmp, values)                 \
                              : shmem_##NAME##_wait_until_any_vector(words, c->n, c->status, c->cmp, values);          \
        default:                                                                                                       \
            return c->is_test ? shmem_##NAME##_test_some_vector(words, c->n, c->indices, c->status, c->cmp, values)    \
                              : shmem_##NAME##_wait_until_some_vector(words, c->n, c->indices, c->status, c->cmp, values); \
        }                                                                                                              \
    }
SHMEMI_FOR_AMO_TYPES(WAIT, )

#define IS_SIGNED(TYPE) ((TYPE)-1 < (TYPE)1)
#define BITWISE_ROW(NAME, TYPE, ...) {#NAME, sizeof(TYPE), IS_SIGNED(TYPE), true, true, bitwise_##NAME, wait_##NAME},
#define STANDARD_ROW(NAME, TYPE, ...) {#NAME, sizeof(TYPE), IS_SIGNED(TYPE), true, false, standard_##NAME, wait_##NAME},
/* clang-format on */

const struct word_type word_types[] = {{"float", sizeof(float), true, false, false, extended_float, NULL},
                                       {"double", sizeof(double), true, false, false, extended_double, NULL},
                                       STANDARD_ROW(int, int, ) STANDARD_ROW(long, long, )
                                           STANDARD_ROW(longlong, long long, ) STANDARD_ROW(size, size_t, )
                                               STANDARD_ROW(ptrdiff, ptrdiff_t, ) SHMEMI_FOR_BAMO_TYPES(BITWISE_ROW, )};
const int n_word_types = sizeof word_types / sizeof word_types[0];
