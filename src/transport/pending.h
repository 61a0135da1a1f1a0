/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counting operations under way, by any number of threads, without a lock.
 *
 * An operation is counted as issued after it has been posted. A thread that completes operations reads that count,
 * waits for all that were posted by then, and only then raises the count of settled ones to what it read: another
 * thread that finds its own operation among the settled ones can rely on it.
 */
#ifndef SHMEMI_PENDING_H
#define SHMEMI_PENDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct shmemi_count {
    _Atomic uint64_t issued;
    _Atomic uint64_t settled; /* the first so many are complete */
};

/* Count one more operation. Returns the number of operations before it. */
static inline uint64_t shmemi_count_issue(struct shmemi_count *count)
{
    return atomic_fetch_add_explicit(&count->issued, 1, memory_order_acq_rel);
}

static inline uint64_t shmemi_count_issued(const struct shmemi_count *count)
{
    return atomic_load_explicit(&count->issued, memory_order_acquire);
}

static inline bool shmemi_count_is_settled(const struct shmemi_count *count, uint64_t issued)
{
    return atomic_load_explicit(&count->settled, memory_order_acquire) >= issued;
}

/* Raise the count of settled operations; never lowers it. */
static inline void shmemi_count_settle(struct shmemi_count *count, uint64_t issued)
{
    uint64_t settled = atomic_load_explicit(&count->settled, memory_order_relaxed);
    while (settled < issued && !atomic_compare_exchange_weak_explicit(&count->settled, &settled, issued,
                                                                      memory_order_acq_rel, memory_order_relaxed))
        continue;
}

/* Which functions complete an operation that is not complete on return. Several drivers may share a kind. */
enum shmemi_pending_kind {
    SHMEMI_PENDING_DIRECT, /* copies that this process has started */
    SHMEMI_PENDING_UCX,
    SHMEMI_PENDING_STAGED, /* requests */
    SHMEMI_PENDING_KINDS,
    SHMEMI_PENDING_DEEP = SHMEMI_PENDING_KINDS, /* deep copies: not a driver's, finished by quiet of the API */
    SHMEMI_PENDING_HELD,                        /* what is held back (transport/collect) */
};

struct shmemi_pending {
    /* Bit of each kind that was ever in use: 0 on a context that only loads and stores. Relaxed: the counts have the order. */
    _Atomic unsigned kinds;
    struct shmemi_count of[SHMEMI_PENDING_KINDS];
};

static inline bool shmemi_pending_any(const struct shmemi_pending *pending)
{
    return atomic_load_explicit(&pending->kinds, memory_order_relaxed);
}

/* An operation will be posted later, at the latest when quiet begins. */
static inline void shmemi_pending_expect(struct shmemi_pending *pending, enum shmemi_pending_kind kind)
{
    if (!(atomic_load_explicit(&pending->kinds, memory_order_relaxed) & 1u << kind))
        atomic_fetch_or_explicit(&pending->kinds, 1u << kind, memory_order_relaxed);
}

/* An operation has been posted. */
static inline void shmemi_pending_issue(struct shmemi_pending *pending, enum shmemi_pending_kind kind)
{
    shmemi_pending_expect(pending, kind);
    shmemi_count_issue(&pending->of[kind]);
}

/* Since this was last cleared, some context may have held transfers back, whether they have left meanwhile or not. */
extern atomic_bool shmemi_pending_is_held;

/* Network operations that are waited for together; zeroed: none. The issuing thread counts `issued`, UCX's callbacks
 * count `completed`. */
struct shmemi_ucx_batch {
    _Atomic uint64_t issued;
    _Atomic uint64_t completed;
    atomic_int status; /* UCX's, of the first error; relaxed: `completed` is raised behind it, by a release */
};

#endif
