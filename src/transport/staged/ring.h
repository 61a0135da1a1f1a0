/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ring link: requests between PEs of a node through the node segment.
 */
#ifndef SHMEMI_RING_H
#define SHMEMI_RING_H

#include "transport/progress.h"

#include <stdbool.h>
#include <stddef.h>

/* Hands what lies in this PE's ring to shmemi_arrival_accept. */
extern const struct shmemi_worker shmemi_worker_ring;
/* Does a request lie in this PE's ring? Any thread. */
bool shmemi_ring_has_work(void);

/* Free what the ring keeps. */
void shmemi_ring_close(void);

#endif
