/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers, the same on all PEs, and patterns of bytes that a key gives.
 */
#ifndef MODEL_NUMBERS_H
#define MODEL_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct random_numbers {
    uint64_t state;
};

static inline uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

static inline uint64_t next(struct random_numbers *numbers)
{
    return mix(numbers->state += 0x9e3779b97f4a7c15);
}

static inline size_t below(struct random_numbers *numbers, size_t bound)
{
    return (size_t)(next(numbers) >> 16) % bound;
}

static inline size_t between(struct random_numbers *numbers, size_t least, size_t most)
{
    return least + below(numbers, most - least + 1);
}

static inline int one_in(struct random_numbers *numbers, size_t n)
{
    return below(numbers, n) == 0;
}

/* Byte i of the pattern of a key is byte i % 8 of word i / 8. */
static inline uint64_t pattern_word(uint64_t key, size_t word)
{
    return mix(key + word * 0x9e3779b97f4a7c15);
}

static inline void pattern_fill(unsigned char *bytes, size_t nbytes, uint64_t key)
{
    for (size_t at = 0; at < nbytes; at += 8) {
        const uint64_t word = pattern_word(key, at / 8);
        memcpy(bytes + at, &word, nbytes - at < 8 ? nbytes - at : 8);
    }
}

/* A number of bytes up to `most`, near a limit of the library more often than not. */
size_t size_draw(struct random_numbers *numbers, size_t most);

#endif
