/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words of 2, 4 or 8 bytes that others update while this PE looks at them: in host memory, or in mapped GPU memory,
 * whose addresses a CPU load must not touch. Loads acquire: what was ordered before the update that a load sees is
 * there too.
 */
#ifndef SHMEMI_WAIT_WORD_H
#define SHMEMI_WAIT_WORD_H

#include "shmem/internal.h"

enum { SHMEMI_WORDS_BLOCK_BYTES = 512 };

/* An array of words of one type. */
struct shmemi_words {
    struct shmemi_place place; /* of the first */
    size_t n;
    unsigned size; /* of a word */
    bool is_signed;

    /* GPU memory is read a block at a time, because a copy takes its microseconds however short it is. */
    size_t block_first, block_n;
    _Alignas(8) unsigned char block[SHMEMI_WORDS_BLOCK_BYTES];
};

/* Set everything but the block. Ends the job, naming the routine, when the address is misaligned or leads nowhere. */
void shmemi_words_open(struct shmemi_words *words, const char *routine, const void *address, size_t n, unsigned size,
                       bool is_signed);

/* The word at a host address, extended to 64 bits as its type asks. */
static inline uint64_t shmemi_word_load(const void *address, unsigned size, bool is_signed)
{
    if (size == 8)
        return __atomic_load_n((const uint64_t *)address, __ATOMIC_ACQUIRE);
    if (size == 4) {
        uint32_t word = __atomic_load_n((const uint32_t *)address, __ATOMIC_ACQUIRE);
        return is_signed ? (uint64_t)(int32_t)word : word;
    }
    uint16_t word = __atomic_load_n((const uint16_t *)address, __ATOMIC_ACQUIRE);
    return is_signed ? (uint64_t)(int16_t)word : word;
}

/* Where word number i of mapped memory has been copied to, now or with its neighbours. */
const void *shmemi_words_fetch(struct shmemi_words *words, size_t i);

/* Word number i, extended. */
static inline uint64_t shmemi_words_load(struct shmemi_words *words, size_t i)
{
    const void *address = (const char *)words->place.address + i * words->size;
    if (words->place.memory != &shmemi_memory_host)
        address = shmemi_words_fetch(words, i);
    return shmemi_word_load(address, words->size, words->is_signed);
}

/* Let the next loads look at the memory again. */
static inline void shmemi_words_refresh(struct shmemi_words *words)
{
    words->block_n = 0;
}

/* Called by a routine that tells the program "not yet": lets communication advance, and from time to time gives the
 * core away when the node has more PEs than cores. Does not sleep, since the program has things to do. */
void shmemi_progress_between_tests(void);

#endif
