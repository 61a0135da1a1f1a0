/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Code that depends on the processor: copies of host memory that bypass the caches, and the pause of a spin loop.
 */
#ifndef SHMEMI_PROCESSOR_H
#define SHMEMI_PROCESSOR_H

#include <stddef.h>

/* Copy data that no core will read soon, past the caches. The ranges must not overlap. A lock or an atomic store after the
 * copy makes it visible to other threads, as usual. */
void shmemi_streaming_copy(void *dest, const void *source, size_t nbytes);

/* To be called in each turn of a loop that waits for another thread: leaves the core to its other hardware thread for
 * some tens of nanoseconds. */
void shmemi_pause(void);

#endif
