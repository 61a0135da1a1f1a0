/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside transport/collect: where small transfers are collected. A sink's `take` returns -EAGAIN for a transfer that it
 * does not take, and has done nothing then; its `send` lets everything leave. Both are called with the context's `puts.lock`
 * held, but for those of lists (gpu_list.h), which have a lock of their own.
 */
#ifndef SHMEMI_SINKS_H
#define SHMEMI_SINKS_H

#include "transport/driver.h"

/* Transfers alike, the last of them, and how many of those are held back. Zeroed: none. */
struct shmemi_row_burst {
    const struct shmemi_view *view;
    struct shmemi_place mine; /* of the first that is held back */
    size_t offset;
    size_t nbytes;                 /* of each */
    size_t rows;                   /* held back */
    size_t peer_pitch, mine_pitch; /* from one to the next */
    size_t last_offset;            /* of the last, held back or not */
    uintptr_t last_address;
    size_t n_alike; /* so many followed each other at these distances */
    bool is_put;
};

struct shmemi_put_batch;

/* What a context needs to hold rows and batches back; made when it first does. */
struct shmemi_collector {
    struct shmemi_row_burst rows;
    struct shmemi_put_batch *batch; /* NULL: none yet */
    bool is_burst;                  /* of puts for the batch */
    unsigned n_puts;                /* that have followed each other quickly */
    uint64_t last_put;              /* time */
};

int shmemi_row_burst_take(struct shmemi_collector *collector, const struct shmemi_transfer *transfer);
int shmemi_row_burst_send(struct shmemi_collector *collector, struct shmemi_context *context);

int shmemi_put_batch_take(struct shmemi_collector *collector, const struct shmemi_transfer *transfer);
int shmemi_put_batch_send(struct shmemi_collector *collector, struct shmemi_context *context);
/* Announce about so many puts. */
void shmemi_put_batch_open(struct shmemi_collector *collector, size_t expected);
void shmemi_put_batch_close(struct shmemi_collector *collector);

#endif
