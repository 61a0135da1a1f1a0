/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic memory operations: every type and operation, on heap and static data of self and every PE; results, and exact
 * sums while all PEs work on the same words.
 */
#include "check.h"

#include <stdbool.h>

enum { HAMMER = 1000 };

/* Operands and results as 64-bit numbers, sign-extended. */
struct form {
    const char *name;
    size_t size;
    uint64_t (*fetch)(const void *word, int pe);
    void (*set)(void *word, uint64_t value, int pe);
    uint64_t (*compare_swap)(void *word, uint64_t cond, uint64_t value, int pe);
    uint64_t (*swap)(void *word, uint64_t value, int pe);
    uint64_t (*fetch_inc)(void *word, int pe);
    void (*inc)(void *word, int pe);
    uint64_t (*fetch_add)(void *word, uint64_t value, int pe);
    void (*add)(void *word, uint64_t value, int pe);
};

/* clang-format off */
#define DEFINE_THUNKS(NAME, TYPE, ...)                                                                                 \
    static uint64_t fetch_##NAME(const void *w, int pe) { return (uint64_t)shmem_##NAME##_atomic_fetch(w, pe); }       \
    static void set_##NAME(void *w, uint64_t v, int pe) { shmem_##NAME##_atomic_set(w, (TYPE)v, pe); }                 \
    static uint64_t cswap_##NAME(void *w, uint64_t c, uint64_t v, int pe)                                              \
    { return (uint64_t)shmem_##NAME##_atomic_compare_swap(w, (TYPE)c, (TYPE)v, pe); }                                  \
    static uint64_t swap_##NAME(void *w, uint64_t v, int pe)                                                           \
    { return (uint64_t)shmem_##NAME##_atomic_swap(w, (TYPE)v, pe); }                                                   \
    static uint64_t fetch_inc_##NAME(void *w, int pe) { return (uint64_t)shmem_##NAME##_atomic_fetch_inc(w, pe); }     \
    static void inc_##NAME(void *w, int pe) { shmem_##NAME##_atomic_inc(w, pe); }                                      \
    static uint64_t fetch_add_##NAME(void *w, uint64_t v, int pe)                                                      \
    { return (uint64_t)shmem_##NAME##_atomic_fetch_add(w, (TYPE)v, pe); }                                              \
    static void add_##NAME(void *w, uint64_t v, int pe) { shmem_##NAME##_atomic_add(w, (TYPE)v, pe); }
#define FORM(NAME, TYPE, ...)                                                                                          \
    {#NAME, sizeof(TYPE), fetch_##NAME, set_##NAME, cswap_##NAME, swap_##NAME, fetch_inc_##NAME, inc_##NAME,           \
     fetch_add_##NAME, add_##NAME},
/* clang-format on */

SHMEMI_FOR_AMO_TYPES(DEFINE_THUNKS, )

static const struct form forms[] = {SHMEMI_FOR_AMO_TYPES(FORM, ) /**/};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

/* The word in the middle is the target; a 4-byte operation must leave its neighbours alone. */
struct words {
    uint64_t before;
    uint64_t target[2];
    uint64_t after;
};

static struct words static_words;
static const uint64_t NEIGHBOUR = 0x1122334455667788u;

static uint64_t truncated(const struct form *form, uint64_t value)
{
    return form->size == 4 ? (uint32_t)value : value;
}

static void expect(const struct form *form, const char *operation, uint64_t found, uint64_t expected)
{
    CHECK_THAT(truncated(form, found) == truncated(form, expected), "shmem_%s_atomic_%s: found %#llx, expected %#llx",
               form->name, operation, (unsigned long long)truncated(form, found),
               (unsigned long long)truncated(form, expected));
}

static void check_results(const struct form *form, void *word, int pe)
{
    form->set(word, 100, pe);
    shmem_quiet();
    expect(form, "set and fetch", form->fetch(word, pe), 100);
    expect(form, "fetch_add", form->fetch_add(word, 23, pe), 100);
    expect(form, "fetch_inc", form->fetch_inc(word, pe), 123);
    expect(form, "swap", form->swap(word, (uint64_t)-7, pe), 124);
    expect(form, "compare_swap that fails", form->compare_swap(word, 7, 9, pe), (uint64_t)-7);
    expect(form, "fetch after a failed compare_swap", form->fetch(word, pe), (uint64_t)-7);
    expect(form, "compare_swap that succeeds", form->compare_swap(word, (uint64_t)-7, 9, pe), (uint64_t)-7);
    expect(form, "fetch after compare_swap", form->fetch(word, pe), 9);
    form->add(word, (uint64_t)-20, pe);
    form->inc(word, pe);
    shmem_quiet();
    expect(form, "add and inc", form->fetch(word, pe), (uint64_t)-10);
    form->set(word, UINT64_MAX >> 1, pe);
    shmem_quiet();
    expect(form, "fetch_add that wraps around", form->fetch_add(word, UINT64_MAX >> 1, pe), UINT64_MAX >> 1);
    expect(form, "fetch after wrapping around", form->fetch(word, pe), UINT64_MAX - 1);
}

static void check_neighbours(const struct form *form, const struct words *words)
{
    const unsigned char *rest = (const unsigned char *)words->target + form->size;
    CHECK_THAT(words->before == NEIGHBOUR && words->after == NEIGHBOUR, "shmem_%s_atomic_*: wrote a neighbouring word",
               form->name);
    check_untouched(form->name, rest, sizeof words->target - form->size, 0);
}

static void check_form(const struct form *form, struct words *words)
{
    for (int round = 0; round < shmem_n_pes(); round++) {
        *words = (struct words){.before = NEIGHBOUR, .after = NEIGHBOUR};
        shmem_barrier_all();
        check_results(form, words->target, check_target(round));
        shmem_barrier_all();
        check_neighbours(form, words);
    }
}

/* ---- all PEs at once --------------------------------------------------------------------------------------------- */

struct counters {
    uint64_t tickets, sum, swapped;
    uint64_t ticket_sum; /* added up from what fetch_inc returned */
};

static struct counters static_counters;

/* Add 1 by compare_swap alone. */
static void increment(const struct form *form, void *word, int pe)
{
    uint64_t seen = form->fetch(word, pe), before;
    while ((before = form->compare_swap(word, seen, seen + 1, pe)) != seen)
        seen = before;
}

static void hammer(const struct form *form, struct counters *counters, int pe)
{
    uint64_t ticket_sum = 0;
    for (int i = 0; i < HAMMER; i++) {
        ticket_sum += form->fetch_inc(&counters->tickets, pe);
        form->add(&counters->sum, 3, pe);
        form->inc(&counters->sum, pe);
        form->fetch_add(&counters->sum, (uint64_t)-1, pe);
        if (i % 10 == 0)
            increment(form, &counters->swapped, pe);
    }
    shmem_uint64_atomic_add(&counters->ticket_sum, ticket_sum, pe);
}

static void check_hammer(const struct form *form, struct counters *counters, int pe)
{
    uint64_t n = (uint64_t)shmem_n_pes() * HAMMER;
    memset(counters, 0, sizeof *counters);
    shmem_barrier_all();
    hammer(form, counters, pe);
    shmem_barrier_all();
    if (shmem_my_pe() == pe) {
        expect(form, "fetch_inc by all PEs", form->fetch(&counters->tickets, pe), n);
        expect(form, "add, inc and fetch_add by all PEs", form->fetch(&counters->sum, pe), 3 * n);
        expect(form, "compare_swap by all PEs", form->fetch(&counters->swapped, pe), n / 10);
        /* every ticket was drawn exactly once */
        CHECK_THAT(counters->ticket_sum == n * (n - 1) / 2,
                   "shmem_%s_atomic_fetch_inc: tickets add up to %llu, expected %llu", form->name,
                   (unsigned long long)counters->ticket_sum, (unsigned long long)(n * (n - 1) / 2));
    }
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    struct words *words = check_shmem_malloc(sizeof *words);
    struct counters *counters = check_shmem_malloc(sizeof *counters);
    for (int i = 0; i < N_FORMS; i++) {
        check_form(&forms[i], words);
        check_form(&forms[i], &static_words);
    }
    for (int i = 0; i < N_FORMS; i++) {
        check_hammer(&forms[i], counters, i % shmem_n_pes());
        check_hammer(&forms[i], &static_counters, (i + 1) % shmem_n_pes());
    }
    shmem_free(counters);
    shmem_free(words);
    return check_end();
}
