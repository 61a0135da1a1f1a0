/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What concerns all drivers together: which one serves a view, ordering and completion, exposing memory to other nodes.
 */
#ifndef SHMEMI_DRIVERS_TABLE_H
#define SHMEMI_DRIVERS_TABLE_H

#include "transport/driver.h"
#include "transport/drivers/issue.h"
#include "transport/request.h"

/* Offer the view to the drivers in order. Returns -ENOTSUP, logged, when none accepts: staged always does, unless
 * SHMEM_GPU_ROUTE=ipc or =shadow. */
int shmemi_view_attach(struct shmemi_view *view, const struct shmemi_share *share);
void shmemi_view_detach(struct shmemi_view *view);
/* The name of the driver with this number in the table, which is the same on all PEs; NULL after the last. */
const char *shmemi_driver_name(unsigned number);
unsigned shmemi_driver_number(const struct shmemi_driver *driver);

/* Fence, quiet and poll (struct shmemi_completion) for all operations of the context, of whichever kind. */
int shmemi_drivers_fence(struct shmemi_context *context);
int shmemi_drivers_quiet(struct shmemi_context *context);
int shmemi_drivers_poll(struct shmemi_context *context);

/* Let the PEs of other nodes reach this PE's copy of a region by one-sided operations, where a driver can do that
 * (struct shmemi_exposing); hide ends that. */
int shmemi_drivers_expose(uint32_t region, const struct shmemi_allocation *allocation, size_t size, char *reason,
                          size_t reason_size);
void shmemi_drivers_hide(uint32_t region);

/* ---- open.c: opening and closing transport as a whole. The node segment (transport/node.h) has its own. ---------- */

/* Called before the fence of shmem_init: opens the network in a job of several nodes. 0 or -errno, logged. */
int shmemi_transport_prepare(void);
/* Makes the buffers through which memory of this kind goes to other nodes, before streams and kernels wait for threads that
 * need them: CUDA page-locks no memory while a kernel waits and a thread of the program waits for its end. */
void shmemi_transport_prepare_gpu(const struct shmemi_memory *memory);
/* Called instead by a PE that cannot start, before it takes part in the fence of shmem_init: tells the others so. */
void shmemi_transport_excuse(void);

/* After shmemi_node_join: start to serve other PEs' requests, finding symmetric memory through the resolver. */
int shmemi_transport_start(const struct shmemi_resolver *resolver);
/* Once all PEs have come: from now on the job ends when a host or the network to it is lost (SHMEM_PEER_TIMEOUT). */
void shmemi_transport_watch(void);
/* Near the end, when all PEs have come: no connection is being made by this PE any more. After it comes one more
 * barrier, and then shmemi_transport_stop. */
void shmemi_transport_settle(void);
/* Stop serving other PEs, after the last barrier. Idempotent. */
void shmemi_transport_stop(void);

/* Close the network, which unregisters symmetric memory. All PEs have passed a barrier, and transport has stopped. */
void shmemi_transport_close(void);

#endif
