/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processors that have no file of their own: plain copies.
 */
#include "gpu/copy_threads/processor.h"

#include "base/copy_bytes.h"

#include <stdatomic.h>

shmemi_streaming_copy_t shmemi_streaming_copy(void)
{
    return shmemi_copy_words;
}

void shmemi_pause(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}
