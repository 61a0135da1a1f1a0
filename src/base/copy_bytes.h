/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copying to memory that other threads or PEs watch. A word of 2, 4 or 8 bytes that is aligned to its size arrives in
 * one store: nobody sees half of it, and nobody who resets it once it has come finds it set again. The C library's
 * copies do not promise that: they store the first and the last bytes of a short copy by two moves that overlap, so that
 * a word may be stored twice.
 *
 * In copies of more than SHMEMI_WHOLE_WORDS_MAX bytes this holds for the words in the first and the last 64 bytes only;
 * those between them are stored before the last ones.
 */
#ifndef SHMEMI_COPY_BYTES_H
#define SHMEMI_COPY_BYTES_H

#include "base/likely.h"

#include <stddef.h>
#include <string.h>

enum { SHMEMI_WHOLE_WORDS_MAX = 192 };

/* Any number of bytes. The ranges may overlap, and then words may be stored more than once. */
void shmemi_copy_words(void *dest, const void *source, size_t nbytes);

/* shmemi_copy_words with single words done in place: one load and one store, and no function is called. */
static inline void shmemi_copy_bytes(void *dest, const void *source, size_t nbytes)
{
    if (shmemi_likely(nbytes == 8))
        memcpy(dest, source, 8);
    else if (nbytes == 4)
        memcpy(dest, source, 4);
    else if (nbytes == 2)
        memcpy(dest, source, 2);
    else if (__builtin_constant_p(nbytes) && (nbytes == 1 || nbytes == 16))
        memcpy(dest, source, nbytes);
    else
        shmemi_copy_words(dest, source, nbytes);
}

#endif
