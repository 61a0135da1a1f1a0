/* SPDX-License-Identifier: BSD-3-Clause
 *
 * wait_until and test: every type, every comparison, values below zero for signed types and above the signed range for
 * unsigned ones, on heap and static data; the deprecated names; data fenced before the update, which must be visible
 * after the wait; a wait of one thread that another thread of the PE ends.
 */
#include "check.h"

#include <pthread.h>
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
#define DEFINE_THUNKS(NAME, TYPE, SET)                                                                                 \
    static void wait_##NAME(void *ivar, int cmp, int64_t v) { shmem_##NAME##_wait_until(ivar, cmp, (TYPE)v); }         \
    static int test_##NAME(void *ivar, int cmp, int64_t v) { return shmem_##NAME##_test(ivar, cmp, (TYPE)v); }         \
    static void store_##NAME(void *ivar, int64_t v) { *(TYPE *)ivar = (TYPE)v; }                                       \
    static void set_##NAME(void *ivar, int64_t v, int pe) { shmem_##NAME##_##SET(ivar, (TYPE)v, pe); }                 \
    static int compare_##NAME(int64_t a, int64_t b) { return ((TYPE)a > (TYPE)b) - ((TYPE)a < (TYPE)b); }
#define FORM(NAME, TYPE, ...)                                                                                          \
    {#NAME, (TYPE)-1 < (TYPE)1, wait_##NAME, test_##NAME, store_##NAME, set_##NAME, compare_##NAME},
/* clang-format on */

SHMEMI_FOR_AMO_TYPES(DEFINE_THUNKS, atomic_set)
SHMEMI_FOR_SHORT_TYPES(DEFINE_THUNKS, p) /* which have no atomic operations */

static const struct form forms[] = {SHMEMI_FOR_AMO_TYPES(FORM, ) SHMEMI_FOR_SHORT_TYPES(FORM, ) /**/};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

static const struct {
    int cmp;
    const char *name;
} comparisons[] = {{SHMEM_CMP_EQ, "EQ"}, {SHMEM_CMP_NE, "NE"}, {SHMEM_CMP_GT, "GT"},
                   {SHMEM_CMP_GE, "GE"}, {SHMEM_CMP_LT, "LT"}, {SHMEM_CMP_LE, "LE"}};

static const int64_t values[] = {0, 1, -1, 5, -5, INT16_MAX, INT16_MIN, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
enum { N_VALUES = sizeof values / sizeof values[0], N_COMPARISONS = sizeof comparisons / sizeof comparisons[0] };

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

/* Calls test and, where the condition already holds, wait_until, which must not block. */
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

/* A program that only polls with test makes progress. */
static void check_polling(long *word)
{
    *word = 0;
    shmem_barrier_all();
    shmem_long_atomic_inc(word, check_target(1));
    while (!shmem_long_test(word, SHMEM_CMP_EQ, 1))
        ;
    shmem_barrier_all();
}

/* ---- Deprecated names -------------------------------------------------------------------------------------------- */

/* clang-format off */
#define FOR_OLD_WAITS(X) \
    X(wait, long) X(short_wait, short) X(int_wait, int) X(long_wait, long) X(longlong_wait, long long)
#define DEFINE_OLD_WAIT(ROUTINE, TYPE)                                                                                 \
    static void old_##ROUTINE(void *ivar, int64_t v) { shmem_##ROUTINE(ivar, (TYPE)v); }                               \
    static void put_##ROUTINE(void *ivar, int64_t v, int pe)                                                           \
    { TYPE word = (TYPE)v; shmem_putmem(ivar, &word, sizeof word, pe); }
#define OLD_WAIT(ROUTINE, TYPE) {old_##ROUTINE, put_##ROUTINE},
FOR_OLD_WAITS(DEFINE_OLD_WAIT)
/* clang-format on */

/* These wait until the value differs from this one. */
static const struct {
    void (*wait)(void *ivar, int64_t value);
    void (*put)(void *ivar, int64_t value, int pe);
} old_waits[] = {FOR_OLD_WAITS(OLD_WAIT)};

static void check_old_names(uint64_t *word)
{
    for (size_t i = 0; i < sizeof old_waits / sizeof old_waits[0]; i++) {
        *word = 0;
        old_waits[i].wait(word, -1);
        shmem_barrier_all();
        old_waits[i].put(word, -3, check_target(1));
        old_waits[i].wait(word, 0);
        CHECK(*word != 0);
        shmem_barrier_all();
    }
    *word = 0;
    shmem_barrier_all();
    shmem_long_atomic_add((long *)word, -8, check_target(1));
    (shmem_wait_until)((long *)word, SHMEM_CMP_LT, -7); /* the function, for a long, not the generic form */
    CHECK((long)*word == -8);
    shmem_barrier_all();
}

/* ---- What a wait guarantees -------------------------------------------------------------------------------------- */

/* Data that an origin fences before the update have arrived when the wait returns. */
static void check_data_before_flag(uint64_t *flag, long *data)
{
    enum { ROUNDS = 40, N = 300 };
    *flag = 0;
    shmem_barrier_all();
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        int target = check_target((int)round);
        long source[N];
        for (int i = 0; i < N; i++)
            source[i] = (long)round * 1000 + i;
        shmem_long_put_nbi(data, source, N, target);
        shmem_fence();
        shmem_uint64_atomic_set(flag, round, target);
        shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, round);
        for (int i = 0; i < N; i++)
            CHECK_THAT(data[i] == (long)round * 1000 + i, "round %d: element %d is %ld when the flag has arrived",
                       (int)round, i, data[i]);
        shmem_barrier_all();
    }
}

/* All PEs update one word, one after another and together. */
static void check_several_updaters(int64_t *word)
{
    enum { EACH = 50 };
    int n = shmem_n_pes();
    *word = 0;
    shmem_barrier_all();
    for (int i = 0; i < EACH; i++)
        for (int pe = 0; pe < n; pe++)
            shmem_int64_atomic_add(word, -1, pe);
    shmem_int64_wait_until(word, SHMEM_CMP_LE, -(int64_t)n * EACH);
    CHECK_THAT(*word == -(int64_t)n * EACH, "%d updates of %d PEs each: the word is %lld", EACH, n, (long long)*word);
    shmem_barrier_all();
}

static void check_signal_wait(uint64_t *signal)
{
    *signal = 5;
    CHECK(shmem_signal_wait_until(signal, SHMEM_CMP_NE, 4) == 5);
    shmem_barrier_all();
    shmem_signal_set(signal, UINT64_MAX - 1, check_target(1));
    CHECK(shmem_signal_wait_until(signal, SHMEM_CMP_GT, INT64_MAX) == UINT64_MAX - 1);
    CHECK(shmem_signal_fetch(signal) == UINT64_MAX - 1);
    shmem_barrier_all();
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

struct handshake {
    long *there, *back;
};

static void *answer(void *argument)
{
    struct handshake *handshake = argument;
    for (long round = 1; round <= 20; round++) {
        shmem_long_wait_until(handshake->there, SHMEM_CMP_EQ, round);
        shmem_long_atomic_set(handshake->back, round, shmem_my_pe());
    }
    return NULL;
}

/* Two threads of this PE wait for each other: neither may hold what the other needs. */
static void check_threads(long *words)
{
    pthread_t thread;
    struct handshake handshake = {&words[0], &words[1]};
    words[0] = words[1] = 0;
    CHECK(!pthread_create(&thread, NULL, answer, &handshake));
    for (long round = 1; round <= 20; round++) {
        shmem_long_atomic_set(handshake.there, round, shmem_my_pe());
        shmem_long_wait_until(handshake.back, SHMEM_CMP_EQ, round);
    }
    CHECK(!pthread_join(thread, NULL));
    shmem_barrier_all();
}

static void check_words(uint64_t *words)
{
    check_polling((long *)words);
    check_old_names(words);
    check_data_before_flag(words, (long *)words + 1);
    check_several_updaters((int64_t *)words);
    check_signal_wait(words);
}

int main(void)
{
    int provided;
    static uint64_t static_words[512];
    CHECK(!shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided));
    uint64_t *heap_words = check_shmem_malloc(sizeof static_words);
    for (int i = 0; i < N_FORMS; i++) {
        check_form(&forms[i], heap_words);
        check_form(&forms[i], static_words);
    }
    check_words(heap_words);
    check_words(static_words);
    if (provided == SHMEM_THREAD_MULTIPLE) {
        check_threads((long *)heap_words);
        check_threads((long *)static_words);
    }
    shmem_free(heap_words);
    return check_end();
}
