/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies that store each byte once. The stores are volatile: the compiler then neither makes them a call of memcpy nor
 * merges or splits them.
 */
#include "base/copy_bytes.h"

#include <stdint.h>

typedef uint16_t half_t __attribute__((may_alias, aligned(1)));
typedef uint32_t word_t __attribute__((may_alias, aligned(1)));
typedef uint64_t long_t __attribute__((may_alias, aligned(1)));
typedef uint64_t vector_t __attribute__((vector_size(16), may_alias, aligned(1)));

enum { VECTOR = sizeof(vector_t), ENDS = 64 };

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE void move_1(char *dest, const char *source)
{
    *(volatile char *)dest = *source;
}

static ALWAYS_INLINE void move_2(char *dest, const char *source)
{
    *(volatile half_t *)dest = *(const half_t *)source;
}

static ALWAYS_INLINE void move_4(char *dest, const char *source)
{
    *(volatile word_t *)dest = *(const word_t *)source;
}

static ALWAYS_INLINE void move_8(char *dest, const char *source)
{
    *(volatile long_t *)dest = *(const long_t *)source;
}

static ALWAYS_INLINE void move_16(char *dest, const char *source)
{
    *(volatile vector_t *)dest = *(const vector_t *)source;
}

/* From a dest on that is aligned to 8 bytes, or that holds no word that is aligned. */
static ALWAYS_INLINE void copy_aligned(char *dest, const char *source, size_t nbytes)
{
    size_t at = 0;
#pragma GCC unroll 4
    for (; at + VECTOR <= nbytes; at += VECTOR)
        move_16(dest + at, source + at);
    if (nbytes & 8)
        move_8(dest + at, source + at), at += 8;
    if (nbytes & 4)
        move_4(dest + at, source + at), at += 4;
    if (nbytes & 2)
        move_2(dest + at, source + at), at += 2;
    if (nbytes & 1)
        move_1(dest + at, source + at);
}

static __attribute__((noinline)) void copy_misaligned(char *dest, const char *source, size_t nbytes)
{
    size_t at = 0;
    if ((uintptr_t)dest & 1)
        move_1(dest, source), at = 1;
    if ((uintptr_t)(dest + at) & 2 && nbytes - at >= 2)
        move_2(dest + at, source + at), at += 2;
    if ((uintptr_t)(dest + at) & 4 && nbytes - at >= 4)
        move_4(dest + at, source + at), at += 4;
    copy_aligned(dest + at, source + at, nbytes - at);
}

static ALWAYS_INLINE void copy_small(char *dest, const char *source, size_t nbytes)
{
    if (shmemi_unlikely((uintptr_t)dest % 8 && nbytes))
        copy_misaligned(dest, source, nbytes);
    else
        copy_aligned(dest, source, nbytes);
}

/* The words at both ends by moves of our own, and the last ones last; those in the middle by the C library. */
static __attribute__((noinline)) void copy_large(char *dest, const char *source, size_t nbytes)
{
    const size_t head = ENDS + -(uintptr_t)dest % 8, middle = (nbytes - head - ENDS) / 8 * 8;
    copy_small(dest, source, head);
    memcpy(dest + head, source + head, middle);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    copy_aligned(dest + head + middle, source + head + middle, nbytes - head - middle);
}

void shmemi_copy_words(void *dest, const void *source, size_t nbytes)
{
    const uintptr_t to = (uintptr_t)dest, from = (uintptr_t)source;
    if (shmemi_unlikely(to - from < nbytes || from - to < nbytes))
        memmove(dest, source, nbytes);
    else if (shmemi_likely(nbytes <= SHMEMI_WHOLE_WORDS_MAX))
        copy_small(dest, source, nbytes);
    else
        copy_large(dest, source, nbytes);
}
