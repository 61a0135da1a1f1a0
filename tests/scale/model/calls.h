/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the applications of the model do besides communicating, and where their memory is.
 */
#ifndef CALLS_H
#define CALLS_H

#include "model.h"

/* Memory of this PE, and of its GPU; the same offset in each PE's. */
char *calls_device_memory(void);
char *calls_host_memory(void);

/* Its GPU computes for so long, and the host waits for it; a copy between the two. */
void calls_compute(double seconds);
void calls_copy(size_t nbytes);

/* A put, and then a word. */
void calls_send(void *dest, size_t nbytes, uint64_t *signal, uint64_t value, int pe);

#endif
