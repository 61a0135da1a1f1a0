/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of contexts that hold something back, and the worker that lets it leave.
 */
#include "transport/staged/waiting.h"

#include "base/wake/interleave.h"
#include "transport/service.h"
#include "transport/staged/gather.h"
#include "transport/staged/slots.h"

#include <pthread.h>

enum {
    SWEEP_MS = 1,
    IDLE_SWEEPS = 50, /* after so many sweeps in a row with nothing held back, sweeping stops */
};

static _Atomic unsigned n_waiting;

/* The lock is taken after a context's; a thread that holds it may only try a context's. */
static struct {
    pthread_mutex_t lock;
    struct shmemi_waiting *first;
    atomic_bool is_watched; /* the service thread sweeps */
    unsigned idle_sweeps;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- The list ---------------------------------------------------------------------------------------------------- */

static void watch(void)
{
    shmemi_interleave();
    if (!atomic_load(&list.is_watched) && !atomic_exchange(&list.is_watched, true))
        shmemi_service_notice();
}

void shmemi_waiting_begin(struct shmemi_waiting *waiting)
{
    if (waiting->is_waiting)
        return;
    shmemi_pending_expect(&waiting->context->pending, SHMEMI_PENDING_STAGED);
    pthread_mutex_lock(&list.lock);
    waiting->is_waiting = true;
    atomic_store(&shmemi_pending_is_held, true);
    waiting->was_seen = false;
    waiting->next = list.first;
    waiting->link = &list.first;
    if (list.first)
        list.first->link = &waiting->next;
    list.first = waiting;
    atomic_fetch_add(&n_waiting, 1);
    pthread_mutex_unlock(&list.lock);
    watch();
}

/* With the list's lock held. */
static void unlink_waiting(struct shmemi_waiting *waiting)
{
    *waiting->link = waiting->next;
    if (waiting->next)
        waiting->next->link = waiting->link;
    waiting->is_waiting = false;
    atomic_fetch_sub(&n_waiting, 1);
}

void shmemi_waiting_end(struct shmemi_waiting *waiting)
{
    if (!waiting->is_waiting)
        return;
    pthread_mutex_lock(&list.lock);
    unlink_waiting(waiting);
    pthread_mutex_unlock(&list.lock);
}

/* ---- Leaving without the program --------------------------------------------------------------------------------- */

/* Take a context off the list and lock it, unless another thread is using it. NULL: there is none. */
static struct shmemi_waiting *take_waiting(bool old_ones)
{
    struct shmemi_waiting *waiting;
    pthread_mutex_lock(&list.lock);
    for (waiting = list.first; waiting; waiting = waiting->next) {
        bool is_due = !old_ones || waiting->was_seen;
        waiting->was_seen = true;
        if (is_due && shmemi_biased_try_lock(&waiting->context->gather_lock))
            break;
    }
    if (waiting)
        unlink_waiting(waiting);
    pthread_mutex_unlock(&list.lock);
    shmemi_interleave();
    return waiting;
}

/* While one leaves, this thread may have to make progress, and so come here again for the others. */
static void send_waiting(bool old_ones)
{
    struct shmemi_waiting *waiting;
    while (atomic_load(&n_waiting) && (waiting = take_waiting(old_ones))) {
        int rc = waiting->send(waiting);
        if (rc && !waiting->failed)
            waiting->failed = rc;
        shmemi_biased_unlock(&waiting->context->gather_lock);
    }
}

/* ---- The worker -------------------------------------------------------------------------------------------------- */

static void sweep(void)
{
    if (atomic_load(&n_waiting)) {
        list.idle_sweeps = 0;
        send_waiting(true);
    } else if (++list.idle_sweeps == IDLE_SWEEPS) {
        shmemi_interleave();
        atomic_store(&list.is_watched, false);
        shmemi_interleave();
        if (atomic_load(&n_waiting)) /* a thread that has held something back just now may not have woken us */
            atomic_store(&list.is_watched, true);
        list.idle_sweeps = 0;
    }
}

static int sleep_ms(void)
{
    return atomic_load(&list.is_watched) ? SWEEP_MS : -1;
}

static bool has_to_flush(enum shmemi_turn turn)
{
    return turn == SHMEMI_TURN_TO_FLUSH;
}

/* Returns 0: what has left is no reason for a waiting thread to try again sooner. What leaves needs a slot: a thread that
 * has one in hand leaves it to others, or to a later turn. */
static unsigned advance(void)
{
    if (!shmemi_slots_are_in_hand())
        send_waiting(false);
    return 0;
}

const struct shmemi_worker shmemi_worker_gather = {
    .name = "bursts that are held back",
    .work = &n_waiting,
    .has_work = has_to_flush,
    .advance = advance,
    .sleep_ms = sleep_ms,
    .sweep = sweep,
};
