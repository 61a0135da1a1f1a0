/* SPDX-License-Identifier: BSD-3-Clause */
#include "deep/visited.h"

#include "deep/walk.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SHIFT = 64 - 6, GROWTH = 3, LARGE_SHIFT = 64 - 18 };
_Static_assert(1 << (64 - FIRST_SHIFT) == SHMEMI_VISITED_FIRST_SIZE, "the first table");

static inline size_t place_of(uintptr_t address, unsigned shift)
{
    return (size_t)((uint64_t)address * 0x9e3779b97f4a7c15u >> shift);
}

static inline size_t size_of(unsigned shift)
{
    return (size_t)1 << (64 - shift);
}

void shmemi_visited_open(struct shmemi_visited *visited)
{
    visited->entries = visited->first;
    visited->n = 0;
    visited->shift = FIRST_SHIFT;
    memset(visited->first, 0, sizeof visited->first);
}

void shmemi_visited_close(struct shmemi_visited *visited)
{
    if (visited->entries != visited->first)
        free(visited->entries);
    visited->entries = visited->first;
}

static bool grow(struct shmemi_visited *visited)
{
    unsigned shift = visited->shift - (visited->shift > LARGE_SHIFT ? GROWTH : 1);
    size_t mask = size_of(shift) - 1;
    struct shmemi_visited_entry *larger = calloc(mask + 1, sizeof *larger);
    if (!larger)
        return false;
    for (size_t i = 0; i < size_of(visited->shift); i++) {
        struct shmemi_visited_entry entry = visited->entries[i];
        if (!entry.item_plus_1)
            continue;
        size_t place = place_of(entry.address, shift);
        while (larger[place].item_plus_1)
            place = (place + 1) & mask;
        larger[place] = entry;
    }
    shmemi_visited_close(visited);
    visited->entries = larger;
    visited->shift = shift;
    return true;
}

struct shmemi_visited_entry *shmemi_visited_find(struct shmemi_visited *visited, const struct shmemi_walk_item *items,
                                                 uintptr_t address, const struct shmemi_type *type)
{
    if (2 * (visited->n + 1) > size_of(visited->shift) && !grow(visited))
        return NULL;
    size_t mask = size_of(visited->shift) - 1;
    struct shmemi_visited_entry *entries = visited->entries;
    size_t place = place_of(address, visited->shift);
    while (entries[place].item_plus_1 &&
           (entries[place].address != address || items[entries[place].item_plus_1 - 1].type != type))
        place = (place + 1) & mask;
    return &entries[place];
}
