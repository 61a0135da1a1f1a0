/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sorting of many pairs by a 64-bit key, in linear time; and search in sorted arrays.
 */
#ifndef SHMEMI_DEEP_SORT_H
#define SHMEMI_DEEP_SORT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct shmemi_pair {
    uint64_t key, value;
};

/* Sort by key; pairs with the same key keep their order. other has room for n pairs. */
void shmemi_sort_pairs(struct shmemi_pair *pairs, size_t n, struct shmemi_pair *other);

/* How many elements of an array have keys up to `most`. The array is sorted by a 64-bit key at byte `at` of each element.
 */
static inline size_t shmemi_sorted_up_to(const void *array, size_t n, size_t size, size_t at, uint64_t most)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t key;
        memcpy(&key, (const char *)array + middle * size + at, sizeof key);
        if (key <= most)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
