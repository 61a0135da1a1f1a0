/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the library's own threads run: the service thread, the agent of streams, copy threads. By default they take
 * cores that no PE of the machine is bound to, a share for each PE, so that a PE that computes or waits for a device
 * does not keep them from their work. doc/architecture.md, section 6, has the rules.
 */
#ifndef SHMEMI_THREAD_CORES_H
#define SHMEMI_THREAD_CORES_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- Choosing ---------------------------------------------------------------------------------------------------- */

/* The cores of a machine, as far as the choice needs to know them. Processors are numbered as Linux does it. */
struct shmemi_machine {
    short core[CPU_SETSIZE];   /* number of a processor's core; -1: there is no such processor */
    short domain[CPU_SETSIZE]; /* number of its NUMA domain */
    int n_cores;
};

/* synthetic: a description for hwloc, for tests; NULL: this machine. False: hwloc cannot tell. */
bool shmemi_machine_read(struct shmemi_machine *machine, const char *synthetic);

enum shmemi_threads_place {
    SHMEMI_THREADS_ROOM,   /* where the PE is bound: it has at least two cores for each PE */
    SHMEMI_THREADS_APART,  /* on cores that no PE has, and no other PE's threads */
    SHMEMI_THREADS_CLOSE,  /* on cores that no PE has, together with threads of other PEs */
    SHMEMI_THREADS_ON_PE,  /* where the PE is bound: no core is free, or none may be used */
    SHMEMI_THREADS_UNKNOWN /* where the PE is bound: the machine or the binding is not known */
};

/* The PEs of the machine, in an order that is the same for all of them. */
struct shmemi_thread_question {
    const struct shmemi_machine *machine; /* NULL: not known; then each processor is a core, and none is free */
    const cpu_set_t *bound;               /* of each PE */
    const cpu_set_t *allowed;             /* what this PE's threads may use */
    int n_pes, me;
};

struct shmemi_thread_cores {
    enum shmemi_threads_place place;
    cpu_set_t cpus; /* where this PE's threads run, unless the place is UNKNOWN */
    cpu_set_t
        free; /* all cores that no PE has, if the place is APART or CLOSE: for threads that work for a moment only */
};

/* Every PE that may use the same processors computes the same division of the free cores. Each takes those of its own
 * NUMA domain first. */
void shmemi_thread_cores_choose(const struct shmemi_thread_question *question, struct shmemi_thread_cores *chosen);

/* Whether a core may be free, for which the machine need not be known: not if PEs have all that is allowed. */
bool shmemi_thread_cores_may_be_free(const struct shmemi_thread_question *question);

/* ---- The choice of this process, set before its threads start ---------------------------------------------------- */

extern struct shmemi_thread_cores shmemi_thread_cores;

/* A thread of the library goes where it belongs; where the kernel forbids it, it stays where its creator runs. */
void shmemi_thread_cores_enter(void);

/* Whether the threads run on cores that no PE has. */
bool shmemi_threads_are_apart(void);

/* Whether they have to leave the core to their PE as soon as they have nothing to do. */
bool shmemi_threads_are_guests(void);

/* The place in words. */
const char *shmemi_threads_place_name(enum shmemi_threads_place place);

#endif
