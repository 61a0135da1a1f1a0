/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cores of this machine: are there enough of them, and how a thread that waits lets others have its core.
 */
#ifndef SHMEMI_CORES_H
#define SHMEMI_CORES_H

#include <stdbool.h>

/* Once the settings are read: how many threads of the job this machine has that may all be at work, one for each PE at
 * least. Before, cores are taken not to be shared. */
void shmemi_cores_open(int n_busy_threads);

/* Are there more such threads than cores? */
bool shmemi_cores_are_shared(void);

/* In some turns of a loop that waits: lets another thread have the core, if one may need it. By sched_yield, or, where
 * SHMEM_YIELD forbids that, by a short sleep when cores are shared and not at all when they are not. */
void shmemi_yield(void);

/* Is sched_yield harmless with this release of Linux, such as "6.8.0-52-generic"? With 6.18 it is not: a group of
 * processes (a session or a control group) in which some yield and some sleep keeps all others, kernel threads too,
 * from running for up to minutes (doc/performance.md). The change behind it went into 6.12's updates too. */
bool shmemi_yield_is_harmless(const char *release);

#endif
