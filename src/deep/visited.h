/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which elements the walk knows, by address and type: open addressing with linear probing, at most three quarters full.
 */
#ifndef SHMEMI_DEEP_VISITED_H
#define SHMEMI_DEEP_VISITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shmemi_visited_entry {
    uintptr_t address;
    uint32_t item_plus_1; /* that it belongs to, and which tells the type; 0: the entry is free */
};

/* All zero before the first use. */
struct shmemi_visited {
    struct shmemi_visited_entry *entries;
    size_t n;
    unsigned shift; /* 64 less the logarithm of the number of entries */
};

/* Make the table empty, of the size that the last graph has shown to be right. False without memory. */
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

/* Take up the free entry that find has given. */
static inline void shmemi_visited_enter(struct shmemi_visited *visited, struct shmemi_visited_entry *entry,
                                        uintptr_t address, uint32_t item)
{
    *entry = (struct shmemi_visited_entry){address, item + 1};
    visited->n++;
}

#endif
