/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A radix sort, least significant digit first, that looks only at the bits in which the keys differ.
 */
#include "deep/sort.h"

#include "base/tuning.h"

#include <stdbool.h>
#include <string.h>

enum { BITS_SMALL = 8, BITS_LARGE = 11 };

static void sort_few(struct shmemi_pair *pairs, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct shmemi_pair pair = pairs[i];
        size_t k = i;
        for (; k > 0 && pairs[k - 1].key > pair.key; k--)
            pairs[k] = pairs[k - 1];
        pairs[k] = pair;
    }
}

static bool is_sorted(const struct shmemi_pair *pairs, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (pairs[i - 1].key > pairs[i].key)
            return false;
    return true;
}

/* One pass: distribute the pairs by the given number of bits from shift on. */
static void distribute(const struct shmemi_pair *from, struct shmemi_pair *to, size_t n, unsigned shift, unsigned bits)
{
    size_t starts[1 << BITS_LARGE], start = 0;
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    memset(starts, 0, sizeof *starts << bits);
    for (size_t i = 0; i < n; i++)
        starts[from[i].key >> shift & mask]++;
    for (size_t digit = 0; digit <= mask; digit++) {
        size_t count = starts[digit];
        starts[digit] = start;
        start += count;
    }
    for (size_t i = 0; i < n; i++)
        to[starts[from[i].key >> shift & mask]++] = from[i];
}

void shmemi_sort_pairs(struct shmemi_pair *pairs, size_t n, struct shmemi_pair *other)
{
    if (n <= SHMEMI_SORT_FEW)
        sort_few(pairs, n);
    if (is_sorted(pairs, n))
        return;
    uint64_t differ = 0;
    for (size_t i = 1; i < n; i++)
        differ |= pairs[i].key ^ pairs[0].key;
    struct shmemi_pair *from = pairs, *to = other;
    unsigned bits = n < SHMEMI_SORT_LARGE ? BITS_SMALL : BITS_LARGE;
    for (unsigned shift = (unsigned)__builtin_ctzll(differ); shift < 64 && differ >> shift; shift += bits) {
        if (!(differ >> shift & (((uint64_t)1 << bits) - 1)))
            continue;
        distribute(from, to, n, shift, bits);
        struct shmemi_pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != pairs)
        memcpy(pairs, from, n * sizeof *pairs);
}
