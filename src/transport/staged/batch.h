/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches: small puts of a context to one PE, gathered into one message that the owner takes apart
 * (SHMEMI_REQUEST_SCATTER). Any thread may call. 0 or -errno, logged.
 */
#ifndef SHMEMI_BATCH_H
#define SHMEMI_BATCH_H

#include "base/likely.h"
#include "transport/driver.h"
#include "transport/request.h"

/* Larger puts gain nothing from a batch. */
enum { SHMEMI_BATCHED_PUT_MAX = 512 };

/* For shmemi_completion_staged. A job of one node has nothing to batch. */
extern const struct shmemi_gathering shmemi_batch_gathering;

static inline bool shmemi_batch_takes(const struct shmemi_context *context, const struct shmemi_place *source,
                                      size_t nbytes)
{
    return shmemi_unlikely(context->batch != NULL) && nbytes <= SHMEMI_BATCHED_PUT_MAX &&
           source->memory == &shmemi_memory_host;
}

/* Add a put. The source may be reused on return. */
int shmemi_batch_put(struct shmemi_context *context, const struct shmemi_view *view, size_t offset, const void *source,
                     size_t nbytes);

/* The owner's end: carry out the puts in a payload of this size. Everything is checked before any memory is touched:
 * -EINVAL, logged, for a payload that is not well formed. */
int shmemi_batch_scatter(const struct shmemi_request *request, const void *payload);

#endif
