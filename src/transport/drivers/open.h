/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening and closing transport as a whole. The node segment (transport/node.h) has an opening of its own.
 */
#ifndef SHMEMI_DRIVERS_OPEN_H
#define SHMEMI_DRIVERS_OPEN_H

#include "transport/request.h"

/* What this PE can do before it meets the others: opens the network in a job of several nodes. 0 or -errno, logged. */
int shmemi_transport_prepare(void);

/* The node has been joined: start to serve other PEs, who find symmetric memory through the resolver. */
int shmemi_transport_start(const struct shmemi_resolver *resolver);
/* Stop to serve them, after the last barrier. Idempotent. */
void shmemi_transport_stop(void);

/* Close the network, which lets go of symmetric memory. All PEs have passed a barrier, and transport has stopped. */
void shmemi_transport_close(void);

#endif
