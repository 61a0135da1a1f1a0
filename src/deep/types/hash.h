/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hashes of layouts and shapes: equal in all processes, spread over 64 bits.
 */
#ifndef SHMEMI_DEEP_HASH_H
#define SHMEMI_DEEP_HASH_H

#include <stdint.h>

/* The hash so far and the next value, which play different parts: order counts, and a value that is equal to the hash
 * so far is nothing special. */
static inline uint64_t shmemi_hash_add(uint64_t hash, uint64_t value)
{
    hash = hash * UINT64_C(0x9e3779b97f4a7c15) + value + 1;
    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 29;
}

/* Two values at once, for sums of many: none waits for the one before. */
static inline uint64_t shmemi_hash_pair(uint64_t seed, uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)(a ^ seed) * (b ^ UINT64_C(0xe7037ed1a0b428db));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
