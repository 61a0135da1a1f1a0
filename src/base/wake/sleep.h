/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How threads of a process sleep until another one has changed something.
 *
 * A wake-up is lost when it comes between the last look at what a thread waits for and its sleep. Here the last look is
 * part of the sleep, so that it cannot be left out: threads wait for conditions by these functions only (tests/layers).
 *
 * What wakes the threads of the library; how often each looks by itself before it sleeps, and in naps, is in the rows
 * PATIENCE of base/tuning.def:
 *   thread                  sleeps                                          is woken by
 *   of the program          in naps (base/thread/patience.c)                nobody: it looks again
 *   shmem-service           for its doorbell, or UCX's, by epoll            shmemi_node_wake (transport/sockets/doorbell.c),
 *                           (transport/service.c); 1 ms while something     which requests of other PEs and
 *                           can only be polled                              shmemi_service_notice call; UCX
 *   shmem-agent             here while it has no work, otherwise in naps    who hands work to it (transport/stream/agent.c)
 *   shmem-kernels           in naps (device/ring.c)                         nobody: kernels cannot
 *   shmem-coll              here (shmem/coll/stream/on_stream.c)            shmem-agent
 *   copy threads            here (gpu/copy_threads/double_queue.c)          who starts a copy, and each other
 *   that hears of ends      in recv, on the connection to the rendezvous    its server (bootstrap/rendezvous)
 *   a rendezvous' server    in poll, on its connections                     PEs
 *   the watchdog            here (instrument/watchdog.c); 250 ms while      who has something watched
 *                           something is watched
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
