/* SPDX-License-Identifier: BSD-3-Clause
 *
 * wait_until and test over sets of words: all, any, some, with one value and with a value for each, of every type.
 * Every result is compared with a model over small sets, with every status array; empty sets; repeated calls find every
 * satisfied word; several PEs as updaters, whose fenced data have arrived when their word is reported.
 */
#include "check.h"

#include <stdbool.h>

enum { N = 6, N_STATUS = 1 << N, PES_MAX = 512 };

struct form {
    const char *name;
    size_t size;
    bool is_signed;
    void (*store)(void *words, size_t i, int64_t value);
    void (*set)(void *words, size_t i, int64_t value, int pe);
    int (*compare)(int64_t a, int64_t b); /* as this type does: -1, 0, 1 */
    /* against: one value of the type, or N of them for the vector forms */
    void (*wait_all[2])(void *words, size_t n, const int *status, int cmp, const void *against);
    size_t (*wait_any[2])(void *words, size_t n, const int *status, int cmp, const void *against);
    size_t (*wait_some[2])(void *words, size_t n, size_t *indices, const int *status, int cmp, const void *against);
    int (*test_all[2])(void *words, size_t n, const int *status, int cmp, const void *against);
    size_t (*test_any[2])(void *words, size_t n, const int *status, int cmp, const void *against);
    size_t (*test_some[2])(void *words, size_t n, size_t *indices, const int *status, int cmp, const void *against);
};

/* clang-format off */
#define SET_ARGUMENTS void *words, size_t n, const int *status, int cmp, const void *against
#define SOME_ARGUMENTS void *words, size_t n, size_t *indices, const int *status, int cmp, const void *against

#define DEFINE_THUNKS(NAME, TYPE, ...)                                                                                 \
    static void store_##NAME(void *words, size_t i, int64_t v) { ((TYPE *)words)[i] = (TYPE)v; }                       \
    static void set_##NAME(void *words, size_t i, int64_t v, int pe)                                                   \
    { shmem_##NAME##_atomic_set((TYPE *)words + i, (TYPE)v, pe); }                                                     \
    static int compare_##NAME(int64_t a, int64_t b) { return ((TYPE)a > (TYPE)b) - ((TYPE)a < (TYPE)b); }              \
    DEFINE_SET_THUNKS(void, NAME, TYPE, wait_until)                                                                    \
    DEFINE_SET_THUNKS(int, NAME, TYPE, test)

#define DEFINE_SET_THUNKS(ALL, NAME, TYPE, VERB)                                                                       \
    static ALL VERB##_all_##NAME(SET_ARGUMENTS)                                                                        \
    { return shmem_##NAME##_##VERB##_all(words, n, status, cmp, *(const TYPE *)against); }                             \
    static ALL VERB##_all_vector_##NAME(SET_ARGUMENTS)                                                                 \
    { return shmem_##NAME##_##VERB##_all_vector(words, n, status, cmp, against); }                                     \
    static size_t VERB##_any_##NAME(SET_ARGUMENTS)                                                                     \
    { return shmem_##NAME##_##VERB##_any(words, n, status, cmp, *(const TYPE *)against); }                             \
    static size_t VERB##_any_vector_##NAME(SET_ARGUMENTS)                                                              \
    { return shmem_##NAME##_##VERB##_any_vector(words, n, status, cmp, against); }                                     \
    static size_t VERB##_some_##NAME(SOME_ARGUMENTS)                                                                   \
    { return shmem_##NAME##_##VERB##_some(words, n, indices, status, cmp, *(const TYPE *)against); }                   \
    static size_t VERB##_some_vector_##NAME(SOME_ARGUMENTS)                                                            \
    { return shmem_##NAME##_##VERB##_some_vector(words, n, indices, status, cmp, against); }

#define BOTH(WHAT, NAME) {WHAT##_##NAME, WHAT##_vector_##NAME}
#define FORM(NAME, TYPE, ...)                                                                                          \
    {#NAME, sizeof(TYPE), (TYPE)-1 < (TYPE)1, store_##NAME, set_##NAME, compare_##NAME,                                \
     BOTH(wait_until_all, NAME), BOTH(wait_until_any, NAME), BOTH(wait_until_some, NAME),                              \
     BOTH(test_all, NAME), BOTH(test_any, NAME), BOTH(test_some, NAME)},

SHMEMI_FOR_AMO_TYPES(DEFINE_THUNKS, )

static const struct form forms[] = {SHMEMI_FOR_AMO_TYPES(FORM, ) /**/};
/* clang-format on */
enum { N_FORMS = sizeof forms / sizeof forms[0] };

static const int comparisons[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE};
static const char *const comparison_names[] = {"EQ", "NE", "GT", "GE", "LT", "LE"};
enum { N_COMPARISONS = sizeof comparisons / sizeof comparisons[0] };

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

/* ---- Words that nobody changes: every routine against the model -------------------------------------------------- */

struct situation {
    const struct form *form;
    void *words;
    size_t n;
    const int *status;
    unsigned members, satisfied; /* bit i: word i is in the set, satisfies the condition */
    int comparison;              /* in comparisons */
    bool vector;
    const void *against;
};

#define EXPECT(_condition, s, routine, ...)                                                                            \
    CHECK_THAT(_condition, "shmem_%s_%s%s, %s, members %#x, satisfied %#x: %s is %lld", (s)->form->name, routine,      \
               (s)->vector ? "_vector" : "", comparison_names[(s)->comparison], (s)->members, (s)->satisfied,          \
               __VA_ARGS__)

static void check_one(const struct situation *s, const char *routine, size_t found)
{
    unsigned candidates = s->members & s->satisfied;
    if (!candidates)
        EXPECT(found == SIZE_MAX, s, routine, "the index", (long long)found);
    else
        EXPECT(found < s->n && (candidates >> found & 1), s, routine, "the index", (long long)found);
}

/* The result is some of the candidates, at least one, each once; indices after the last are unchanged. */
static void check_indices(const struct situation *s, const char *routine, size_t count, const size_t *indices)
{
    unsigned candidates = s->members & s->satisfied, seen = 0;
    EXPECT((count > 0) == (candidates != 0) && count <= N, s, routine, "the count", (long long)count);
    for (size_t i = 0; i < count; i++) {
        EXPECT(indices[i] < s->n && (candidates >> indices[i] & 1), s, routine, "an index", (long long)indices[i]);
        EXPECT(!(seen >> indices[i] & 1), s, routine, "an index that came twice", (long long)indices[i]);
        seen |= 1u << indices[i];
    }
}

static void check_tests(const struct situation *s)
{
    const struct form *form = s->form;
    int cmp = comparisons[s->comparison];
    size_t indices[N];
    int all = form->test_all[s->vector](s->words, s->n, s->status, cmp, s->against);
    EXPECT(all == !(s->members & ~s->satisfied), s, "test_all", "the result", (long long)all);
    check_one(s, "test_any", form->test_any[s->vector](s->words, s->n, s->status, cmp, s->against));
    size_t count = form->test_some[s->vector](s->words, s->n, indices, s->status, cmp, s->against);
    check_indices(s, "test_some", count, indices);
}

/* The waits that must not block, because the condition holds or the set is empty. */
static void check_waits(const struct situation *s)
{
    const struct form *form = s->form;
    int cmp = comparisons[s->comparison];
    size_t indices[N];
    if (!(s->members & ~s->satisfied))
        form->wait_all[s->vector](s->words, s->n, s->status, cmp, s->against);
    if (s->members && !(s->members & s->satisfied))
        return;
    check_one(s, "wait_until_any", form->wait_any[s->vector](s->words, s->n, s->status, cmp, s->against));
    size_t count = form->wait_some[s->vector](s->words, s->n, indices, s->status, cmp, s->against);
    check_indices(s, "wait_until_some", count, indices);
}

static void check_situation(struct situation *s, const int64_t *values, const int64_t *against)
{
    s->satisfied = 0;
    for (size_t i = 0; i < s->n; i++) {
        int order = s->form->compare(values[i], against[s->vector ? i : 0]);
        s->satisfied |= (unsigned)holds(comparisons[s->comparison], order) << i;
    }
    check_tests(s);
    check_waits(s);
}

/* All statuses that exclude some of the words; NULL for none. The marks differ: any value but zero excludes. */
static void check_statuses(struct situation *s, const int64_t *values, const int64_t *against)
{
    int status[N];
    for (unsigned excluded = 0; excluded < N_STATUS; excluded++) {
        for (int i = 0; i < N; i++)
            status[i] = excluded >> i & 1 ? (i % 2 ? -1 : 1 << (i * 5)) : 0;
        s->status = excluded ? status : NULL;
        s->members = ~excluded & (N_STATUS - 1);
        check_situation(s, values, against);
        for (int i = 0; i < N; i++)
            CHECK_THAT(!status[i] == !(excluded >> i & 1), "a status was written");
    }
}

static void check_present(const struct form *form, void *words)
{
    static const int64_t values[N] = {0, -1, 5, INT32_MAX, INT32_MIN, 5}, one[] = {5},
                         each[N] = {0, 1, 6, INT32_MAX, -1, 4};
    int64_t against[2][N];
    form->store(against[0], 0, one[0]);
    for (size_t i = 0; i < N; i++) {
        form->store(against[1], i, each[i]);
        form->store(words, i, values[i]);
    }
    for (int vector = 0; vector < 2; vector++)
        for (int c = 0; c < N_COMPARISONS; c++) {
            struct situation s = {
                .form = form, .words = words, .n = N, .comparison = c, .vector = vector, .against = against[vector]};
            check_statuses(&s, values, vector ? each : one);
        }
}

/* No words at all: no pointer is used. */
static void check_no_words(const struct form *form)
{
    int64_t one[N] = {0};
    for (int vector = 0; vector < 2; vector++)
        for (int c = 0; c < N_COMPARISONS; c++) {
            struct situation s = {.form = form, .comparison = c, .vector = vector, .against = vector ? NULL : one};
            check_tests(&s);
            check_waits(&s);
        }
}

/* ---- Fairness ---------------------------------------------------------------------------------------------------- */

/* Every satisfied word is found by repeated calls, also when calls on another set come in between. */
static void check_fairness(const struct form *form, void *words)
{
    enum { ENOUGH = 10000, ALL_BUT_ONE = N_STATUS - 1 - 4 };
    unsigned waited = 0, tested = 0;
    int64_t value;
    form->store(&value, 0, 7);
    for (size_t i = 0; i < N; i++)
        form->store(words, i, i == 2 ? 6 : 7);
    for (int i = 0; i < ENOUGH && (waited & tested) != ALL_BUT_ONE; i++) {
        waited |= 1u << form->wait_any[0](words, N, NULL, SHMEM_CMP_EQ, &value);
        tested |= 1u << form->test_any[0](words, N, NULL, SHMEM_CMP_EQ, &value);
    }
    CHECK_THAT(waited == ALL_BUT_ONE, "shmem_%s_wait_until_any returned only %#x in %d calls", form->name, waited,
               ENOUGH);
    CHECK_THAT(tested == ALL_BUT_ONE, "shmem_%s_test_any returned only %#x in %d calls", form->name, tested, ENOUGH);
}

/* ---- Words that all PEs change ----------------------------------------------------------------------------------- */

/* Updaters: each PE sets its own word on every PE, after data that it fences. */
struct exchange {
    const struct form *form;
    void *words; /* one for each PE */
    long *data;  /* likewise */
    int64_t value;
};

static void begin(const struct exchange *exchange)
{
    for (int pe = 0; pe < shmem_n_pes(); pe++) {
        exchange->form->store(exchange->words, (size_t)pe, 0);
        exchange->data[pe] = -1;
    }
    shmem_barrier_all();
}

static void update_all(const struct exchange *exchange)
{
    int me = shmem_my_pe();
    for (int round = 0; round < shmem_n_pes(); round++) {
        int target = check_target(round);
        shmem_long_p(&exchange->data[me], (long)exchange->value + me, target);
        shmem_fence();
        exchange->form->set(exchange->words, (size_t)me, exchange->value, target);
    }
}

static void check_arrived(const struct exchange *exchange, const char *routine, size_t pe, int *status)
{
    const char *name = exchange->form->name;
    CHECK_THAT(pe < (size_t)shmem_n_pes(), "shmem_%s_%s: index %zu", name, routine, pe);
    CHECK_THAT(!status[pe], "shmem_%s_%s: word %zu was found before", name, routine, pe);
    CHECK_THAT(exchange->data[pe] == (long)exchange->value + (long)pe,
               "shmem_%s_%s: the data of PE %zu are %ld when its word is found", name, routine, pe, exchange->data[pe]);
    status[pe] = 1;
}

static void collect_any(const struct exchange *exchange, bool waits, bool vector, int *status, const void *against)
{
    const struct form *form = exchange->form;
    size_t n = (size_t)shmem_n_pes();
    for (size_t found = 0; found < n;) {
        size_t pe =
            (waits ? form->wait_any : form->test_any)[vector](exchange->words, n, status, SHMEM_CMP_EQ, against);
        if (waits || pe != SIZE_MAX) {
            check_arrived(exchange, waits ? "wait_until_any" : "test_any", pe, status);
            found++;
        }
    }
    CHECK(form->wait_any[vector](exchange->words, n, status, SHMEM_CMP_EQ, against) == SIZE_MAX);
}

static void collect_some(const struct exchange *exchange, bool waits, bool vector, int *status, const void *against)
{
    const struct form *form = exchange->form;
    size_t n = (size_t)shmem_n_pes();
    size_t indices[PES_MAX];
    for (size_t found = 0; found < n;) {
        size_t count = (waits ? form->wait_some : form->test_some)[vector](exchange->words, n, indices, status,
                                                                           SHMEM_CMP_NE, against);
        CHECK_THAT(count <= n - found && (count || !waits), "shmem_%s: %zu words at once", form->name, count);
        for (size_t i = 0; i < count; i++)
            check_arrived(exchange, waits ? "wait_until_some" : "test_some", indices[i], status);
        found += count;
    }
    CHECK(form->wait_some[vector](exchange->words, n, indices, status, SHMEM_CMP_NE, against) == 0);
}

static void collect_all(const struct exchange *exchange, bool waits, bool vector, int *status, const void *against)
{
    const struct form *form = exchange->form;
    size_t n = (size_t)shmem_n_pes();
    if (waits)
        form->wait_all[vector](exchange->words, n, NULL, SHMEM_CMP_GE, against);
    else
        while (!form->test_all[vector](exchange->words, n, NULL, SHMEM_CMP_GE, against))
            ;
    for (size_t pe = 0; pe < n; pe++)
        check_arrived(exchange, waits ? "wait_until_all" : "test_all", pe, status);
}

typedef void (*collect_func_t)(const struct exchange *, bool waits, bool vector, int *status, const void *against);

/* against: of the same value for each word. */
static void check_exchange(const struct exchange *exchange, collect_func_t collect, int64_t value)
{
    int n = shmem_n_pes();
    int64_t against[PES_MAX];
    int status[PES_MAX];
    for (int pe = 0; pe < n; pe++)
        exchange->form->store(against, (size_t)pe, value);
    for (int variant = 0; variant < 4; variant++) {
        memset(status, 0, sizeof status);
        begin(exchange);
        update_all(exchange);
        collect(exchange, variant & 1, variant & 2, status, against);
        shmem_barrier_all();
    }
}

static void check_form(const struct form *form, void *words, long *data)
{
    struct exchange exchange = {form, words, data, form->is_signed ? 77 : -77};
    check_present(form, words);
    check_no_words(form);
    check_fairness(form, words);
    check_exchange(&exchange, collect_any, exchange.value);
    check_exchange(&exchange, collect_some, 0);
    check_exchange(&exchange, collect_all, exchange.value);
}

/* A large set of which one word at a time is satisfied, the last included; and its C11 generic forms. */
static void check_large_set(uint32_t *words)
{
    enum { LARGE = 3000 };
    size_t found;
    memset(words, 0, LARGE * sizeof *words);
    for (size_t i = 0; i < LARGE; i += 2999) {
        words[i] = 1;
        CHECK(shmem_test_any(words, LARGE, NULL, SHMEM_CMP_NE, 0u) == i);
        CHECK(shmem_wait_until_any(words, LARGE, NULL, SHMEM_CMP_GT, 0u) == i);
        CHECK(shmem_wait_until_some(words, LARGE, &found, NULL, SHMEM_CMP_GT, 0u) == 1 && found == i);
        CHECK(!shmem_test_all(words, LARGE, NULL, SHMEM_CMP_EQ, 0u));
        words[i] = 0;
    }
    shmem_wait_until_all(words, LARGE, NULL, SHMEM_CMP_EQ, 0u);
}

int main(void)
{
    enum { BYTES = 64 << 10 };
    static uint64_t static_words[BYTES / 8];
    static long static_data[PES_MAX];
    shmem_init();
    CHECK(shmem_n_pes() <= PES_MAX);
    uint64_t *heap_words = check_shmem_malloc(BYTES);
    long *heap_data = check_shmem_malloc(sizeof static_data);
    for (int i = 0; i < N_FORMS; i++) {
        check_form(&forms[i], heap_words, static_data);
        if (i % 4 == 0)
            check_form(&forms[i], static_words, heap_data);
    }
    check_large_set((uint32_t *)heap_words);
    check_large_set((uint32_t *)static_words);
    shmem_free(heap_data);
    shmem_free(heap_words);
    return check_end();
}
