/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads of words that others update, in host or GPU memory.
 */
#include "shmem/wait/word.h"

static struct shmemi_place locate(const char *routine, const void *address, size_t nbytes, unsigned size)
{
    if (!address)
        shmemi_fatal("%s: the address of the words is NULL", routine);
    if ((uintptr_t)address % size)
        shmemi_fatal("%s: %p is not aligned to its %u bytes", routine, address, size);
    if (shmemi_unlikely(shmemi_settings.check))
        shmemi_check_block(routine, "", address, nbytes);
    if (shmemi_likely(shmemi_is_in_heap(address, nbytes)))
        return shmemi_place_host(address);
    const struct shmemi_region *region = shmemi_region_of(address);
    size_t offset = region ? (size_t)((const char *)address - region->base) : 0;
    if (!region || !shmemi_region_holds(region, offset, nbytes))
        shmemi_refuse_target(routine, address, nbytes, shmemi_job.pe);
    struct shmemi_place place = region->place;
    place.address += offset;
    return place;
}

void shmemi_words_open(struct shmemi_words *words, const char *routine, const void *address, size_t n, unsigned size,
                       bool is_signed)
{
    words->place = locate(routine, address, shmemi_bytes_of(n, size), size);
    words->n = n;
    words->size = size;
    words->is_signed = is_signed;
    words->block_first = 0;
    words->block_n = 0;
}

/* Block and array consist of whole words, and copies of GPU memory do not split words. */
static void read_block(struct shmemi_words *words, size_t first)
{
    size_t most = SHMEMI_WORDS_BLOCK_BYTES / words->size;
    size_t n = words->n - first < most ? words->n - first : most;
    struct shmemi_place source = words->place, dest = shmemi_place_host(words->block);
    struct shmemi_shape shape = shmemi_shape_linear(n * words->size);
    source.address += first * words->size;
    if (shmemi_memory_copy(&dest, &source, &shape))
        shmemi_give_up();
    words->block_first = first;
    words->block_n = n;
}

const void *shmemi_words_fetch(struct shmemi_words *words, size_t i)
{
    if (i - words->block_first >= words->block_n)
        read_block(words, i);
    return words->block + (i - words->block_first) * words->size;
}

uint64_t shmemi_load_word(const char *routine, const void *address, unsigned size)
{
    struct shmemi_words words;
    shmemi_words_open(&words, routine, address, 1, size, false);
    return shmemi_words_load(&words, 0);
}

void shmemi_progress_between_tests(void)
{
    static _Thread_local unsigned n_failed;
    unsigned spins = n_failed++ % SHMEMI_TEST_PERIOD;
    shmemi_progress(&spins);
}
