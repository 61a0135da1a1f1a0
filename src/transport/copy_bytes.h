/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copying to and from memory of another PE that is mapped in this process. A word of 2, 4 or 8 bytes is copied by one
 * move instruction: no reader sees half of it, and no function is called.
 */
#ifndef SHMEMI_COPY_BYTES_H
#define SHMEMI_COPY_BYTES_H

#include "base/likely.h"

#include <stddef.h>
#include <string.h>

static inline void shmemi_copy_bytes(void *dest, const void *source, size_t nbytes)
{
    if (shmemi_likely(nbytes == 8))
        memcpy(dest, source, 8);
    else if (nbytes == 4)
        memcpy(dest, source, 4);
    else if (nbytes == 2)
        memcpy(dest, source, 2);
    else
        memcpy(dest, source, nbytes);
}

#endif
