/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sorting of many pairs by a 64-bit key, in linear time.
 */
#ifndef SHMEMI_DEEP_SORT_H
#define SHMEMI_DEEP_SORT_H

#include <stddef.h>
#include <stdint.h>

struct shmemi_pair {
    uint64_t key, value;
};

/* Sort by key; pairs with the same key keep their order. other has room for n pairs. */
void shmemi_sort_pairs(struct shmemi_pair *pairs, size_t n, struct shmemi_pair *other);

#endif
