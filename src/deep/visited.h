/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The elements that the walk has visited, by address and type: a hash table with linear probing, at most three quarters
 * full.
 */
#ifndef SHMEMI_DEEP_VISITED_H
#define SHMEMI_DEEP_VISITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shmemi_visited_entry {
    uintptr_t address;
    uint32_t item_plus_1; /* the item that holds the element and has its type; 0 if the entry is free */
};

/* Initialise with zeros. */
struct shmemi_visited {
    struct shmemi_visited_entry *entries;
    size_t n;
    unsigned shift; /* 64 minus the binary logarithm of the number of entries */
};

/* Empty the table, and adapt its size to the last graph. False if there is no memory. */
bool shmemi_visited_clear(struct shmemi_visited *visited);
bool shmemi_visited_grow(struct shmemi_visited *visited);

static inline size_t shmemi_visited_size(unsigned shift)
{
    return (size_t)1 << (64 - shift);
}

static inline size_t shmemi_visited_place(uintptr_t address, unsigned shift)
{
    return (size_t)((uint64_t)address * 0x9e3779b97f4a7c15u >> shift);
}

static inline bool shmemi_visited_is_full(const struct shmemi_visited *visited)
{
    return visited->n >= shmemi_visited_size(visited->shift) / 4 * 3;
}

/* Fill the free entry that shmemi_walk_find has returned. */
static inline void shmemi_visited_enter(struct shmemi_visited *visited, struct shmemi_visited_entry *entry,
                                        uintptr_t address, uint32_t item)
{
    *entry = (struct shmemi_visited_entry){address, item + 1};
    visited->n++;
}

#endif
