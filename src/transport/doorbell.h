/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Doorbells: a datagram to a PE's socket wakes its service thread, which then looks for work. What the datagram holds
 * does not matter and is not received, nor is a descriptor that comes with it. So a stranger's datagram does no more
 * than wake the thread in vain; many of them take time of a core, as any program on the machine can, but keep no wake-up
 * away: a queue that is full wakes the thread as well.
 */
#ifndef SHMEMI_DOORBELL_H
#define SHMEMI_DOORBELL_H

#include <stdint.h>

/* Make this PE's doorbell; *number_p is for its control block, where the others find it. The descriptor, or -errno,
 * logged. */
int shmemi_doorbell_open(uint64_t *number_p);

/* Wake the service thread of a PE of this node. Any thread. */
void shmemi_node_ring_doorbell(int node_rank);
/* Discard datagrams in this PE's doorbell: all that its PEs have sent, and in a flood as many as may be without falling
 * behind with the work. */
void shmemi_node_clear_doorbell(void);

#endif
