/* SPDX-License-Identifier: BSD-3-Clause
 *
 * wait_until and test: every type, every comparison, values below zero for signed types and above the signed range for
 * unsigned ones, on heap and static data.
 */
#include "check.h"

#include <stdbool.h>

struct form {
    const char *name;
    bool is_signed;
    void (*wait_until)(void *ivar, int cmp, int64_t value);
    int (*test)(void *ivar, int cmp, int64_t value);
    void (*store)(void *ivar, int64_t value);
    void (*set)(void *ivar, int64_t value, int pe);
    int (*compare)(int64_t a, int64_t b); /* as this type does: -1, 0, 1 */
};

/* clang-format off */
#define DEFINE_THUNKS(NAME, TYPE, ...)                                                                                 \
    static void wait_##NAME(void *ivar, int cmp, int64_t v) { shmem_##NAME##_wait_until(ivar, cmp, (TYPE)v); }         \
    static int test_##NAME(void *ivar, int cmp, int64_t v) { return shmem_##NAME##_test(ivar, cmp, (TYPE)v); }         \
    static void store_##NAME(void *ivar, int64_t v) { *(TYPE *)ivar = (TYPE)v; }                                       \
    static void set_##NAME(void *ivar, int64_t v, int pe) { shmem_##NAME##_atomic_set(ivar, (TYPE)v, pe); }            \
    static int compare_##NAME(int64_t a, int64_t b) { return ((TYPE)a > (TYPE)b) - ((TYPE)a < (TYPE)b); }
#define FORM(NAME, TYPE, ...)                                                                                          \
    {#NAME, (TYPE)-1 < (TYPE)1, wait_##NAME, test_##NAME, store_##NAME, set_##NAME, compare_##NAME},
/* clang-format on */

SHMEMI_FOR_AMO_TYPES(DEFINE_THUNKS, )

static const struct form forms[] = {SHMEMI_FOR_AMO_TYPES(FORM, ) /**/};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

static const struct {
    int cmp;
    const char *name;
} comparisons[] = {{SHMEM_CMP_EQ, "EQ"}, {SHMEM_CMP_NE, "NE"}, {SHMEM_CMP_GT, "GT"},
                   {SHMEM_CMP_GE, "GE"}, {SHMEM_CMP_LT, "LT"}, {SHMEM_CMP_LE, "LE"}};

static const int64_t values[] = {0, 1, -1, 5, -5, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
enum { N_VALUES = sizeof values / sizeof values[0], N_COMPARISONS = sizeof comparisons / sizeof comparisons[0] };

static uint64_t static_word;

static bool holds(int cmp, int order)
{
    switch (cmp) {
    case SHMEM_CMP_EQ:
        return order == 0;
    case SHMEM_CMP_NE:
        return order != 0;
    case SHMEM_CMP_GT:
        return order > 0;
    case SHMEM_CMP_GE:
        return order >= 0;
    case SHMEM_CMP_LT:
        return order < 0;
    default:
        return order <= 0;
    }
}

/* test, and where the condition holds already wait_until too, which must not block. */
static void check_present(const struct form *form, void *word, int c, int64_t value, int64_t against)
{
    bool expected = holds(comparisons[c].cmp, form->compare(value, against));
    form->store(word, value);
    int found = form->test(word, comparisons[c].cmp, against);
    CHECK_THAT(!!found == expected, "shmem_%s_test: %lld %s %lld gives %d, expected %d", form->name, (long long)value,
               comparisons[c].name, (long long)against, found, expected);
    if (expected)
        form->wait_until(word, comparisons[c].cmp, against);
}

static void check_values(const struct form *form, void *word)
{
    for (int c = 0; c < N_COMPARISONS; c++)
        for (int i = 0; i < N_VALUES; i++)
            for (int j = 0; j < N_VALUES; j++)
                check_present(form, word, c, values[i], values[j]);
}

/* A neighbour makes the condition true while this PE waits for it. */
struct blocking {
    int cmp;
    int64_t before, against, after;
    bool needs_sign;
};

static const struct blocking blockings[] = {
    {SHMEM_CMP_EQ, 3, 7, 7, false},   {SHMEM_CMP_EQ, 3, -7, -7, true}, {SHMEM_CMP_NE, 3, 3, 4, false},
    {SHMEM_CMP_GT, -9, -4, -3, true}, {SHMEM_CMP_GT, 5, 5, 6, false},  {SHMEM_CMP_GE, -9, -2, -2, true},
    {SHMEM_CMP_GE, 5, 6, 6, false},   {SHMEM_CMP_LT, 0, 0, -1, true},  {SHMEM_CMP_LT, 5, 5, 4, false},
    {SHMEM_CMP_LE, 0, -1, -1, true},  {SHMEM_CMP_LE, 5, 4, 4, false},
};

static void check_blocking(const struct form *form, void *word, const struct blocking *blocking, int round)
{
    form->store(word, blocking->before);
    shmem_barrier_all();
    form->set(word, blocking->after, check_target(round));
    form->wait_until(word, blocking->cmp, blocking->against);
    CHECK_THAT(form->test(word, SHMEM_CMP_EQ, blocking->after), "shmem_%s_wait_until: the word is not the value set",
               form->name);
    shmem_barrier_all();
}

static void check_form(const struct form *form, void *word)
{
    check_values(form, word);
    for (int round = 0; round < shmem_n_pes(); round++)
        for (size_t i = 0; i < sizeof blockings / sizeof blockings[0]; i++)
            if (form->is_signed || !blockings[i].needs_sign)
                check_blocking(form, word, &blockings[i], round);
}

/* A program that polls with test alone gets on. */
static void check_polling(long *word)
{
    *word = 0;
    shmem_barrier_all();
    shmem_long_atomic_inc(word, check_target(1));
    while (!shmem_long_test(word, SHMEM_CMP_EQ, 1))
        ;
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    uint64_t *heap_word = check_shmem_malloc(sizeof *heap_word);
    for (int i = 0; i < N_FORMS; i++) {
        check_form(&forms[i], heap_word);
        check_form(&forms[i], &static_word);
    }
    check_polling((long *)heap_word);
    check_polling((long *)&static_word);
    shmem_free(heap_word);
    return check_end();
}
