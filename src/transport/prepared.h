/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host memory that the program has prepared for transfers: page-locked for the GPU and registered with the network
 * until the program releases it. A range prepared twice must be released twice. Any thread may call.
 */
#ifndef SHMEMI_PREPARED_H
#define SHMEMI_PREPARED_H

#include "base/likely.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* How the network makes host memory ready for transfers. register_memory returns NULL, logged, when it refuses. */
struct shmemi_registrar {
    void *(*register_memory)(void *address, size_t size);
    void (*unregister_memory)(void *handle);
};
/* registrar is NULL when there is no network. */
void shmemi_prepared_open(const struct shmemi_registrar *registrar);

/* Prepare a range; if is_ready, the library has already prepared it for itself, and it is only counted. -EEXIST,
 * logged, when the range overlaps a different prepared range. Memory that cannot be registered stays usable: its
 * transfers are slower, which is logged once. */
int shmemi_prepare(void *address, size_t size, bool is_ready);
/* -EINVAL, logged, when no prepared range begins at address. */
int shmemi_release(void *address);

/* What has become of a range. is_prepared: all of it lies in one prepared range; is_registered: the network has made that
 * ready; is_locked: it is page-locked for a GPU, by whomever. */
struct shmemi_prepared_state {
    bool is_prepared, is_locked, is_registered;
};
struct shmemi_prepared_state shmemi_prepared_state(const void *address, size_t size);

/* A kind of GPU memory is in use from now on: page-lock what has been prepared before. */
void shmemi_prepared_pin(void);
/* Release everything; no transfer is under way, network and GPU kinds are still open. */
void shmemi_prepared_close(void);

/* Number of prepared ranges. Read on the fast path; relaxed: the ranges are read under their lock. */
extern atomic_size_t shmemi_prepared_count;
/* The network's handle of the prepared range that holds these bytes; NULL when there is none. */
void *shmemi_prepared_find(const void *address, size_t nbytes);

static inline void *shmemi_prepared_handle(const void *address, size_t nbytes)
{
    if (shmemi_likely(!atomic_load_explicit(&shmemi_prepared_count, memory_order_relaxed)))
        return NULL;
    return shmemi_prepared_find(address, nbytes);
}

#endif
