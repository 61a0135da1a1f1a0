/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What depends on the processor: copies of host memory that leave the caches alone, and the pause of a spin loop.
 */
#ifndef SHMEMI_PROCESSOR_H
#define SHMEMI_PROCESSOR_H

#include <stddef.h>

typedef void (*shmemi_streaming_copy_t)(void *dest, const void *source, size_t nbytes);

/* This processor's best way to copy what no core will look at soon. The ranges do not overlap. A thread that is then
 * told of the copy by a lock or an atomic store sees it. */
shmemi_streaming_copy_t shmemi_streaming_copy(void);

/* To be called in each turn of a loop that waits for another thread: for some tens of nanoseconds, it leaves the core
 * to the sibling thread. */
void shmemi_pause(void);

#endif
