/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the watchdog says of a wait for a word.
 */
#ifndef SHMEMI_WORD_TEXT_H
#define SHMEMI_WORD_TEXT_H

#include "shmem/internal.h"

/* A word, and what it is to become. Values are extended to 64 bits by sign or zeros. */
struct shmemi_condition {
    const struct shmemi_region *region; /* NULL: unknown */
    const void *address;
    int cmp;
    uint64_t value, found;
    bool is_signed;
};

/* Append "the word at 0x1000 (offset 64 of the symmetric heap) to be >= 5; it is 3". */
void shmemi_append_condition(char *text, size_t size, const struct shmemi_condition *condition);

#endif
