/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every reduction and scan of 1.6 as a row of a table, with a model of its result.
 */
#ifndef REDUCE_FORMS_H
#define REDUCE_FORMS_H

#include "check.h"

#include <complex.h>
#include <stdbool.h>

typedef int (*reduce_func_t)(shmem_team_t team, void *dest, const void *source, size_t nreduce);
typedef void (*combine_func_t)(void *sum, long value);

struct form {
    const char *name;
    size_t size;
    reduce_func_t reduce;
    void (*set)(void *element, long value);
    combine_func_t combine; /* the model */
    bool (*equal)(const void *a, const void *b);
    bool exclusive, is_scan;
};

static long *sync_words; /* symmetric: pSync and pWrk of the to_all forms */
static void *work;

/* Complex numbers get an imaginary part of their own. */
#define UNIT(TYPE) _Generic((TYPE)0, double _Complex : 1 + 3 * I, float _Complex : 1 + 3 * I, default : 1)
#define VALUE(TYPE, value) ((TYPE)((value)*UNIT(TYPE)))

#define COMBINE_and(a, b) ((a) & (b))
#define COMBINE_or(a, b) ((a) | (b))
#define COMBINE_xor(a, b) ((a) ^ (b))
#define COMBINE_max(a, b) ((a) > (b) ? (a) : (b))
#define COMBINE_min(a, b) ((a) < (b) ? (a) : (b))
#define COMBINE_sum(a, b) ((a) + (b))
#define COMBINE_prod(a, b) ((a) * (b))

/* Who includes this may have another routine called. */
#ifndef FORM_CALL
#define FORM_CALL(NAME, ...) shmem_##NAME(__VA_ARGS__)
#endif

/* clang-format off */
#define DEFINE_TYPE(NAME, TYPE, ...)                                                                                   \
    static void set_##NAME(void *element, long value) { *(TYPE *)element = VALUE(TYPE, value); }                       \
    static bool equal_##NAME(const void *a, const void *b) { return *(const TYPE *)a == *(const TYPE *)b; }
#define DEFINE_OP(NAME, TYPE, OP)                                                                                      \
    static int OP##_##NAME(shmem_team_t team, void *dest, const void *source, size_t n)                                \
    { return FORM_CALL(NAME##_##OP##_reduce, team, dest, source, n); }                                                 \
    static void combine_##OP##_##NAME(void *sum, long value)                                                           \
    { *(TYPE *)sum = (TYPE)COMBINE_##OP(*(TYPE *)sum, VALUE(TYPE, value)); }
#define DEFINE_SCAN(NAME, TYPE, SCAN)                                                                                  \
    static int SCAN##_##NAME(shmem_team_t team, void *dest, const void *source, size_t n)                              \
    { return FORM_CALL(NAME##_sum_##SCAN, team, dest, source, n); }
/* Over an active set of all PEs. */
#define DEFINE_TO_ALL(NAME, TYPE, OP)                                                                                  \
    static int OP##_to_all_##NAME(shmem_team_t team, void *dest, const void *source, size_t n)                         \
    { shmem_##NAME##_##OP##_to_all(dest, source, (int)n, 0, 0, shmem_team_n_pes(team), work, sync_words); return 0; }

#define FORM(NAME, TYPE, OP)                                                                                           \
    {#NAME "_" #OP "_reduce", sizeof(TYPE), OP##_##NAME, set_##NAME, combine_##OP##_##NAME, equal_##NAME, false, false},
#define FORM_TO_ALL(NAME, TYPE, OP)                                                                                    \
    {#NAME "_" #OP "_to_all", sizeof(TYPE), OP##_to_all_##NAME, set_##NAME, combine_##OP##_##NAME, equal_##NAME, false, \
     false},
#define FORM_SCAN(NAME, TYPE, SCAN, EXCLUSIVE)                                                                         \
    {#NAME "_sum_" #SCAN, sizeof(TYPE), SCAN##_##NAME, set_##NAME, combine_sum_##NAME, equal_##NAME, EXCLUSIVE, true},

#define FOR_TEAM_OPS(BITS, ORDER, ARITHMETIC, X)                                                                       \
    BITS(X, and) BITS(X, or) BITS(X, xor) ORDER(X, max) ORDER(X, min) ARITHMETIC(X, sum) ARITHMETIC(X, prod)
#define FOR_ALL_TEAM_OPS(X)                                                                                            \
    FOR_TEAM_OPS(SHMEMI_FOR_BITS_TYPES, SHMEMI_FOR_ORDER_TYPES, SHMEMI_FOR_ARITHMETIC_TYPES, X)
#define FOR_ALL_SET_OPS(X)                                                                                             \
    FOR_TEAM_OPS(SHMEMI_FOR_SET_BITS_TYPES, SHMEMI_FOR_SET_ORDER_TYPES, SHMEMI_FOR_SET_ARITHMETIC_TYPES, X)

/* The signed types have these over active sets only: the models are missing so far. */
#define DEFINE_MODEL(NAME, TYPE, OP)                                                                                   \
    static void combine_##OP##_##NAME(void *sum, long value)                                                           \
    { *(TYPE *)sum = (TYPE)COMBINE_##OP(*(TYPE *)sum, VALUE(TYPE, value)); }
/* clang-format on */

SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_TYPE, )
FOR_ALL_TEAM_OPS(DEFINE_OP)
SHMEMI_FOR_SET_BITS_TYPES(DEFINE_MODEL, and)
SHMEMI_FOR_SET_BITS_TYPES(DEFINE_MODEL, or)
SHMEMI_FOR_SET_BITS_TYPES(DEFINE_MODEL, xor)
FOR_ALL_SET_OPS(DEFINE_TO_ALL)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_SCAN, inscan)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_SCAN, exscan)

static const struct form forms[] = {
    FOR_ALL_TEAM_OPS(FORM) FOR_ALL_SET_OPS(FORM_TO_ALL)   /**/
    SHMEMI_FOR_ARITHMETIC_TYPES(FORM_SCAN, inscan, false) /**/
    SHMEMI_FOR_ARITHMETIC_TYPES(FORM_SCAN, exscan, true)  /**/
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

/* Small, so that no signed type overflows in a sum; products of many wrap in the same way in any order, or stay exact.
 * */
static long contribution(const struct form *form, int pe, size_t i)
{
    bool is_product = strstr(form->name, "_prod_");
    long value = (long)((size_t)pe * 3 + i) % (is_product ? 2 : 7);
    return is_product ? value + 1 : value - 3;
}

static void make_expected(const struct form *form, unsigned char *expected, size_t i)
{
    int last = form->is_scan ? shmem_my_pe() - form->exclusive : shmem_n_pes() - 1;
    form->set(expected, last < 0 ? 0 : contribution(form, 0, i));
    for (int pe = 1; pe <= last; pe++)
        form->combine(expected, contribution(form, pe, i));
}

static void check_result(const struct form *form, const unsigned char *found, size_t nelems, const char *where)
{
    _Alignas(32) unsigned char expected[32];
    for (size_t i = 0; i < nelems; i++) {
        make_expected(form, expected, i);
        CHECK_THAT(form->equal(found + i * form->size, expected), "shmem_%s%s: element %zu of %zu is wrong", form->name,
                   where, i, nelems);
    }
}

#endif
