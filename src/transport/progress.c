/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of workers, and the patience of threads that wait.
 */
#define _GNU_SOURCE
#include "transport/progress.h"

#include "base/likely.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread/cores.h"
#include "base/thread/patience.h"
#include "base/wake/interleave.h"
#include "base/tuning.h"
#include "bootstrap/deadline.h"
#include "bootstrap/job.h"
#include "instrument/watch.h"
#include "transport/node.h"
#include "transport/pending.h"
#include "transport/service.h"

#include <pthread.h>
#include <stdatomic.h>

atomic_bool shmemi_pending_is_held;

static struct {
    const struct shmemi_worker *const *worker;
    _Atomic unsigned n;
    pthread_mutex_t lock;
} workers = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};

const _Atomic unsigned shmemi_work_is_unknown = 1;

bool shmemi_has_work_always(enum shmemi_turn turn)
{
    (void)turn;
    return true;
}

void shmemi_sweep_nothing(void)
{
}

void shmemi_progress_use(const struct shmemi_worker *const *table, unsigned n)
{
    if (n)
        workers.worker = table;
    atomic_store_explicit(&workers.n, n, memory_order_release);
}

void shmemi_service_lock(void)
{
    pthread_mutex_lock(&workers.lock);
}

void shmemi_service_unlock(void)
{
    pthread_mutex_unlock(&workers.lock);
}

/* ---- A turn ------------------------------------------------------------------------------------------------------ */

static unsigned n_workers(void)
{
    return atomic_load_explicit(&workers.n, memory_order_acquire);
}

static inline bool has_work(const struct shmemi_worker *worker, enum shmemi_turn turn)
{
    return atomic_load_explicit(worker->work, memory_order_relaxed) && worker->has_work(turn);
}

/* With the service lock held. */
static unsigned advance_exclusive(enum shmemi_turn turn)
{
    unsigned done = 0;
    for (unsigned i = 0; i < n_workers(); i++) {
        const struct shmemi_worker *worker = workers.worker[i];
        if (worker->is_exclusive && has_work(worker, turn))
            done += worker->advance();
    }
    return done;
}

/* Is there work left for which nothing will wake the service thread? */
static bool is_left_unfinished(void)
{
    for (unsigned i = 0; i < n_workers(); i++)
        if (workers.worker[i]->is_exclusive && workers.worker[i]->sleep_ms() == 0)
            return true;
    return false;
}

/* A waiting thread only tries the lock: whoever holds it does the work. A waiting thread may never come back here, so
 * what it leaves unfinished is up to the service thread. */
static unsigned work_for_others(enum shmemi_turn turn)
{
    if (turn == SHMEMI_TURN_OF_SERVICE)
        pthread_mutex_lock(&workers.lock);
    else if (pthread_mutex_trylock(&workers.lock))
        return 0;
    unsigned done = advance_exclusive(turn);
    pthread_mutex_unlock(&workers.lock);
    shmemi_interleave();
    if (turn != SHMEMI_TURN_OF_SERVICE && is_left_unfinished())
        shmemi_service_notice();
    return done;
}

static _Thread_local bool leaves_requests;

void shmemi_progress_leave_requests(bool leaves)
{
    leaves_requests = leaves;
}

/* Over the network, what a waiting thread has under way needs it, to send and to receive. Then it leaves the requests of
 * others to the service thread, if that runs, but for a turn now and then: it may hold the service lock itself. */
static bool leaves_to_service(void)
{
    static _Thread_local unsigned turns;
    return ++turns % SHMEMI_TURNS_PER_REQUEST && shmemi_service_is_at_hand();
}

static bool has_under_way(const struct shmemi_worker *worker)
{
    return worker->is_for_network && worker->sleep_ms() >= 0;
}

unsigned shmemi_work(enum shmemi_turn turn)
{
    unsigned done = 0, n = n_workers();
    bool others_have_work = turn == SHMEMI_TURN_OF_SERVICE; /* takes the lock each time: that paces its idle rounds */
    bool is_needed = false;
    for (unsigned i = 0; i < n; i++) {
        const struct shmemi_worker *worker = workers.worker[i];
        if (!has_work(worker, turn))
            continue;
        if (worker->is_exclusive) {
            others_have_work = true;
            continue;
        }
        done += worker->advance();
        is_needed = is_needed || has_under_way(worker);
    }
    if (!others_have_work || leaves_requests)
        return done;
    if (is_needed && shmemi_is_turn_of_waiter(turn) && leaves_to_service())
        return done;
    return done + work_for_others(turn);
}

/* ---- The service thread's sleep ---------------------------------------------------------------------------------- */

int shmemi_workers_sleep_ms(void)
{
    int shortest = -1;
    for (unsigned i = 0; i < n_workers() && shortest; i++) {
        int limit = workers.worker[i]->sleep_ms();
        if (limit >= 0 && (shortest < 0 || limit < shortest))
            shortest = limit;
    }
    return shortest;
}

void shmemi_workers_sweep(void)
{
    for (unsigned i = 0; i < n_workers(); i++)
        workers.worker[i]->sweep();
}

int shmemi_workers_visit(int (*visit)(const struct shmemi_wakeup *wakeup))
{
    int rc = 0;
    for (unsigned i = 0; i < n_workers() && !rc; i++)
        if (workers.worker[i]->wakeup)
            rc = visit(workers.worker[i]->wakeup);
    return rc;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static enum shmemi_patience patience_here(void)
{
    if (shmemi_cores_are_shared() || shmemi_cores_are_contended())
        return SHMEMI_WAIT_ON_SHARED_CORES;
    return shmemi_job.n_nodes > 1 ? SHMEMI_WAIT_FOR_NETWORK : SHMEMI_WAIT_IN_NODE;
}

/* The time of shmem_init is over: end the job, and name those that have not come. */
static _Noreturn void give_up_init(void)
{
    char text[512];
    shmemi_watch_describe(text, sizeof text);
    shmemi_node_end_first();
    shmemi_fatal("shmem_init has not ended within %zu s (SHMEM_TIMEOUT)%s%s", shmemi_settings.timeout,
                 text[0] ? ": it waits " : "", text);
}

/* Called from time to time, outside the fast path. */
static void watch(void)
{
    if (shmemi_unlikely(shmemi_init_is_overdue()))
        give_up_init();
    if (shmemi_unlikely(shmemi_watch_is_on))
        shmemi_watch();
}

bool shmemi_progress(unsigned *spins)
{
    if (shmemi_work(*spins % SHMEMI_TURNS_PER_FLUSH ? SHMEMI_TURN_OF_WAITER : SHMEMI_TURN_TO_FLUSH)) {
        *spins = 0;
        watch();
        return false;
    }
    const unsigned turn = ++*spins;
    const enum shmemi_rest rest = shmemi_rest(patience_here(), turn);
    if (rest == SHMEMI_HAS_SPUN)
        return false;
    watch();
    if (rest == SHMEMI_HAS_NAPPED)
        shmemi_watch_count();
    else if (!shmemi_cores_are_shared())
        shmemi_cores_turn(turn);
    return rest == SHMEMI_HAS_NAPPED;
}
