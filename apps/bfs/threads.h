/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a function in several threads, which build and check the graph.
 */
#ifndef BFS_THREADS_H
#define BFS_THREADS_H

#include <stddef.h>

/* How many threads_run starts. 0: one for each core that this PE may use, where the PEs of a node share those that none
 * is bound to. Collective. */
void threads_set(int n);
int threads_count(void);
/* How many more cores than that this PE's share of the machine has. */
int threads_idle_cores(void);

/* work runs once in each thread; returns when all have ended. */
void threads_run(void (*work)(int thread, void *arg), void *arg);

/* Thread `thread` takes items *first to *end - 1 of n. */
void threads_share(size_t n, int thread, size_t *first, size_t *end);

#endif
