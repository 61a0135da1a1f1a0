/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The service thread: runs this PE's workers, so that the program need not take part in what other PEs ask of it. It
 * sleeps when there is nothing to do; threads that wait in the library lend it a hand (transport/progress.h).
 */
#ifndef SHMEMI_SERVICE_H
#define SHMEMI_SERVICE_H

#include "gpu/memory.h"

#include <stdint.h>

/* Start the thread, which runs the workers of transport/progress.h; the node has been joined. 0 or -errno, logged. */
int shmemi_service_start(void);
/* Idempotent. */
void shmemi_service_stop(void);

/* Drivers will work with memory of this place on the service thread. */
void shmemi_service_adopt(const struct shmemi_place *place);

/* Let the service thread look again: this PE has issued something that may need progress later. */
void shmemi_service_notice(void);

/* What the service thread has used of a processor, in nanoseconds; 0 when there is none. */
uint64_t shmemi_service_cpu_time(void);

#endif
