/* SPDX-License-Identifier: BSD-3-Clause
 *
 * x86-64 processors. Streaming copies use non-temporal stores, which do not read the cache lines of the destination
 * first. These stores are weakly ordered, so each copy ends with a store fence.
 */
#include "gpu/copy_threads/processor.h"

#include "base/copy_bytes.h"

#include <immintrin.h>
#include <stdint.h>

enum { SSE_BYTES = 16, AVX_BYTES = 32, AVX512_BYTES = 64, BLOCK = 128, LINE = 64, AHEAD = 1024 };

/* Bytes before the first address that is aligned for the stores. */
static size_t head_of(const char *dest, size_t alignment, size_t nbytes)
{
    size_t head = -(uintptr_t)dest & (alignment - 1);
    return head < nbytes ? head : nbytes;
}

/* Prefetch by hand: the processor by itself does not prefetch beyond the end of a page. */
static inline void prefetch_block(const char *source)
{
    for (int i = 0; i < BLOCK; i += LINE)
        _mm_prefetch(source + AHEAD + i, _MM_HINT_T0);
}

/* Every x86-64 processor has SSE2. */
static void copy_sse2(void *dest_p, const void *source_p, size_t nbytes)
{
    char *dest = dest_p;
    const char *source = source_p, *end = source + nbytes;
    size_t head = head_of(dest, SSE_BYTES, nbytes);
    shmemi_copy_words(dest, source, head);
    dest += head;
    source += head;
    for (; end - source >= BLOCK; source += BLOCK, dest += BLOCK) {
        prefetch_block(source);
        for (int i = 0; i < BLOCK; i += SSE_BYTES)
            _mm_stream_si128((__m128i *)(dest + i), _mm_loadu_si128((const __m128i *)(source + i)));
    }
    _mm_sfence();
    shmemi_copy_words(dest, source, (size_t)(end - source));
}

static __attribute__((target("avx"))) void copy_avx(void *dest_p, const void *source_p, size_t nbytes)
{
    char *dest = dest_p;
    const char *source = source_p, *end = source + nbytes;
    size_t head = head_of(dest, AVX_BYTES, nbytes);
    shmemi_copy_words(dest, source, head);
    dest += head;
    source += head;
    for (; end - source >= BLOCK; source += BLOCK, dest += BLOCK) {
        prefetch_block(source);
        for (int i = 0; i < BLOCK; i += AVX_BYTES)
            _mm256_stream_si256((__m256i *)(dest + i), _mm256_loadu_si256((const __m256i *)(source + i)));
    }
    _mm_sfence();
    shmemi_copy_words(dest, source, (size_t)(end - source));
}

static __attribute__((target("avx512f"))) void copy_avx512(void *dest_p, const void *source_p, size_t nbytes)
{
    char *dest = dest_p;
    const char *source = source_p, *end = source + nbytes;
    size_t head = head_of(dest, AVX512_BYTES, nbytes);
    shmemi_copy_words(dest, source, head);
    dest += head;
    source += head;
    for (; end - source >= BLOCK; source += BLOCK, dest += BLOCK) {
        prefetch_block(source);
        for (int i = 0; i < BLOCK; i += AVX512_BYTES)
            _mm512_stream_si512((__m512i *)(dest + i), _mm512_loadu_si512(source + i));
    }
    _mm_sfence();
    shmemi_copy_words(dest, source, (size_t)(end - source));
}

shmemi_streaming_copy_t shmemi_streaming_copy(void)
{
    if (__builtin_cpu_supports("avx512f"))
        return copy_avx512;
    return __builtin_cpu_supports("avx") ? copy_avx : copy_sse2;
}

void shmemi_pause(void)
{
    _mm_pause();
}
