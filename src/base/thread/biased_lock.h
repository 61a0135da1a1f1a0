/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A lock that costs its first user hardly anything: two plain stores, where an ordinary one needs an atomic exchange,
 * which also waits for all earlier stores. For data that nearly always one thread uses, and others only seldom.
 *
 * The first thread that locks it is its owner: it says that it is inside, and then looks whether the lock has become an
 * ordinary one. Any other thread makes it one, and waits until the owner is not inside. What keeps these two
 * apart is membarrier(2): when that returns, either the owner will see that the lock is an ordinary one, or what it has
 * said is visible. Where the kernel does not have that call, the lock is an ordinary one from the beginning. An owner that
 * has had it SHMEMI_BIASED_TURNS times in a row makes it its own again: then it saves more than membarrier takes.
 *
 * Zeroed: free and without an owner. It is held for a short time; those who wait for it spin and yield.
 */
#ifndef SHMEMI_BIASED_LOCK_H
#define SHMEMI_BIASED_LOCK_H

#include "base/likely.h"
#include "base/wake/interleave.h"
#include "base/tuning.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct shmemi_biased_lock {
    _Atomic uintptr_t owner;     /* the thread that came first, by the address below; 0: none has come */
    atomic_bool is_ordinary;     /* for the owner, too */
    atomic_bool owner_is_inside; /* by its own way, without is_taken; only the owner writes it */
    atomic_bool is_taken;
    unsigned owner_turns; /* in a row, by the ordinary way; under is_taken */
};

extern _Thread_local char shmemi_this_thread __attribute__((tls_model("initial-exec")));

/* The ordinary ways in and out. Locking makes a thread the owner if there has been none. */
void shmemi_biased_lock_slowly(struct shmemi_biased_lock *lock);
bool shmemi_biased_try_lock_slowly(struct shmemi_biased_lock *lock);
void shmemi_biased_unlock_slowly(struct shmemi_biased_lock *lock);

static inline __attribute__((always_inline)) bool shmemi_biased_is_owner(const struct shmemi_biased_lock *lock)
{
    return atomic_load_explicit(&lock->owner, memory_order_relaxed) == (uintptr_t)&shmemi_this_thread;
}

/* The owner's way in. False for others, and when the lock is an ordinary one. */
static inline __attribute__((always_inline)) bool shmemi_biased_enter(struct shmemi_biased_lock *lock)
{
    if (!shmemi_biased_is_owner(lock))
        return false;
    atomic_store_explicit(&lock->owner_is_inside, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the other half is membarrier */
    shmemi_interleave();
    if (shmemi_likely(!atomic_load_explicit(&lock->is_ordinary, memory_order_relaxed)))
        return true;
    atomic_store_explicit(&lock->owner_is_inside, false, memory_order_release);
    return false;
}

/* Out again, after shmemi_biased_enter. */
static inline __attribute__((always_inline)) void shmemi_biased_leave(struct shmemi_biased_lock *lock)
{
    atomic_store_explicit(&lock->owner_is_inside, false, memory_order_release);
}

static inline __attribute__((always_inline)) void shmemi_biased_lock(struct shmemi_biased_lock *lock)
{
    if (!shmemi_likely(shmemi_biased_enter(lock)))
        shmemi_biased_lock_slowly(lock);
}

static inline bool shmemi_biased_try_lock(struct shmemi_biased_lock *lock)
{
    if (shmemi_biased_is_owner(lock) && atomic_load_explicit(&lock->owner_is_inside, memory_order_relaxed))
        return false;
    return shmemi_biased_enter(lock) || shmemi_biased_try_lock_slowly(lock);
}

static inline __attribute__((always_inline)) void shmemi_biased_unlock(struct shmemi_biased_lock *lock)
{
    if (shmemi_likely(shmemi_biased_is_owner(lock) &&
                      atomic_load_explicit(&lock->owner_is_inside, memory_order_relaxed)))
        atomic_store_explicit(&lock->owner_is_inside, false, memory_order_release);
    else
        shmemi_biased_unlock_slowly(lock);
}

#endif
