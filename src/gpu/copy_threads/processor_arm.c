/* SPDX-License-Identifier: BSD-3-Clause
 *
 * 64-bit Arm. Streaming copies are plain ones: whether stores past the caches (stnp) help was measured on no such machine.
 */
#include "gpu/copy_threads/processor.h"

#include "base/copy_bytes.h"

void shmemi_streaming_copy(void *dest, const void *source, size_t nbytes)
{
    shmemi_copy_words(dest, source, nbytes);
}

void shmemi_pause(void)
{
    __asm__("yield" ::: "memory");
}
