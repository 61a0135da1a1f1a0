/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operations keep the names that they had before OpenSHMEM 1.4, as in the published program.
 */
#include "atomics_operations.h"
#include "shmem_flavour.h"

#include <stddef.h>

enum { BEFORE = ATOMICS_BEFORE, OPERAND = 5 };

/* clang-format off */
#if OSU_HAS_NBI_ATOMICS
#define DEFINE_NBI(NAME, TYPE, OPERATION, ROUTINE, ...)                                                                \
    static void NAME##_##OPERATION##_nbi(void *results, void *words, long count, int pe)                               \
    {                                                                                                                  \
        TYPE *result = results, *word = words;                                                                         \
        for (long i = 0; i < count; i++)                                                                               \
            shmem_##NAME##_atomic_##ROUTINE##_nbi(result + i, word + i, __VA_ARGS__);                                  \
    }
#else
#define DEFINE_NBI(NAME, TYPE, OPERATION, ROUTINE, ...) enum { NAME##_##OPERATION##_nbi };
#endif

#define DEFINE_FETCHING(NAME, TYPE, OPERATION, ROUTINE, ...)                                                           \
    static long long NAME##_##OPERATION(void *words, long count, int pe)                                               \
    {                                                                                                                  \
        long long sum = 0;                                                                                             \
        TYPE *word = words;                                                                                            \
        for (long i = 0; i < count; i++)                                                                               \
            sum += shmem_##NAME##_atomic_##ROUTINE(word + i, __VA_ARGS__);                                             \
        return sum;                                                                                                    \
    }                                                                                                                  \
    DEFINE_NBI(NAME, TYPE, OPERATION, ROUTINE, __VA_ARGS__)

#define DEFINE_POSTING(NAME, TYPE, OPERATION, ROUTINE, ...)                                                            \
    static long long NAME##_##OPERATION(void *words, long count, int pe)                                               \
    {                                                                                                                  \
        TYPE *word = words;                                                                                            \
        for (long i = 0; i < count; i++)                                                                               \
            shmem_##NAME##_atomic_##ROUTINE(word + i, __VA_ARGS__);                                                    \
        return 0;                                                                                                      \
    }

#define DEFINE_WORDS(NAME, TYPE)                                                                                       \
    static void NAME##_set_words(void *words, long count, long long value)                                             \
    {                                                                                                                  \
        TYPE *word = words;                                                                                            \
        for (long i = 0; i < count; i++)                                                                               \
            word[i] = (TYPE)value;                                                                                     \
    }

#define DEFINE_TYPE(NAME, TYPE)                                                                                        \
    DEFINE_WORDS(NAME, TYPE)                                                                                           \
    DEFINE_FETCHING(NAME, TYPE, fadd, fetch_add, OPERAND, pe)                                                          \
    DEFINE_FETCHING(NAME, TYPE, finc, fetch_inc, pe)                                                                   \
    DEFINE_POSTING(NAME, TYPE, add, add, OPERAND, pe)                                                                  \
    DEFINE_POSTING(NAME, TYPE, inc, inc, pe)                                                                           \
    DEFINE_FETCHING(NAME, TYPE, cswap, compare_swap, BEFORE, OPERAND, pe)                                              \
    DEFINE_FETCHING(NAME, TYPE, swap, swap, OPERAND, pe)                                                               \
    DEFINE_POSTING(NAME, TYPE, set, set, OPERAND, pe)                                                                  \
    DEFINE_FETCHING(NAME, TYPE, fetch, fetch, pe)

#define OPERATION(NAME, OPERATION, NBI, FETCHES, AFTER)                                                                \
    {"shmem_" #NAME "_" #OPERATION, NAME##_##OPERATION, NBI, NAME##_set_words, FETCHES, AFTER}

#define FETCHING(NAME, OPERATION_, AFTER) OPERATION(NAME, OPERATION_, NAME##_##OPERATION_##_nbi, true, AFTER)
#define POSTING(NAME, OPERATION_, AFTER) OPERATION(NAME, OPERATION_, NULL, false, AFTER)

#define OPERATIONS(NAME)                                                                                               \
    FETCHING(NAME, fadd, BEFORE + OPERAND),                                                                            \
    FETCHING(NAME, finc, BEFORE + 1),                                                                                  \
    POSTING(NAME, add, BEFORE + OPERAND),                                                                              \
    POSTING(NAME, inc, BEFORE + 1),                                                                                    \
    FETCHING(NAME, cswap, OPERAND),                                                                                    \
    FETCHING(NAME, swap, OPERAND),                                                                                     \
    POSTING(NAME, set, OPERAND),                                                                                       \
    FETCHING(NAME, fetch, BEFORE)
/* clang-format on */

DEFINE_TYPE(int, int)
DEFINE_TYPE(longlong, long long)

const struct atomics_operation atomics_operations[] = {OPERATIONS(int), OPERATIONS(longlong)};

const int n_atomics_operations = sizeof atomics_operations / sizeof atomics_operations[0];
