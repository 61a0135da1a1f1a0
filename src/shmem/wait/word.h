/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words of 2, 4 or 8 bytes that others update while this PE reads them: in host memory, or in mapped GPU memory, which
 * CPU loads cannot reach. Loads are acquires: what was ordered before the update that a load reads is visible too.
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

    /* GPU memory is read in blocks, because even the shortest copy takes microseconds. */
    size_t block_first, block_n;
    _Alignas(8) unsigned char block[SHMEMI_WORDS_BLOCK_BYTES];
};

/* Set all members but the block. Ends the job, naming the routine, unless the words are aligned and symmetric. */
void shmemi_words_open(struct shmemi_words *words, const char *routine, const void *address, size_t n, unsigned size,
                       bool is_signed);

/* The word at a host address, extended to 64 bits by sign or zeros as its type requires. */
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

/* The copy of word number i of mapped memory, made now or earlier together with its neighbours. */
const void *shmemi_words_fetch(struct shmemi_words *words, size_t i);

/* Word number i, extended to 64 bits. */
static inline uint64_t shmemi_words_load(struct shmemi_words *words, size_t i)
{
    const void *address = (const char *)words->place.address + i * words->size;
    if (words->place.memory != &shmemi_memory_host)
        address = shmemi_words_fetch(words, i);
    return shmemi_word_load(address, words->size, words->is_signed);
}

/* Make the next loads read the memory again. */
static inline void shmemi_words_refresh(struct shmemi_words *words)
{
    words->block_n = 0;
}

/* Called by a test that fails: lets communication advance and, if the node has more PEs than cores, yields the core
 * from time to time. It does not sleep, since the program may have other work. */
void shmemi_progress_between_tests(void);

#endif
