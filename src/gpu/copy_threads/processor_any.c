/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processors that have no file of their own: plain copies.
 */
#include "gpu/copy_threads/processor.h"

#include "base/copy_bytes.h"

#include <stdatomic.h>

void shmemi_streaming_copy(void *dest, const void *source, size_t nbytes)
{
    shmemi_copy_words(dest, source, nbytes);
}

void shmemi_pause(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}
