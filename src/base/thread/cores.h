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

/* A thread that waits without giving up its core calls this in each turn of its loop, with the number of the turn. If it
 * did not run for a while between one turn and the next, others want its core, which the library cannot count: other jobs,
 * other hosts that are the same machine, other programs. Then, for a tenth of a second, cores are contended. */
void shmemi_cores_turn(unsigned turn);
bool shmemi_cores_are_contended(void);

/* For loops that have waited for long: sleep, 20 microseconds unless cores are crowded. From turn to turn it sleeps longer,
 * up to 5 milliseconds, but never long beside the time that the loop has waited: short naps without end are harmful
 * (bench/log/decisions.md). */
void shmemi_nap(unsigned turn);

/* Sleep as shortly as the kernel can, which adds its timer slack of 50 microseconds. */
void shmemi_nap_briefly(void);

/* For loops that wait: let another thread have the core, if one may need it. Calls sched_yield; where SHMEM_YIELD
 * forbids that, it sleeps for a short time if cores are shared or contended and does nothing otherwise. */
void shmemi_yield(void);

/* Whether sched_yield is harmless with this release of Linux, such as "6.8.0-52-generic". With 6.18 it is not: a group
 * of processes (a session or a control group) in which some yield and some sleep keeps all others, kernel threads
 * included, from running for up to minutes (bench/log/decisions.md). The change that causes this is in the updates of 6.12,
 * too. */
bool shmemi_yield_is_harmless(const char *release);

#endif
