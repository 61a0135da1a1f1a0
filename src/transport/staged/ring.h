/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ring link: requests between PEs of a node through the node segment.
 */
#ifndef SHMEMI_RING_H
#define SHMEMI_RING_H

#include <stdbool.h>
#include <stddef.h>

/* Hand what lies in this PE's ring to shmemi_service_accept. Under the service lock. The number of requests. */
unsigned shmemi_ring_drain(void);
/* May there be something? Any thread. */
bool shmemi_ring_has_work(void);

/* Around the consumer's sleep: announce it; it may sleep when announce returns true. */
bool shmemi_ring_announce_sleep(void);
void shmemi_ring_announce_awake(void);

/* Free what the ring keeps. */
void shmemi_ring_close(void);

/* Append the PEs of the node that have not yet taken requests out of their rings, for the watchdog. */
void shmemi_describe_rings(char *text, size_t size);

#endif
