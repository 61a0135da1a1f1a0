/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cores of this machine: whether there are enough of them, and how a waiting thread lets other threads have its
 * core.
 */
#ifndef SHMEMI_CORES_H
#define SHMEMI_CORES_H

#include <stdbool.h>

/* Call it once the settings are read. n_busy_threads: how many threads of the job may be running on this machine at the
 * same time, at least one for each PE. Before the call, cores count as not shared. */
void shmemi_cores_open(int n_busy_threads);

/* Whether there are more such threads than cores. */
bool shmemi_cores_are_shared(void);

/* Whether there are so many of them for each core that a thread should not even yield it for long. */
bool shmemi_cores_are_crowded(void);

/* For loops that have waited for long: sleep, 20 microseconds unless cores are crowded. */
void shmemi_nap(void);

/* For loops that wait: let another thread have the core, if one may need it. Calls sched_yield; where SHMEM_YIELD
 * forbids that, it sleeps for a short time if cores are shared and does nothing otherwise. */
void shmemi_yield(void);

/* Whether sched_yield is harmless with this release of Linux, such as "6.8.0-52-generic". With 6.18 it is not: a group
 * of processes (a session or a control group) in which some yield and some sleep keeps all others, kernel threads
 * included, from running for up to minutes (doc/performance.md). The change that causes this is in the updates of 6.12,
 * too. */
bool shmemi_yield_is_harmless(const char *release);

#endif
