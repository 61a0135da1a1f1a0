/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hash functions for layouts and shapes, with 64-bit results that are equal in all processes.
 */
#ifndef SHMEMI_DEEP_HASH_H
#define SHMEMI_DEEP_HASH_H

#include <stdint.h>

/* Add a value to a hash. Not symmetric, so the order of values matters, and a value equal to the hash so far is no
 * special case. */
static inline uint64_t shmemi_hash_add(uint64_t hash, uint64_t value)
{
    hash = hash * UINT64_C(0x9e3779b97f4a7c15) + value + 1;
    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 29;
}

/* Hash of two values. Faster for many pairs, whose hashes are summed, because none depends on the one before. */
static inline uint64_t shmemi_hash_pair(uint64_t seed, uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)(a ^ seed) * (b ^ UINT64_C(0xe7037ed1a0b428db));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#endif
