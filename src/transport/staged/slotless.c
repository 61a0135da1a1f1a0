/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests without a slot: counting them, and waiting for them.
 *
 * They complete in any order and are only counted. So that a count tells which are complete, there are two sets: a
 * thread that waits closes the open set, to which no more are added, and opens the other, which must be empty.
 */
#include "transport/staged/slotless.h"

#include "base/wake/interleave.h"
#include "bootstrap/job.h"
#include "transport/node.h"
#include "transport/progress.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    unsigned open_set;                     /* counts new requests; the other set is draining */
    uint64_t posted[SHMEMI_SLOTLESS_SETS]; /* requests so far */
} slotless = {.lock = PTHREAD_MUTEX_INITIALIZER};

void shmemi_slotless_open(void)
{
    memset(slotless.posted, 0, sizeof slotless.posted);
    slotless.open_set = 0;
}

static struct shmemi_control *my_control(void)
{
    return shmemi_node_control(shmemi_job.node_rank);
}

/* With the lock held. */
static bool is_empty(unsigned set)
{
    return atomic_load_explicit(&my_control()->slotless_settled[set], memory_order_acquire) == slotless.posted[set];
}

uint16_t shmemi_slotless_begin(void)
{
    pthread_mutex_lock(&slotless.lock);
    unsigned set = slotless.open_set;
    slotless.posted[set]++;
    pthread_mutex_unlock(&slotless.lock);
    shmemi_interleave();
    return (uint16_t)(SHMEMI_SLOT_NONE + set);
}

void shmemi_slotless_settle(uint16_t slot, bool has_failed)
{
    struct shmemi_control *control = my_control();
    if (has_failed)
        atomic_store_explicit(&control->slotless_failed, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&control->slotless_settled[shmemi_slotless_set(slot)], 1, memory_order_release);
}

/* All requests now in the open set are complete when its count of settled ones has reached *posted_p. Returns false
 * while the other set is not empty. */
static bool try_close_set(unsigned *set_p, uint64_t *posted_p)
{
    pthread_mutex_lock(&slotless.lock);
    unsigned set = slotless.open_set, other = (set + 1) % SHMEMI_SLOTLESS_SETS;
    bool can_close = is_empty(other);
    if (can_close) {
        *set_p = set;
        *posted_p = slotless.posted[set];
        slotless.open_set = other;
    }
    pthread_mutex_unlock(&slotless.lock);
    return can_close;
}

int shmemi_slotless_complete(void)
{
    unsigned set, spins = 0;
    uint64_t posted;
    struct shmemi_control *control = my_control();
    while (!try_close_set(&set, &posted))
        shmemi_progress(&spins);
    shmemi_interleave();
    while (atomic_load_explicit(&control->slotless_settled[set], memory_order_acquire) < posted)
        shmemi_progress(&spins);
    return atomic_load_explicit(&control->slotless_failed, memory_order_relaxed) &&
                   atomic_exchange_explicit(&control->slotless_failed, 0, memory_order_relaxed)
               ? -EIO
               : 0;
}
