/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The service thread: runs this PE's workers, so that requests of other PEs are served whatever the program does. It
 * sleeps when there is nothing to do; threads that wait in the library run the workers too (transport/progress.h).
 */
#ifndef SHMEMI_SERVICE_H
#define SHMEMI_SERVICE_H

#include "gpu/memory.h"

#include <stdbool.h>
#include <stdint.h>

/* Start the thread, which runs the workers of transport/progress.h; after shmemi_node_join. 0 or -errno, logged. */
int shmemi_service_start(void);
/* Idempotent. */
void shmemi_service_stop(void);

/* Drivers will work with memory of this place on the service thread. */
void shmemi_service_adopt(const struct shmemi_place *place);

/* Wake the service thread if it sleeps: this PE has issued something that may need progress later. */
void shmemi_service_notice(void);

/* Does the service thread run, on a core that no other thread needs? What comes is then served without delay. */
bool shmemi_service_is_at_hand(void);

/* Processor time of the service thread, in nanoseconds; 0 when there is no such thread. */
uint64_t shmemi_service_cpu_time(void);

#endif
