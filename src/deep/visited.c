/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of the table of visited elements.
 */
#include "deep/visited.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SHIFT = 64 - 6, GROWTH = 3, LARGE_SHIFT = 64 - 18 };

bool shmemi_visited_clear(struct shmemi_visited *visited)
{
    unsigned shift = FIRST_SHIFT;
    if (!visited->entries) {
        visited->entries = calloc(shmemi_visited_size(shift), sizeof *visited->entries);
        visited->shift = shift;
        return visited->entries != NULL;
    }
    while (shift > visited->shift && 2 * visited->n > shmemi_visited_size(shift))
        shift--;
    memset(visited->entries, 0, shmemi_visited_size(shift) * sizeof *visited->entries);
    visited->shift = shift;
    visited->n = 0;
    return true;
}

bool shmemi_visited_grow(struct shmemi_visited *visited)
{
    unsigned shift = visited->shift - (visited->shift > LARGE_SHIFT ? GROWTH : 1);
    size_t mask = shmemi_visited_size(shift) - 1;
    struct shmemi_visited_entry *larger = calloc(mask + 1, sizeof *larger);
    if (!larger)
        return false;
    for (size_t i = 0; i < shmemi_visited_size(visited->shift); i++) {
        struct shmemi_visited_entry entry = visited->entries[i];
        if (!entry.item_plus_1)
            continue;
        size_t place = shmemi_visited_place(entry.address, shift);
        while (larger[place].item_plus_1)
            place = (place + 1) & mask;
        larger[place] = entry;
    }
    free(visited->entries);
    visited->entries = larger;
    visited->shift = shift;
    return true;
}
