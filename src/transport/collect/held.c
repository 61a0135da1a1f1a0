/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of what contexts hold back, and the worker that lets it leave.
 */
#include "transport/collect/held.h"

#include "base/wake/interleave.h"
#include "base/tuning.h"
#include "transport/service.h"
#include "transport/staged/slots.h"

#include <pthread.h>

static _Atomic unsigned n_held;

/* The lock is taken after one of struct shmemi_held; a thread that holds it may only try such a lock. */
static struct {
    pthread_mutex_t lock;
    struct shmemi_held *first;
    atomic_bool is_watched; /* the service thread sweeps */
    unsigned idle_sweeps;
} list = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- The list ---------------------------------------------------------------------------------------------------- */

/* Wake the service thread if it has stopped sweeping. */
static void watch(void)
{
    shmemi_interleave();
    if (!atomic_load(&list.is_watched) && !atomic_exchange(&list.is_watched, true))
        shmemi_service_notice();
}

/* With the list's lock held. */
static void link_held(struct shmemi_held *held)
{
    held->is_listed = true;
    held->was_seen = false;
    held->next = list.first;
    held->link = &list.first;
    if (list.first)
        list.first->link = &held->next;
    list.first = held;
    atomic_fetch_add(&n_held, 1);
}

static void unlink_held(struct shmemi_held *held)
{
    *held->link = held->next;
    if (held->next)
        held->next->link = held->link;
    held->is_listed = false;
    atomic_fetch_sub(&n_held, 1);
}

void shmemi_held_begin(struct shmemi_context *context, struct shmemi_held *held,
                       int (*send)(struct shmemi_context *context))
{
    if (held->is_listed)
        return;
    held->context = context;
    held->send = send;
    shmemi_pending_expect(&context->pending, SHMEMI_PENDING_HELD);
    atomic_store(&shmemi_pending_is_held, true);
    pthread_mutex_lock(&list.lock);
    link_held(held);
    pthread_mutex_unlock(&list.lock);
    watch();
}

void shmemi_held_end(struct shmemi_held *held)
{
    if (!held->is_listed)
        return;
    pthread_mutex_lock(&list.lock);
    unlink_held(held);
    pthread_mutex_unlock(&list.lock);
}

int shmemi_held_take_failure(struct shmemi_held *held)
{
    int rc = held->failed;
    held->failed = 0;
    return rc;
}

/* ---- Leaving without the program --------------------------------------------------------------------------------- */

/* Take one off the list and lock it, unless another thread is using it. NULL: there is none. */
static struct shmemi_held *take_held(bool old_ones)
{
    struct shmemi_held *held;
    pthread_mutex_lock(&list.lock);
    for (held = list.first; held; held = held->next) {
        bool is_due = !old_ones || held->was_seen;
        held->was_seen = true;
        if (is_due && shmemi_biased_try_lock(&held->lock))
            break;
    }
    if (held)
        unlink_held(held);
    pthread_mutex_unlock(&list.lock);
    shmemi_interleave();
    return held;
}

/* While one leaves, this thread may have to make progress, and so come here again for the others. */
static void send_held(bool old_ones)
{
    struct shmemi_held *held;
    for (unsigned left = atomic_load(&n_held); left && (held = take_held(old_ones)); left--) {
        int rc = held->send(held->context);
        if (rc && !held->failed)
            held->failed = rc;
        shmemi_biased_unlock(&held->lock);
    }
}

/* ---- The worker -------------------------------------------------------------------------------------------------- */

static void sweep(void)
{
    if (atomic_load(&n_held)) {
        list.idle_sweeps = 0;
        send_held(true);
    } else if (++list.idle_sweeps == SHMEMI_HELD_IDLE_SWEEPS) {
        shmemi_interleave();
        atomic_store(&list.is_watched, false);
        shmemi_interleave();
        if (atomic_load(&n_held)) /* a thread that has held something back just now may not have woken us */
            atomic_store(&list.is_watched, true);
        list.idle_sweeps = 0;
    }
}

static int sleep_ms(void)
{
    return atomic_load(&list.is_watched) ? SHMEMI_HELD_SWEEP_MS : -1;
}

static bool has_to_flush(enum shmemi_turn turn)
{
    return turn == SHMEMI_TURN_TO_FLUSH;
}

/* Returns 0: what has left is no reason for a waiting thread to try again sooner. What leaves may need a slot: a thread
 * that has one in hand leaves it to others, or to a later turn. */
static unsigned advance(void)
{
    if (!shmemi_slots_are_in_hand())
        send_held(false);
    return 0;
}

const struct shmemi_worker shmemi_worker_held = {
    .name = "what contexts hold back",
    .work = &n_held,
    .has_work = has_to_flush,
    .advance = advance,
    .sleep_ms = sleep_ms,
    .sweep = sweep,
};
