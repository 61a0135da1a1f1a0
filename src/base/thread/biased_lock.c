/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways into a biased lock that need atomic operations or the kernel.
 */
#include "base/thread/biased_lock.h"

#include "base/thread/cores.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local char shmemi_this_thread __attribute__((tls_model("initial-exec")));

static bool has_membarrier;

static void find_membarrier(void)
{
    has_membarrier = !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

/* With is_taken. */
static void become_owner(struct shmemi_biased_lock *lock)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_membarrier);
    atomic_store_explicit(&lock->is_ordinary, !has_membarrier, memory_order_relaxed);
    shmemi_interleave();
    atomic_store_explicit(&lock->owner, (uintptr_t)&shmemi_this_thread, memory_order_release);
}

/* With is_taken. The kernel, with which this process is registered, cannot refuse membarrier now. */
static void make_ordinary(struct shmemi_biased_lock *lock)
{
    if (atomic_load_explicit(&lock->is_ordinary, memory_order_relaxed))
        return;
    atomic_store(&lock->is_ordinary, true);
    shmemi_interleave();
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    shmemi_interleave();
}

/* With is_taken, of an ordinary lock: wait until the owner has left. */
static void await_owner(const struct shmemi_biased_lock *lock)
{
    for (unsigned spins = 1; atomic_load_explicit(&lock->owner_is_inside, memory_order_acquire); spins++)
        if (spins % 1024 == 0)
            shmemi_yield();
}

static bool take(struct shmemi_biased_lock *lock)
{
    return !atomic_exchange_explicit(&lock->is_taken, true, memory_order_acquire);
}

void shmemi_biased_lock_slowly(struct shmemi_biased_lock *lock)
{
    for (unsigned spins = 1; !take(lock); spins++)
        if (spins % 1024 == 0)
            shmemi_yield();
    if (!atomic_load_explicit(&lock->owner, memory_order_relaxed)) {
        become_owner(lock);
        return;
    }
    make_ordinary(lock);
    await_owner(lock);
}

void shmemi_biased_unlock_slowly(struct shmemi_biased_lock *lock)
{
    lock->owner_turns = shmemi_biased_is_owner(lock) ? lock->owner_turns + 1 : 0;
    if (lock->owner_turns >= SHMEMI_BIASED_TURNS) {
        lock->owner_turns = 0;
        atomic_store_explicit(&lock->is_ordinary, !has_membarrier, memory_order_relaxed);
    }
    shmemi_interleave();
    atomic_store_explicit(&lock->is_taken, false, memory_order_release);
}

/* The owner may be waiting for something that only the caller provides, so this does not wait for it. */
bool shmemi_biased_try_lock_slowly(struct shmemi_biased_lock *lock)
{
    if (!take(lock))
        return false;
    if (!atomic_load_explicit(&lock->owner, memory_order_relaxed))
        return true;
    make_ordinary(lock);
    if (!atomic_load_explicit(&lock->owner_is_inside, memory_order_acquire))
        return true;
    atomic_store_explicit(&lock->is_taken, false, memory_order_release);
    return false;
}
