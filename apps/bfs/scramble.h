/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bijections of the numbers below some limit that leave nothing in its place.
 */
#ifndef BFS_SCRAMBLE_H
#define BFS_SCRAMBLE_H

#include <stdint.h>

#define SCRAMBLES 3

struct scramble {
    uint64_t limit;
    uint64_t mask; /* all bits that numbers below the limit have */
    int shift;
    uint64_t factor[SCRAMBLES]; /* odd */
    uint64_t term[SCRAMBLES];
};

/* limit is at least 1. */
struct scramble scramble_make(uint64_t seed, uint64_t limit);
uint64_t scramble(const struct scramble *s, uint64_t number);

/* A number that depends on all bits of x, and on nothing else. */
static inline uint64_t mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#define MIX_STEP UINT64_C(0x9e3779b97f4a7c15) /* between inputs of mix64: odd, bits spread evenly */

#endif
