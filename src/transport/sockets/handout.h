/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The node segment goes from the lowest PE of a node, which makes it, to the others: they connect to its socket, whose
 * number they know from the launcher, and get the descriptor. Both ends ask the kernel whether the other one is a
 * process of this user, and both have to know the job's key; whoever has not is sent away, and the others go on. Nobody
 * waits for any other: connections of other users are closed at once, and a socket that takes nothing unasked has no
 * queue that they could fill.
 */
#ifndef SHMEMI_HANDOUT_H
#define SHMEMI_HANDOUT_H

#include <stdbool.h>
#include <stdint.h>

/* What is handed out, as its owner knows it. */
struct shmemi_handout {
    uint64_t size; /* of the segment */
    uint64_t heap_size;
};

/* On the lowest PE, before the bootstrap's fence: the number of its socket, 0 on failure. 0 or -errno, logged. */
int shmemi_handout_open(uint64_t *number_p);
/* After the fence: hand the descriptor to every other PE of the node, once. -ETIMEDOUT, logged with the PEs that have
 * not come, when the time of shmem_init is nearly over: a little before the others give up. */
int shmemi_handout_serve(int segment, const struct shmemi_handout *handout);
void shmemi_handout_close(void);

/* On the others, after the fence: fetch the segment, and check that it is what this PE expects and cannot shrink any
 * more. The descriptor, or -errno, logged. */
int shmemi_handout_fetch(uint64_t number, const struct shmemi_handout *expected);

/* Is this descriptor shared memory of exactly this size, which nobody can change? */
bool shmemi_handout_is_sound(int fd, uint64_t size);
/* What makes it so: called once its size is set. 0 or -errno, not logged. */
int shmemi_handout_seal(int fd);

#endif
