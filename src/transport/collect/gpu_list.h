/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small operations on GPU memory that this process has an address for, collected into lists that a kernel carries out
 * all at once (gpu/list.h).
 *
 * A context collects into one list at a time. The list is started
 *   - when nothing else of the context is under way and it has reached a length that grows from 1, so that a single
 *     operation leaves at once and many of them share kernels,
 *   - when it is full,
 *   - before other operations of the context on GPU memory,
 *   - when all that is held back leaves (hold_back.h).
 *
 * Operations of one list take effect in no particular order; lists take effect one after the other. Quiet waits for
 * all.
 *
 * Any thread may call these functions. 0 or -errno, logged; -EAGAIN: nothing was done, do without a list.
 */
#ifndef SHMEMI_GPU_LIST_H
#define SHMEMI_GPU_LIST_H

#include "transport/driver.h"

/* For a driver with SHMEMI_SINK_LIST. */
int shmemi_gpu_list_take(const struct shmemi_transfer *transfer);

/* A transfer of at most SHMEMI_GPU_BATCH_SIZE bytes. A source in host memory may be reused on return; dest of a get is
 * filled at quiet. */
int shmemi_gpu_list_copy(struct shmemi_context *context, const struct shmemi_place *dest,
                         const struct shmemi_place *source, size_t nbytes);

/* A transfer by a list that is complete on return. Whatever else the context has collected comes before it. */
int shmemi_gpu_list_copy_now(struct shmemi_context *context, const struct shmemi_place *dest,
                             const struct shmemi_place *source, size_t nbytes);

/* An atomic operation by lists, on a view that has them (view->by_atomic_unit). The old value arrives at quiet. Waits for a
 * list if none is free. */
int shmemi_gpu_list_amo(struct shmemi_context *context, const struct shmemi_place *word, const struct shmemi_amo *amo,
                        void *fetch_p);
/* An atomic operation by lists whose old value is in *fetch_p on return. */
int shmemi_gpu_list_amo_now(struct shmemi_context *context, const struct shmemi_place *word,
                            const struct shmemi_amo *amo, void *fetch_p);

/* A transfer, and an atomic operation that takes effect after it. Both leave at once. */
int shmemi_gpu_list_copy_then_amo(struct shmemi_context *context, const struct shmemi_place *dest,
                                  const struct shmemi_place *source, size_t nbytes, const struct shmemi_place *word,
                                  const struct shmemi_amo *amo);

/* Start what the context has collected. Reports what has failed since the last call, too. */
int shmemi_gpu_list_flush(struct shmemi_context *context);
/* Wait for all that was started before. */
int shmemi_gpu_list_complete(struct shmemi_context *context);

/* Is all that was started complete? */
bool shmemi_gpu_list_is_finished(struct shmemi_context *context);

#endif
