/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The service thread: does this PE's end of requests, so that the program need not take part. It sleeps when there is
 * nothing to do; threads that wait in the library lend it a hand.
 */
#ifndef SHMEMI_SERVICE_H
#define SHMEMI_SERVICE_H

#include "transport/driver.h"

#include <stdbool.h>

/* Start the thread; the node has been joined and, with several nodes, UCX opened. */
int shmemi_service_start(void);
void shmemi_service_stop(void);

/* Do what there is to do for the service thread and for this PE's own network operations, unless another thread is at
 * it. The number of things done. */
unsigned shmemi_service_progress(void);

/* UCX will work with memory of this place on the service thread. */
void shmemi_service_adopt(const struct shmemi_place *place);

/* May more requests be accepted, or are enough copies under way? Under the service lock. */
bool shmemi_service_has_room(void);

/* Let the service thread look again: this PE has issued something that may need progress later. */
void shmemi_service_notice(void);

/* What the service thread has used of a processor, in nanoseconds; 0 when there is none. */
uint64_t shmemi_service_cpu_time(void);

/* An atomic operation on memory of this PE that is not the CPU's, where requests of other PEs do theirs: one agent per
 * word. Works in a job of one PE too. */
int shmemi_service_amo(const struct shmemi_place *place, const struct shmemi_amo *amo, void *fetch_p);

#endif
