/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a context holds back: small nonblocking transfers of a burst, which leave together.
 *
 * A run is a burst of transfers of equal length at equal distances, on both sides, with one PE's copy of a region: it
 * becomes one strided transfer. Its memory on this side is read, or written, when the run leaves; until quiet the program
 * leaves that alone. A batch holds copies of small puts from host memory, wherever they go (batch.h).
 *
 * Only bursts are held back: single transfers and the first of each burst leave at once, so that they travel while the
 * program computes. What is held back leaves
 *   - when there is enough of it,
 *   - before a fence or quiet of its context,
 *   - when a thread begins to wait in the library,
 *   - after one or two milliseconds, by the service thread.
 * Nothing orders it before other operations of the context but fence and quiet [OpenSHMEM 1.6, 9.12].
 *
 * Any thread may call these functions. 0 or -errno, logged; -EAGAIN: nothing was done, transfer it now.
 */
#ifndef SHMEMI_GATHER_H
#define SHMEMI_GATHER_H

#include "base/likely.h"
#include "transport/driver.h"
#include "transport/progress.h"

/* Longer transfers are not held back. */
enum { SHMEMI_GATHERED_MAX = 32 << 10 };

struct shmemi_run_limits {
    size_t begins_after; /* distances that were equal */
    size_t most;         /* bytes, about, with which it leaves */
};

/* A nonblocking put from, or get to, `mine`. */
int shmemi_gather_run(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *mine, size_t nbytes, bool is_put,
                      const struct shmemi_run_limits *limits);

/* A put of at most SHMEMI_BATCHED_PUT_MAX bytes of host memory, which may be reused on return. */
int shmemi_gather_bytes(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                        const void *source, size_t nbytes);

/* Does the program want that of every put that is small enough? */
static inline bool shmemi_gather_is_session(const struct shmemi_context *context)
{
    return shmemi_unlikely(atomic_load_explicit(&context->in_session, memory_order_relaxed));
}

/* For shmemi_completion_staged. In a session every put that fits is held back. */
extern const struct shmemi_gathering shmemi_gather_gathering;

/* Let everything leave that any context holds back, as far as no other thread is using that context. */
extern const struct shmemi_worker shmemi_worker_gather;

#endif
