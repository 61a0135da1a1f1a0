/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What depends on the processor: copies of host memory that leave the caches alone, and the pause of a spin loop.
 */
#ifndef SHMEMI_PROCESSOR_H
#define SHMEMI_PROCESSOR_H

#include <stddef.h>

typedef void (*shmemi_streaming_copy_t)(void *dest, const void *source, size_t nbytes);

/* This processor's best way to copy what no core looks at soon. The ranges do not overlap. Whoever is then handed the
 * destination, by a lock or an atomic store, sees the copy. */
shmemi_streaming_copy_t shmemi_streaming_copy(void);

/* In each turn of a loop that waits for another thread: tens of nanoseconds that leave the core to its sibling. */
void shmemi_pause(void);

#endif
