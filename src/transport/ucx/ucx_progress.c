/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of the network: UCX's two workers, and the service thread's sleep on the one that receives.
 */
#include "transport/progress.h"

#include "transport/ucx/ucx_internal.h"

#include "base/thread/cores.h"
#include "base/tuning.h"
#include "transport/service.h"

#include <errno.h>

static bool service_is_inside; /* a thread is in progress of the service worker; under its lock */

/* A burst ends where a piece of a transfer has come: UCX itself may move the bytes of the next one here (tcp, shared
 * memory), and the copy of this one to its destination should begin before. */
static unsigned progress_burst(ucp_worker_h worker, bool *has_piece_p)
{
    unsigned total = 0, events;
    *has_piece_p = false;
    for (int i = 0; i < SHMEMI_UCX_CALLS_PER_LOCK && !*has_piece_p && (events = ucp_worker_progress(worker)); i++)
        total += events;
    return total;
}

unsigned shmemi_ucx_progress(void)
{
    if (!atomic_load_explicit(&shmemi_ucx.is_open, memory_order_acquire))
        return 0;
    if (pthread_mutex_trylock(&shmemi_ucx.initiator_lock))
        return 0;
    unsigned events = progress_burst(shmemi_ucx.initiator, &shmemi_ucx.initiator_has_piece);
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    return events;
}

static bool service_trylock(void)
{
    return atomic_load_explicit(&shmemi_ucx.is_open, memory_order_acquire) &&
           !pthread_mutex_trylock(&shmemi_ucx.service_lock);
}

/* The lock is recursive, UCX's progress is not: shmemi_arrival_accept may come back here. */
unsigned shmemi_ucx_service_progress(void)
{
    unsigned events = 0;
    if (!service_trylock())
        return 0;
    if (!service_is_inside) {
        service_is_inside = true;
        events = progress_burst(shmemi_ucx.service, &shmemi_ucx.service_has_piece);
        events += shmemi_ucx_request_deliver();
        service_is_inside = false;
    }
    pthread_mutex_unlock(&shmemi_ucx.service_lock);
    return events;
}

static int event_fd(void)
{
    int fd;
    ucs_status_t status = ucp_worker_get_efd(shmemi_ucx.service, &fd);
    return status == UCS_OK ? fd : shmemi_ucx_errno(status);
}

static int arm(void)
{
    if (!atomic_load(&shmemi_ucx.is_open))
        return 0;
    if (!service_trylock())
        return -EAGAIN;
    ucs_status_t status = ucp_worker_arm(shmemi_ucx.service);
    pthread_mutex_unlock(&shmemi_ucx.service_lock);
    return status == UCS_ERR_BUSY ? -EAGAIN : shmemi_ucx_report(status, "arming the event descriptor");
}

static bool has_pending(void)
{
    const struct shmemi_count *operations = &shmemi_ucx.operations;
    return atomic_load_explicit(&shmemi_ucx.is_open, memory_order_acquire) &&
           (!shmemi_count_is_settled(operations, shmemi_count_issued(operations)) || shmemi_ucx_request_pending());
}

/* A waiting thread may have left requests that have arrived. */
static int service_sleep_ms(void)
{
    return shmemi_ucx_request_is_left() ? 0 : -1;
}

/* ---- The workers of transport/progress.h ------------------------------------------------------------------------- */

static const struct shmemi_wakeup wakeup = {.fd = event_fd, .arm = arm};

const struct shmemi_worker shmemi_worker_network_service = {
    .name = "requests of other nodes",
    .is_exclusive = true,
    .is_for_network = true,
    .work = &shmemi_work_is_unknown,
    .has_work = shmemi_has_work_always,
    .advance = shmemi_ucx_service_progress,
    .sleep_ms = service_sleep_ms,
    .sweep = shmemi_sweep_nothing,
    .wakeup = &wakeup,
};

static _Atomic unsigned turns_of_waiters; /* approximate: of increments at the same time some may be lost */

static unsigned n_turns_of_waiters(void)
{
    return atomic_load_explicit(&turns_of_waiters, memory_order_relaxed);
}

/* Called by the service thread in each of its rounds: has no waiting thread progressed UCX for SHMEMI_UCX_ROUNDS_APART of them? A thread
 * that still waits may start a copy between two turns, which takes some rounds. */
static bool is_left_alone(void)
{
    static unsigned seen, rounds;
    const unsigned turns = n_turns_of_waiters();
    rounds = turns == seen ? rounds + 1 : 0;
    seen = turns;
    return rounds >= (shmemi_service_is_at_hand() ? SHMEMI_UCX_ROUNDS_APART : 1);
}

/* The service thread does not compete for the lock with threads that wait, and only looks after what is left to it: a
 * burst of sends would keep it from the requests of others. */
static bool may_have_events(enum shmemi_turn turn)
{
    if (turn == SHMEMI_TURN_OF_SERVICE)
        return is_left_alone() && has_pending();
    if (shmemi_is_turn_of_waiter(turn))
        atomic_store_explicit(&turns_of_waiters, n_turns_of_waiters() + 1, memory_order_relaxed);
    return true;
}

static int sleep_ms(void)
{
    if (!has_pending())
        return -1;
    return shmemi_cores_are_crowded() ? SHMEMI_UCX_POLL_IN_CROWD_MS : SHMEMI_UCX_POLL_MS;
}

const struct shmemi_worker shmemi_worker_network = {
    .name = "operations on other nodes",
    .is_for_network = true,
    .work = &shmemi_work_is_unknown,
    .has_work = may_have_events,
    .advance = shmemi_ucx_progress,
    .sleep_ms = sleep_ms,
    .sweep = shmemi_sweep_nothing,
};
