/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waiting for, and testing, conditions on a set of words [9.11]. A single word is a set of one.
 */
#ifndef SHMEMI_WAIT_SET_H
#define SHMEMI_WAIT_SET_H

#include "shmem/internal.h"

struct shmemi_wait_set {
    const char *routine;
    const void *ivars;
    size_t nelems;
    const int *status; /* nonzero: the word is not in the set; NULL: all are */
    unsigned size;     /* of a word */
    bool is_signed;
    int cmp;
    uint64_t value;  /* to compare with, extended by sign or zeros as the type requires */
    bool has_values; /* a value for each word, of the words' type; otherwise value is for all words */
    const void *values;
};

/* Wait for the first word, which must be in the set. Returns the value that satisfied the condition. */
uint64_t shmemi_wait_word(const struct shmemi_wait_set *set);

void shmemi_wait_all(const struct shmemi_wait_set *set);
size_t shmemi_wait_any(const struct shmemi_wait_set *set); /* SIZE_MAX if the set is empty */
size_t shmemi_wait_some(const struct shmemi_wait_set *set, size_t *indices);

int shmemi_test_all(const struct shmemi_wait_set *set);
size_t shmemi_test_any(const struct shmemi_wait_set *set); /* SIZE_MAX if none satisfies the condition */
size_t shmemi_test_some(const struct shmemi_wait_set *set, size_t *indices);

#endif
