/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 64-bit Arm. Streaming copies are plain ones: whether stores past the caches (stnp) help was measured on no such machine.
 */
#include "gpu/copy_threads/processor.h"

#include "base/copy_bytes.h"

shmemi_streaming_copy_t shmemi_streaming_copy(void)
{
    return shmemi_copy_words;
}

void shmemi_pause(void)
{
    __asm__ volatile("yield" ::: "memory");
}
