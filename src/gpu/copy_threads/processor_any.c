/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processors that have no file of their own: the C library copies.
 */
#include "gpu/copy_threads/processor.h"

#include "base/copy_bytes.h"

#include <stdatomic.h>

static void copy_plain(void *dest, const void *source, size_t nbytes)
{
    shmemi_copy_words(dest, source, nbytes);
}

shmemi_streaming_copy_t shmemi_streaming_copy(void)
{
    return copy_plain;
}

void shmemi_pause(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}
