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

enum { VECTOR = sizeof(vector_t), BLOCK = 4 * VECTOR };

struct ends {
    char *dest;
    const char *source;
    size_t left;
};

static inline void move_1(struct ends *ends)
{
    *(volatile char *)ends->dest = *ends->source;
    ends->dest++, ends->source++, ends->left--;
}

static inline void move_2(struct ends *ends)
{
    *(volatile half_t *)ends->dest = *(const half_t *)ends->source;
    ends->dest += 2, ends->source += 2, ends->left -= 2;
}

static inline void move_4(struct ends *ends)
{
    *(volatile word_t *)ends->dest = *(const word_t *)ends->source;
    ends->dest += 4, ends->source += 4, ends->left -= 4;
}

static inline void move_8(struct ends *ends)
{
    *(volatile long_t *)ends->dest = *(const long_t *)ends->source;
    ends->dest += 8, ends->source += 8, ends->left -= 8;
}

static inline void move_16(struct ends *ends)
{
    *(volatile vector_t *)ends->dest = *(const vector_t *)ends->source;
    ends->dest += VECTOR, ends->source += VECTOR, ends->left -= VECTOR;
}

static inline void move_block(struct ends *ends)
{
    const vector_t *source = (const vector_t *)ends->source;
    volatile vector_t *dest = (volatile vector_t *)ends->dest;
    const vector_t first = source[0], second = source[1], third = source[2], fourth = source[3];
    dest[0] = first;
    dest[1] = second;
    dest[2] = third;
    dest[3] = fourth;
    ends->dest += BLOCK, ends->source += BLOCK, ends->left -= BLOCK;
}

/* Up to the first address in dest that is aligned to 8 bytes. */
static inline void move_head(struct ends *ends)
{
    if ((uintptr_t)ends->dest & 1 && ends->left)
        move_1(ends);
    if ((uintptr_t)ends->dest & 2 && ends->left >= 2)
        move_2(ends);
    if ((uintptr_t)ends->dest & 4 && ends->left >= 4)
        move_4(ends);
}

static inline void move_rest(struct ends *ends)
{
    while (ends->left >= BLOCK)
        move_block(ends);
    while (ends->left >= VECTOR)
        move_16(ends);
    if (ends->left >= 8)
        move_8(ends);
    if (ends->left >= 4)
        move_4(ends);
    if (ends->left >= 2)
        move_2(ends);
    if (ends->left)
        move_1(ends);
}

static inline void copy_small(void *dest, const void *source, size_t nbytes)
{
    struct ends ends = {dest, source, nbytes};
    if (shmemi_unlikely((uintptr_t)dest % 8))
        move_head(&ends);
    move_rest(&ends);
}

/* The words at both ends by moves of our own, and the last ones last; whole blocks in the middle by the C library. */
static void copy_large(char *dest, const char *source, size_t nbytes)
{
    const size_t head = -(uintptr_t)dest % BLOCK + BLOCK, middle = (nbytes - head - BLOCK) / BLOCK * BLOCK;
    copy_small(dest, source, head);
    memcpy(dest + head, source + head, middle);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    copy_small(dest + head + middle, source + head + middle, nbytes - head - middle);
}

void shmemi_copy_words(void *dest, const void *source, size_t nbytes)
{
    const uintptr_t to = (uintptr_t)dest, from = (uintptr_t)source;
    const size_t apart = to > from ? to - from : from - to;
    if (shmemi_unlikely(apart < nbytes))
        memmove(dest, source, nbytes);
    else if (nbytes <= SHMEMI_WHOLE_WORDS_MAX)
        copy_small(dest, source, nbytes);
    else
        copy_large(dest, source, nbytes);
}
