/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Passing file descriptors between the PEs of a node, with SCM_RIGHTS: no rights to trace processes are needed.
 *
 * Each PE that takes part has a datagram socket for the time of one exchange. Its abstract name can be guessed, so a
 * letter counts only if it carries the number that its sender has shown in the node segment. A socket of its own, since
 * what lies in the doorbell's is thrown away by whoever clears it.
 */
#ifndef SHMEMI_MAILBOX_H
#define SHMEMI_MAILBOX_H

#include "gpu/memory.h"

#include <stdint.h>

/* What a PE shows to the others of its node before descriptors are exchanged. */
struct shmemi_mailbox_label {
    uint64_t token;      /* that its letters carry; 0: it has no socket, sends nothing and gets nothing */
    uint32_t n_enclosed; /* descriptors that it sends to each of the others */
};

/* Make this PE's socket. On failure the label says that there is none: this PE and the others do without. */
void shmemi_mailbox_open(struct shmemi_mailbox_label *label_p);
void shmemi_mailbox_close(void);

/* Send mine to all PEs of the node and take theirs, by node rank; labels likewise. Between two barriers of the node,
 * with the labels shown before the first. received is an array with an element per PE of the node; one stays empty if
 * nothing was to come, or not all of it could be taken. The caller closes the descriptors. */
void shmemi_mailbox_exchange(const struct shmemi_descriptors *mine, const struct shmemi_mailbox_label *labels,
                             struct shmemi_descriptors *received);

#endif
