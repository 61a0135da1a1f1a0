/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the copy of a host address. Copies are added unsorted and sorted at the next look-up, so a space into which
 * only one graph is mapped never sorts. They form a few sorted runs; runs of similar length are merged.
 */
#ifndef SHMEMI_SPACE_INDEX_H
#define SHMEMI_SPACE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shmemi_space_copy;

struct shmemi_index_run;

struct shmemi_index {
    struct shmemi_index_run *runs;
    size_t n_runs, room;
    size_t n_entries, n_ended; /* in all runs */
    bool is_sorted;
};

/* Reserve memory for n more copies, so that add cannot fail. 0 or -ENOMEM. */
int shmemi_index_reserve(struct shmemi_index *index, size_t n);
/* Add an array of n copies, for which memory was reserved. Live copies never overlap. */
void shmemi_index_add(struct shmemi_index *index, struct shmemi_space_copy *copies, size_t n);
/* Note that n copies are no longer live. True if the index then refers to live copies only. */
bool shmemi_index_end(struct shmemi_index *index, size_t n);
/* The live copy at the lowest address that has a byte in [address, address + size), or NULL. */
struct shmemi_space_copy *shmemi_index_find(struct shmemi_index *index, uintptr_t address, size_t size);
void shmemi_index_close(struct shmemi_index *index);

#endif
