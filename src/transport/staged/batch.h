/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches: small puts of a context to one PE, gathered into a message that the owner takes apart (SHMEMI_REQUEST_SCATTER).
 * Any thread. 0 or -errno, logged.
 */
#ifndef SHMEMI_BATCH_H
#define SHMEMI_BATCH_H

#include "transport/driver.h"
#include "transport/request.h"

/* Larger puts gain nothing from a batch. */
enum { SHMEMI_BATCHED_PUT_MAX = 512 };

/* Begin to batch the puts of a context, of which about this many are expected; again: no effect. A job of one node
 * has nothing to batch. */
int shmemi_batch_open(struct shmemi_context *context, size_t expected);
/* Send what is left and stop. */
int shmemi_batch_close(struct shmemi_context *context);

static inline bool shmemi_batch_takes(const struct shmemi_context *context, const struct shmemi_place *source,
                                      size_t nbytes)
{
    return __builtin_expect(context->batch != NULL, 0) && nbytes <= SHMEMI_BATCHED_PUT_MAX &&
           source->memory == &shmemi_memory_host;
}

/* Add a put. The source may be reused on return. */
int shmemi_batch_put(struct shmemi_context *context, const struct shmemi_view *view, size_t offset, const void *source,
                     size_t nbytes);
/* Send everything; it is complete after the context's quiet. */
int shmemi_batch_flush(struct shmemi_context *context);

/* The owner's end: carry out the puts in a payload of this size. Everything is checked before any memory is touched:
 * -EINVAL, logged, for a payload that is not well formed. */
int shmemi_batch_scatter(const struct shmemi_request *request, const void *payload);

#endif
