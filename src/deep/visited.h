/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which elements the walk knows, by address and type: open addressing with linear probing, at most half full.
 */
#ifndef SHMEMI_DEEP_VISITED_H
#define SHMEMI_DEEP_VISITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shmemi_type;
struct shmemi_walk_item;

struct shmemi_visited_entry {
    uintptr_t address;
    uint32_t item_plus_1; /* that it belongs to, and which tells the type; 0: the entry is free */
};

enum { SHMEMI_VISITED_FIRST_SIZE = 64 };

struct shmemi_visited {
    struct shmemi_visited_entry *entries;
    size_t n;
    unsigned shift; /* 64 less the logarithm of the number of entries */
    struct shmemi_visited_entry first[SHMEMI_VISITED_FIRST_SIZE];
};

void shmemi_visited_open(struct shmemi_visited *visited);
void shmemi_visited_close(struct shmemi_visited *visited);

/* The entry of an element, or the free one where it belongs. NULL when there is no memory for a larger table. An entry
 * stays where it is until the next call. */
struct shmemi_visited_entry *shmemi_visited_find(struct shmemi_visited *visited, const struct shmemi_walk_item *items,
                                                 uintptr_t address, const struct shmemi_type *type);

/* Take up the free entry that find has given. */
static inline void shmemi_visited_enter(struct shmemi_visited *visited, struct shmemi_visited_entry *entry,
                                        uintptr_t address, uint32_t item)
{
    *entry = (struct shmemi_visited_entry){address, item + 1};
    visited->n++;
}

#endif
