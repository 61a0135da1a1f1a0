/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress: everything in this process that goes on while the program does something else, or waits, is a worker. The
 * service thread runs the table of workers, and so does every thread that waits in the library.
 */
#ifndef SHMEMI_PROGRESS_H
#define SHMEMI_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>

/* On whose behalf a worker is asked. */
enum shmemi_turn {
    SHMEMI_TURN_OF_WAITER,  /* a thread that waits, in each turn of its loop */
    SHMEMI_TURN_TO_FLUSH,   /* the same thread in its first turn, and then from time to time */
    SHMEMI_TURN_OF_SERVICE, /* the service thread, which does what nobody else may come to do */
};

/* A file descriptor that wakes the service thread. */
struct shmemi_wakeup {
    int (*fd)(void);  /* -1, logged, when there is none */
    int (*arm)(void); /* 0: the thread may sleep until the descriptor becomes readable; -EAGAIN: there is work now */
};

struct shmemi_worker {
    const char *name;
    /* advance works for other PEs and is called under the service lock. That lock is recursive, since advance may come
     * to wait, and so to progress, itself. */
    bool is_exclusive;
    /* How many things there are to do: read by any thread in each turn of a wait loop. Workers that have to look for
     * themselves point to shmemi_work_is_unknown. */
    const _Atomic unsigned *work;
    /* Asked when that is not 0: is there something to do in this turn? Any thread, without a lock. */
    bool (*has_work)(enum shmemi_turn turn);
    /* Do what can be done now, without waiting; returns the number of things done. */
    unsigned (*advance)(void);
    /* How long the service thread may sleep: 0 not at all, -1 until it is woken. */
    int (*sleep_ms)(void);
    /* Called by the service thread every few milliseconds, as sleep_ms has it. */
    void (*sweep)(void);
    const struct shmemi_wakeup *wakeup; /* optional */
};

/* For workers with nothing special in these slots. */
extern const _Atomic unsigned shmemi_work_is_unknown;
bool shmemi_has_work_always(enum shmemi_turn turn);
int shmemi_sleep_until_woken(void);
void shmemi_sweep_nothing(void);

/* The workers of this job, which the caller keeps; from now on waiting threads run them. n = 0: none any more. */
void shmemi_progress_use(const struct shmemi_worker *const *workers, unsigned n);

/* Let outstanding communication advance; called in every wait loop, with *spins 0 at first. Yields the core when it is
 * called often in a row without success. */
void shmemi_progress(unsigned *spins);

/* One turn over all workers, without patience. The number of things done. */
unsigned shmemi_work(enum shmemi_turn turn);

/* What the service thread does with the table beside its turns: the shortest of the workers' sleep_ms, their sweeps, and
 * the optional wakeup of each worker in turn until visit returns an error, which is the result. */
int shmemi_workers_sleep_ms(void);
void shmemi_workers_sweep(void);
int shmemi_workers_visit(int (*visit)(const struct shmemi_wakeup *wakeup));

/* The service lock: workers that are exclusive run under it, and so does all else that must not run beside them. */
void shmemi_service_lock(void);
void shmemi_service_unlock(void);

#endif
