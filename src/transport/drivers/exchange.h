/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Synchronisation and small exchanges between all PEs, for the runtime's own use: through the node segment inside a
 * node, between the leaders of the nodes by dissemination over words in the first bytes of their heaps. A collective
 * of the runtime: every PE calls in the same order, one thread at a time.
 */
#ifndef SHMEMI_EXCHANGE_H
#define SHMEMI_EXCHANGE_H

#include "transport/driver.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SHMEMI_EXCHANGE_BYTES = 64 << 10,      /* of every heap, at its start */
    SHMEMI_STREAM_WORDS_OFFSET = 32 << 10, /* where words of stream barriers begin (transport/stream/barrier.c) */
    SHMEMI_WATCHED_OFFSET = 48 << 10,      /* where words of watched operations begin (transport/stream/watched.c) */
    /* at SHMEMI_PRESENCE_OFFSET: transport/drivers/presence.h */
    SHMEMI_CAUSE_BYTES = 192,
};

/* What the PEs agree upon: the refusal of the lowest PE that refuses, the extremes of a value that must be equal on all
 * PEs, and the bits that all PEs set. */
struct shmemi_verdict {
    int32_t pe;     /* the lowest PE that refuses; INT32_MAX when none does */
    int32_t reason; /* -errno, of that PE */
    uint64_t least, most;
    uint64_t common; /* bits set by all PEs */
    char cause[SHMEMI_CAUSE_BYTES];
};

/* view_of: finds a PE's heap; workspace: the start of this PE's heap. */
void shmemi_exchange_open(const struct shmemi_view *(*view_of)(int pe), void *workspace);
void shmemi_exchange_close(void);

/* A PE's heap, which begins with the words of the exchange. */
const struct shmemi_view *shmemi_exchange_view(int pe);

/* Wait for all PEs. */
int shmemi_exchange_barrier(void);

/* Combine the verdicts of all PEs; all get the same result. Implies a barrier. */
int shmemi_exchange_agree(struct shmemi_verdict *verdict);

/* Show a record of at most SHMEMI_RECORD_BYTES to the PEs of this node, and see theirs: publish, read as often as
 * needed, then conclude (both imply a barrier of the node). */
void shmemi_exchange_publish(const void *record, size_t size);
const void *shmemi_exchange_record(int node_rank);
void shmemi_exchange_conclude(void);

#endif
