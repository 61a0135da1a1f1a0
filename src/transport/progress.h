/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress: a worker is a task of the library that goes on while the program computes or waits. The service thread runs
 * the table of workers, and so does every thread that waits in the library.
 */
#ifndef SHMEMI_PROGRESS_H
#define SHMEMI_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Which thread is running the workers. */
enum shmemi_turn {
    SHMEMI_TURN_OF_WAITER,  /* a waiting thread, in each turn of its loop */
    SHMEMI_TURN_TO_FLUSH,   /* a waiting thread, in its first turn and then from time to time */
    SHMEMI_TURN_OF_AGENT,   /* a thread of the library that has nothing else to do at the moment */
    SHMEMI_TURN_OF_SERVICE, /* the service thread, which also does what no other thread is sure to do */
};

static inline bool shmemi_is_turn_of_waiter(enum shmemi_turn turn)
{
    return turn == SHMEMI_TURN_OF_WAITER || turn == SHMEMI_TURN_TO_FLUSH;
}

/* A file descriptor that wakes the service thread. */
struct shmemi_wakeup {
    int (*fd)(void);  /* -errno when there is none */
    int (*arm)(void); /* 0: the thread may sleep until the descriptor becomes readable; -EAGAIN: there is work now */
};

struct shmemi_worker {
    const char *name;
    /* advance works for other PEs and is called under the service lock. That lock is recursive, since advance may
     * itself wait, and a wait makes progress. */
    bool is_exclusive;
    /* Serves UCX: left out in a job on a single node. A thread that waits, and finds by sleep_ms that such a worker has
     * something under way, leaves the requests of other PEs to the service thread. */
    bool is_for_network;
    /* How many things there are to do: read by any thread in each turn of a wait loop. Workers that cannot count them
     * point to shmemi_work_is_unknown. */
    const _Atomic unsigned *work;
    /* Called when *work is not 0: is there something to do in this turn? Any thread, without a lock. */
    bool (*has_work)(enum shmemi_turn turn);
    /* Do what can be done now, without waiting; returns the number of things done. */
    unsigned (*advance)(void);
    /* How long the service thread may sleep: 0 not at all, -1 until it is woken. */
    int (*sleep_ms)(void);
    /* Called by the service thread now and then, and always after a sleep, the length of which sleep_ms limits. */
    void (*sweep)(void);
    const struct shmemi_wakeup *wakeup; /* optional */
};

/* Defaults for the members of a worker. */
extern const _Atomic unsigned shmemi_work_is_unknown;
bool shmemi_has_work_always(enum shmemi_turn turn);
void shmemi_sweep_nothing(void);

/* Set the workers of this job; the caller keeps the array. From now on waiting threads run them. n = 0 removes them. */
void shmemi_progress_use(const struct shmemi_worker *const *workers, unsigned n);

/* Let outstanding communication advance; called in every wait loop, with *spins 0 at first. Yields the core when it is
 * called often in a row without success; true: it has slept, as the wait has become a long one. */
bool shmemi_progress(unsigned *spins);

/* Does this thread leave what other PEs have asked for to other threads, until it says so again? At first it does not. */
void shmemi_progress_leave_requests(bool leaves);

/* Run all workers once, without yielding or sleeping. Returns the number of things done. */
unsigned shmemi_work(enum shmemi_turn turn);

/* For the service thread: the shortest of the workers' sleep_ms; all their sweeps; and visit called with each worker's
 * wakeup, where it has one, until visit returns an error, which is the result. */
int shmemi_workers_sleep_ms(void);
void shmemi_workers_sweep(void);
int shmemi_workers_visit(int (*visit)(const struct shmemi_wakeup *wakeup));

/* The service lock: exclusive workers run under it, and so does everything that must not run at the same time. */
void shmemi_service_lock(void);
void shmemi_service_unlock(void);

#endif
