/* SPDX-License-Identifier: BSD-3-Clause
 *
 * x86-64 processors. Copies past the caches use non-temporal stores, which do not read the cache lines of the destination
 * first. These stores are weakly ordered, so each copy ends with a store fence. Those of SSE2, which every such processor
 * has, are as quick as wider ones, since a processor gathers whole lines of them: 64 MiB in pieces of 2 MiB took 40 GB/s
 * with stores of 16, 32 and 64 bytes.
 */
#include "gpu/copy_threads/processor.h"

#include "base/copy_bytes.h"
#include "base/least.h"
#include "base/tuning.h"

#include <immintrin.h>
#include <stdint.h>

enum { STORE = 16, BLOCK = 128, LINE = 64 };

/* The processor by itself does not prefetch beyond the end of a page. */
static inline void prefetch_block(const char *source)
{
    for (int i = 0; i < BLOCK; i += LINE)
        _mm_prefetch(source + SHMEMI_COPY_PREFETCH + i, _MM_HINT_T0);
}

void shmemi_streaming_copy(void *dest_p, const void *source_p, size_t nbytes)
{
    char *dest = dest_p;
    const char *source = source_p, *end = source + nbytes;
    const size_t head =
        shmemi_least(-(uintptr_t)dest % STORE, nbytes); /* up to an address that is aligned for stores */
    shmemi_copy_words(dest, source, head);
    dest += head;
    source += head;
    for (; end - source >= BLOCK; source += BLOCK, dest += BLOCK) {
        prefetch_block(source);
        for (int i = 0; i < BLOCK; i += STORE)
            _mm_stream_si128((__m128i *)(dest + i), _mm_loadu_si128((const __m128i *)(source + i)));
    }
    _mm_sfence();
    shmemi_copy_words(dest, source, (size_t)(end - source));
}

void shmemi_pause(void)
{
    _mm_pause();
}
