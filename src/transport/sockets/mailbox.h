/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Passing file descriptors between the PEs of a node, with SCM_RIGHTS: no rights to trace processes are needed.
 *
 * Each PE that takes part has a datagram socket for the time of one exchange. Anyone can find it and write to it, so a
 * letter counts only if the kernel says that a process of this user sent it, and if it carries the job's key and the
 * number that its sender has published in the node segment; the descriptors of any other are closed. The doorbell's
 * socket cannot serve for this, since clearing the doorbell discards all datagrams in it.
 */
#ifndef SHMEMI_MAILBOX_H
#define SHMEMI_MAILBOX_H

#include "gpu/memory.h"

#include <stdint.h>

/* What a PE publishes to the others of its node before descriptors are exchanged. */
struct shmemi_mailbox_label {
    uint64_t socket;     /* the number of its socket's name */
    uint64_t token;      /* carried by each of the PE's letters; 0: it has no socket and does not take part */
    uint32_t n_enclosed; /* descriptors that it sends to each of the others */
};

/* Make this PE's socket. On failure the label says that there is none, and this PE does not take part. */
void shmemi_mailbox_open(struct shmemi_mailbox_label *label_p);
void shmemi_mailbox_close(void);

/* Send `mine` to all PEs of the node and receive theirs. Called between two barriers of the node; labels were published
 * before the first. labels and received are arrays by node rank; an element of received stays empty if nothing was to
 * come, or not all of it could be received. The caller closes the descriptors. */
void shmemi_mailbox_exchange(const struct shmemi_descriptors *mine, const struct shmemi_mailbox_label *labels,
                             struct shmemi_descriptors *received);

#endif
