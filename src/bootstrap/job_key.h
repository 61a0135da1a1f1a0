/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The job's key: a random number that only the PEs of the job know. PE 0 makes it, and the launcher's own channel takes
 * it to the others. Whatever may come from outside carries it: a message without it has no effect.
 */
#ifndef SHMEMI_KEY_H
#define SHMEMI_KEY_H

#include <stdbool.h>
#include <stdint.h>

struct shmemi_key {
    uint64_t word[2];
};

/* Compares two keys in a time that does not tell how much of them is equal. */
static inline bool shmemi_key_equals(const struct shmemi_key *one, const struct shmemi_key *other)
{
    return ((one->word[0] ^ other->word[0]) | (one->word[1] ^ other->word[1])) == 0;
}

/* 0 or -errno, logged. */
int shmemi_key_make(struct shmemi_key *key);

/* A message that is not of this job came this way ("to its socket for descriptors") and is ignored: warns at the first
 * one, so that whoever sends them cannot fill the log, and counts. Any thread. */
void shmemi_ignore_foreign(const char *way);
/* How many messages without the job's key have come. */
unsigned long shmemi_foreign_messages(void);

#endif
