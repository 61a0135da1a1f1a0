/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contiguous copies between a shadow context and another one. Between two GPUs without peer access the driver copies
 * through host memory of its own; so does this, faster. Private to the files of the CUDA kind of memory.
 *
 * Each side works on the calling thread's stream of the context of its own memory, so that copies to and from one
 * object are in order with that thread's other copies.
 */
#ifndef SHMEMI_CUDA_RELAY_H
#define SHMEMI_CUDA_RELAY_H

#include "gpu/cuda/context.h"

/* Both places are in CUDA memory, in known contexts of which one is a shadow. -ENOTSUP when there is no page-locked
 * memory: copy some other way. copy returns when the data is in place; start sets an event for that. */
int shmemi_cuda_relay_copy(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes);
int shmemi_cuda_relay_start(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                            struct shmemi_event *event_p);

/* Make the page-locked memory for copies to and from a shadow context, once; the first copy does otherwise. */
void shmemi_cuda_relay_prepare(struct shmemi_cuda_context *shadow);

/* Free what a shadow context has for it. The context is current and nothing is under way. */
void shmemi_cuda_relay_close(struct shmemi_cuda_context *shadow);

#endif
