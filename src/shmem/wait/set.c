/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting for, and testing, conditions on a set of words. A waiting thread holds no lock and advances communication on
 * every turn.
 */
#include "shmem/wait/set.h"

#include "base/likely.h"
#include "shmem/wait/word.h"
#include "shmem/wait/word_text.h"

enum { LESS = 1, EQUAL = 2, GREATER = 4 };

/* For each comparison, the relations of a word to the given value that satisfy it. */
static const unsigned char satisfying[] = {
    [SHMEM_CMP_EQ] = EQUAL, [SHMEM_CMP_NE] = LESS | GREATER,  [SHMEM_CMP_GT] = GREATER,
    [SHMEM_CMP_LT] = LESS,  [SHMEM_CMP_GE] = GREATER | EQUAL, [SHMEM_CMP_LE] = LESS | EQUAL,
};
enum { N_COMPARISONS = sizeof satisfying };

static void check_comparison(const struct shmemi_wait_set *set)
{
    if ((unsigned)set->cmp >= N_COMPARISONS || !satisfying[set->cmp])
        shmemi_fatal("%s: %d is not a comparison (SHMEM_CMP_*)", set->routine, set->cmp);
}

static bool is_member(const struct shmemi_wait_set *set, size_t i)
{
    return !set->status || !set->status[i];
}

static bool is_empty(const struct shmemi_wait_set *set)
{
    for (size_t i = 0; i < set->nelems; i++)
        if (is_member(set, i))
            return false;
    return true;
}

/* False if the set is empty; its pointers may then be invalid. */
static bool open_words(const struct shmemi_wait_set *set, struct shmemi_words *words)
{
    check_comparison(set);
    if (is_empty(set))
        return false;
    if (set->has_values)
        shmemi_require_pointer(set->routine, "cmp_values", set->values);
    shmemi_words_open(words, set->routine, set->ivars, set->nelems, set->size, set->is_signed);
    return true;
}

static unsigned relation(uint64_t a, uint64_t b, bool is_signed)
{
    if (a == b)
        return EQUAL;
    bool less = is_signed ? (int64_t)a < (int64_t)b : a < b;
    return less ? LESS : GREATER;
}

static uint64_t value_for(const struct shmemi_wait_set *set, size_t i)
{
    return set->has_values ? shmemi_word_load((const char *)set->values + i * set->size, set->size, set->is_signed)
                           : set->value;
}

static bool is_satisfied_by(const struct shmemi_wait_set *set, size_t i, uint64_t word)
{
    return satisfying[set->cmp] & relation(word, value_for(set, i), set->is_signed);
}

static bool is_satisfied(const struct shmemi_wait_set *set, struct shmemi_words *words, size_t i)
{
    return is_satisfied_by(set, i, shmemi_words_load(words, i));
}

/* ---- Description of a wait to the watchdog and traces ------------------------------------------------------------ */

struct word_wait {
    struct shmemi_call call;
    const struct shmemi_wait_set *set;
    struct shmemi_words *words;
    size_t first, n; /* range of words that it waits for; those outside the set are ignored */
};

/* Prints a word of GPU memory as it was when last read. */
static void describe_word(const struct shmemi_call *call, char *text, size_t size)
{
    const struct word_wait *wait = (const struct word_wait *)call;
    const struct shmemi_wait_set *set = wait->set;
    size_t i = wait->first;
    while (i + 1 < wait->first + wait->n && !is_member(set, i))
        i++;
    if (wait->n > 1)
        shmemi_append(text, size, "for one of %zu words: ", wait->n);
    const void *address = (const char *)set->ivars + i * set->size;
    shmemi_append_condition(text, size,
                            &(struct shmemi_condition){.region = shmemi_region_of(address),
                                                       .address = address,
                                                       .cmp = set->cmp,
                                                       .value = value_for(set, i),
                                                       .found = shmemi_words_load(wait->words, i),
                                                       .is_signed = set->is_signed});
}

static struct word_wait make_wait(const struct shmemi_wait_set *set, struct shmemi_words *words, size_t first, size_t n)
{
    return (struct word_wait){
        {.routine = set->routine, .activity = SHMEMI_AT_WAIT, .describe = describe_word}, set, words, first, n};
}

static __attribute__((noinline)) uint64_t wait_for_long(const struct shmemi_wait_set *set, struct shmemi_words *words,
                                                        size_t i)
{
    unsigned spins = 0;
    uint64_t word;
    struct word_wait wait = make_wait(set, words, i, 1);
    shmemi_span_begin(&wait.call);
    while (!is_satisfied_by(set, i, word = shmemi_words_load(words, i))) {
        shmemi_progress(&spins);
        shmemi_words_refresh(words);
    }
    shmemi_span_end(&wait.call);
    return word;
}

static uint64_t wait_for(const struct shmemi_wait_set *set, struct shmemi_words *words, size_t i)
{
    uint64_t word = shmemi_words_load(words, i);
    bool is_over = is_satisfied_by(set, i, word) && shmemi_likely(!shmemi_measure.is_on);
    return is_over ? word : wait_for_long(set, words, i);
}

/* ---- Looking at all words once ----------------------------------------------------------------------------------- */

static bool find_all(const struct shmemi_wait_set *set, struct shmemi_words *words)
{
    for (size_t i = 0; i < set->nelems; i++)
        if (is_member(set, i) && !is_satisfied(set, words, i))
            return false;
    return true;
}

/* xorshift, by G. Marsaglia. */
static uint64_t random_number(void)
{
    static _Thread_local uint64_t state = 0x9e3779b97f4a7c15;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Find words that satisfy the condition: store their indices and return their number. */
typedef size_t (*find_t)(const struct shmemi_wait_set *set, struct shmemi_words *words, size_t *indices);

/* Finds at most one. Starts at a random word, so that each satisfied word is found sooner or later, wherever others are
 * and whatever other sets the thread tests in between. */
static size_t find_any(const struct shmemi_wait_set *set, struct shmemi_words *words, size_t *index_p)
{
    size_t i = (size_t)(random_number() % set->nelems);
    for (size_t n = 0; n < set->nelems; n++) {
        if (is_member(set, i) && is_satisfied(set, words, i)) {
            *index_p = i;
            return 1;
        }
        i = i + 1 < set->nelems ? i + 1 : 0;
    }
    return 0;
}

/* Finds all, so that none is passed over. */
static size_t find_some(const struct shmemi_wait_set *set, struct shmemi_words *words, size_t *indices)
{
    size_t n = 0;
    shmemi_require_pointer(set->routine, "indices", indices);
    for (size_t i = 0; i < set->nelems; i++)
        if (is_member(set, i) && is_satisfied(set, words, i))
            indices[n++] = i;
    return n;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

uint64_t shmemi_wait_word(const struct shmemi_wait_set *set)
{
    struct shmemi_words words;
    open_words(set, &words);
    return wait_for(set, &words, 0);
}

void shmemi_wait_all(const struct shmemi_wait_set *set)
{
    struct shmemi_words words;
    if (!open_words(set, &words))
        return;
    struct shmemi_call call = {.routine = set->routine, .activity = SHMEMI_AT_WAIT};
    shmemi_span_begin(&call);
    for (size_t i = 0; i < set->nelems; i++)
        if (is_member(set, i))
            wait_for(set, &words, i);
    shmemi_span_end(&call);
}

static size_t wait_until_found(const struct shmemi_wait_set *set, find_t find, size_t *indices)
{
    struct shmemi_words words;
    unsigned spins = 0;
    size_t n;
    if (!open_words(set, &words))
        return 0;
    struct word_wait wait = make_wait(set, &words, 0, set->nelems);
    shmemi_span_begin(&wait.call);
    while (!(n = find(set, &words, indices))) {
        shmemi_progress(&spins);
        shmemi_words_refresh(&words);
    }
    shmemi_span_end(&wait.call);
    return n;
}

size_t shmemi_wait_any(const struct shmemi_wait_set *set)
{
    size_t found = SIZE_MAX;
    wait_until_found(set, find_any, &found);
    return found;
}

size_t shmemi_wait_some(const struct shmemi_wait_set *set, size_t *indices)
{
    return wait_until_found(set, find_some, indices);
}

/* ---- Testing ----------------------------------------------------------------------------------------------------- */

int shmemi_test_all(const struct shmemi_wait_set *set)
{
    struct shmemi_words words;
    if (!open_words(set, &words) || find_all(set, &words))
        return 1;
    shmemi_progress_between_tests();
    return 0;
}

static size_t test_whether_found(const struct shmemi_wait_set *set, find_t find, size_t *indices)
{
    struct shmemi_words words;
    size_t n = open_words(set, &words) ? find(set, &words, indices) : 0;
    if (!n)
        shmemi_progress_between_tests();
    return n;
}

size_t shmemi_test_any(const struct shmemi_wait_set *set)
{
    size_t found = SIZE_MAX;
    test_whether_found(set, find_any, &found);
    return found;
}

size_t shmemi_test_some(const struct shmemi_wait_set *set, size_t *indices)
{
    return test_whether_found(set, find_some, indices);
}
