/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Doorbells: a datagram to a PE's socket wakes its service thread, which then looks for work. What the datagram holds
 * does not matter and is not received, nor is a descriptor that comes with it. So a foreign datagram does no more
 * than wake the thread in vain; many of them take time of a core, as any program on the machine can, but keep no wake-up
 * away: a queue that is full wakes the thread as well.
 */
#ifndef SHMEMI_DOORBELL_H
#define SHMEMI_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>

/* The sleep of this PE's service thread. After `begin` it looks for work once more, and sleeps only if there is none:
 * either it sees the work of one who brings some, or that one sees that it sleeps. */
void shmemi_node_sleep_begin(void);
void shmemi_node_sleep_end(void);
bool shmemi_node_sleeps(int node_rank);

/* There is work for the service thread of a PE of this node, which it can see: wake it if it sleeps. Any thread. */
void shmemi_node_wake(int node_rank);
/* Wake it in any case. */
void shmemi_node_ring_doorbell(int node_rank);
#endif
