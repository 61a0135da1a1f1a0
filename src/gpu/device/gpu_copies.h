/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of GPU memory.
 */
#ifndef SHMEMI_GPU_COPIES_H
#define SHMEMI_GPU_COPIES_H

#include "base/tuning.h"
#include "gpu/device/gpu_context.h"

/* gpu/device/gpu_copy.c */
int shmemi_gpu_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                    const struct shmemi_shape *shape);
int shmemi_gpu_copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                          const struct shmemi_shape *shape, struct shmemi_event *event_p);
int shmemi_gpu_copy_beside(const struct shmemi_place *dest, const struct shmemi_place *source,
                           const struct shmemi_shape *shape, struct shmemi_event *event_p);
int shmemi_gpu_event_test(struct shmemi_event *event);
int shmemi_gpu_event_wait(struct shmemi_event *event);
extern const struct shmemi_bursts shmemi_gpu_bursts;
extern const struct shmemi_channels shmemi_gpu_channels;

/* gpu/device/enqueue.c: start a copy in a stream of the current context. An object that is not NULL is that context's
 * record. */
int shmemi_gpu_enqueue(const struct shmemi_place *dest, const struct shmemi_place *source,
                       const struct shmemi_shape *shape, void *stream);
/* Does a kernel copy these rows, because it is quicker, or the driver has no call for them? */
bool shmemi_gpu_is_for_kernel(const struct shmemi_place *dest, const struct shmemi_place *source,
                              const struct shmemi_shape *shape);

/* gpu/device/pageable.c: large copies between pageable host memory and this kind, by copy threads */
/* The copy is complete on return. -ENOTSUP, not logged, when it is not such a copy or there are no copy threads: then
 * the driver copies. One thread copies at a time. The context is current. */
int shmemi_gpu_copy_pageable(struct shmemi_gpu_context *context, void *stream, const struct shmemi_place *dest,
                             const struct shmemi_place *source, const struct shmemi_shape *shape);
/* Host memory of which a part is page-locked and a part is not; complete on return. The context is current. */
int shmemi_gpu_copy_mixed(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                          void *stream);

/* gpu/device/kernels/rows.c: strided copies by a kernel. -ENOTSUP, with nothing done, when the memory is not of one
 * context, when rows of dest overlap, or when there are no kernels or no way to see the end of one: the driver copies
 * then. The context is current. */

/* Is the kernel quicker than the driver's 2-D copy? */
bool shmemi_gpu_rows_pay(const struct shmemi_shape *shape);

int shmemi_gpu_rows_enqueue(const struct shmemi_place *dest, const struct shmemi_place *source,
                            const struct shmemi_shape *shape, void *stream);
/* On this thread's stream; complete on return. */
int shmemi_gpu_rows_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                         const struct shmemi_shape *shape);

/* gpu/device/gpu_relay.c: contiguous copies between a shadow context and another one. Each side works on the calling
 * thread's stream of the context of its own memory, so that copies to and from one object are in order with that
 * thread's other copies. */

/* Both places are in GPU memory, in known contexts of which one is a shadow. -ENOTSUP when there is no page-locked
 * memory: the caller copies in another way. copy returns when the data is in place; start sets an event for that. */
int shmemi_gpu_relay_copy(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes);
int shmemi_gpu_relay_start(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                           struct shmemi_event *event_p);

/* Make the page-locked memory for copies to and from a shadow context, once; otherwise the first copy makes it. */
void shmemi_gpu_relay_prepare(struct shmemi_gpu_context *shadow);

/* Free a shadow context's page-locked memory. The context is current and nothing is under way. */
void shmemi_gpu_relay_close(struct shmemi_gpu_context *shadow);

#endif
