/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting for, and testing, conditions on a set of words. Nothing is locked while a thread waits, and every turn of a
 * wait lets communication advance.
 */
#include "shmem/wait_set.h"

#include "shmem/wait_word.h"

enum { LESS = 1, EQUAL = 2, GREATER = 4 };

/* The relations between a word and the value to compare with that satisfy a condition. */
static const unsigned char satisfying[] = {
    [SHMEM_CMP_EQ] = EQUAL,   [SHMEM_CMP_NE] = LESS | GREATER,  [SHMEM_CMP_GT] = GREATER,
    [SHMEM_CMP_LT] = LESS,    [SHMEM_CMP_GE] = GREATER | EQUAL, [SHMEM_CMP_LE] = LESS | EQUAL,
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

/* False when the set is empty: then the pointers of the set lead nowhere, perhaps. */
static bool open_words(const struct shmemi_wait_set *set, struct shmemi_words *words)
{
    check_comparison(set);
    if (is_empty(set))
        return false;
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

static bool is_satisfied_by(const struct shmemi_wait_set *set, size_t i, uint64_t word)
{
    uint64_t value = set->value;
    if (set->values)
        value = shmemi_word_load((const char *)set->values + i * set->size, set->size, set->is_signed);
    return satisfying[set->cmp] & relation(word, value, set->is_signed);
}

static bool is_satisfied(const struct shmemi_wait_set *set, struct shmemi_words *words, size_t i)
{
    return is_satisfied_by(set, i, shmemi_words_load(words, i));
}

static uint64_t wait_for(const struct shmemi_wait_set *set, struct shmemi_words *words, size_t i)
{
    unsigned spins = 0;
    for (;;) {
        uint64_t word = shmemi_words_load(words, i);
        if (is_satisfied_by(set, i, word))
            return word;
        shmemi_progress(&spins);
        shmemi_words_refresh(words);
    }
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

/* The first look goes to any of the words: wherever else satisfied ones are, whatever other sets the thread looks at in
 * between, each satisfied word is found sooner or later. */
static size_t find_any(const struct shmemi_wait_set *set, struct shmemi_words *words)
{
    size_t i = (size_t)(random_number() % set->nelems);
    for (size_t n = 0; n < set->nelems; n++) {
        if (is_member(set, i) && is_satisfied(set, words, i))
            return i;
        i = i + 1 < set->nelems ? i + 1 : 0;
    }
    return SIZE_MAX;
}

/* All that are satisfied, so that none is passed over. */
static size_t find_some(const struct shmemi_wait_set *set, struct shmemi_words *words, size_t *indices)
{
    size_t n = 0;
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
    for (size_t i = 0; i < set->nelems; i++)
        if (is_member(set, i))
            wait_for(set, &words, i);
}

size_t shmemi_wait_any(const struct shmemi_wait_set *set)
{
    struct shmemi_words words;
    unsigned spins = 0;
    if (!open_words(set, &words))
        return SIZE_MAX;
    for (;;) {
        size_t found = find_any(set, &words);
        if (found != SIZE_MAX)
            return found;
        shmemi_progress(&spins);
        shmemi_words_refresh(&words);
    }
}

size_t shmemi_wait_some(const struct shmemi_wait_set *set, size_t *indices)
{
    struct shmemi_words words;
    unsigned spins = 0;
    if (!open_words(set, &words))
        return 0;
    for (;;) {
        size_t n = find_some(set, &words, indices);
        if (n)
            return n;
        shmemi_progress(&spins);
        shmemi_words_refresh(&words);
    }
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

size_t shmemi_test_any(const struct shmemi_wait_set *set)
{
    struct shmemi_words words;
    size_t found = open_words(set, &words) ? find_any(set, &words) : SIZE_MAX;
    if (found == SIZE_MAX)
        shmemi_progress_between_tests();
    return found;
}

size_t shmemi_test_some(const struct shmemi_wait_set *set, size_t *indices)
{
    struct shmemi_words words;
    size_t n = open_words(set, &words) ? find_some(set, &words, indices) : 0;
    if (!n)
        shmemi_progress_between_tests();
    return n;
}
