/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How threads of a process sleep until another one has changed something.
 *
 * A wake-up is lost when it comes between the last look at what a thread waits for and its sleep. Here the last look is
 * part of the sleep, so that it cannot be left out: threads sleep by these functions only (tests/layers).
 */
#ifndef SHMEMI_SLEEP_H
#define SHMEMI_SLEEP_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* Sleep until has_come(of), which is called with the lock held: before the thread sleeps, and after each wake-up. Who
 * makes it true does that with the lock held, and signals `woken` then or later. The caller holds the lock, before and
 * after. */
void shmemi_sleep_until(pthread_cond_t *woken, pthread_mutex_t *lock, bool (*has_come)(const void *of), const void *of);

/* Sleep until has_come(of), but no longer than until a time by the clock of `woken`. Returns has_come(of). */
bool shmemi_sleep_until_or(pthread_cond_t *woken, pthread_mutex_t *lock, bool (*has_come)(const void *of),
                           const void *of, const struct timespec *end);

#endif
