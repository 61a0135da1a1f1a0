/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches: small puts of a context to one PE, gathered into one message that the owner takes apart
 * (SHMEMI_REQUEST_SCATTER). gather.c decides which puts are gathered and when they leave; a batch is used by one thread
 * at a time. 0 or -errno, logged.
 */
#ifndef SHMEMI_BATCH_H
#define SHMEMI_BATCH_H

#include "transport/driver.h"
#include "transport/request.h"

/* Larger puts gain nothing from a batch. */
enum { SHMEMI_BATCHED_PUT_MAX = 512 };

struct shmemi_batch;

/* About so many puts are expected. NULL, logged: out of memory. */
struct shmemi_batch *shmemi_batch_open(size_t expected);
/* Nothing may be left in it. NULL is allowed, here and below. */
void shmemi_batch_close(struct shmemi_batch *batch);

/* Add a put. The source may be reused on return. */
int shmemi_batch_add(struct shmemi_batch *batch, struct shmemi_context *context, const struct shmemi_view *view,
                     size_t offset, const void *source, size_t nbytes);
int shmemi_batch_send_all(struct shmemi_batch *batch, struct shmemi_context *context);

/* The owner's end: carry out the puts in a payload of this size. Everything is checked before any memory is touched:
 * -EINVAL, logged, for a payload that is not well formed. */
int shmemi_batch_scatter(const struct shmemi_request *request, const void *payload);

#endif
