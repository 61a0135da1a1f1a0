/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UCX: the network between nodes. Opened only when the job has several nodes.
 *
 * There are two UCX workers. The service worker, whose address is published, receives requests and serves operations
 * that UCX emulates by messages; the service thread progresses it. The initiator worker sends this PE's operations and
 * receives their answers; waiting threads progress it. Endpoints are made when a PE is first addressed.
 */
#ifndef SHMEMI_UCX_H
#define SHMEMI_UCX_H

#include "gpu/memory.h"
#include "transport/prepared.h"
#include "transport/progress.h"

/* Make the UCX context and workers and publish the address through the bootstrap (before its fence). */
int shmemi_ucx_open(void);
/* Called before the fence of shmem_init by a PE that cannot start. PEs that try to reach it then log nothing: it says why. */
void shmemi_ucx_publish_no_address(void);
/* Flush and close all endpoints and workers. All PEs have passed a barrier before, and the service thread has stopped:
 * this thread progresses both workers. Takes 5 seconds at most. Idempotent. */
void shmemi_ucx_close(void);

/* Let signals that end the process do so without a backtrace of UCX, unless the user has asked UCX for it. */
void shmemi_ucx_leave_signals(void);

/* Registers host memory with the network, for transfers from and to it (UCP_OP_ATTR_FIELD_MEMH). A refusal is logged
 * once; transfers then work without. */
extern const struct shmemi_registrar shmemi_ucx_registrar;

/* Make the page-locked buffers for a kind of GPU memory ahead of transfers that a stream of the program will wait for:
 * the GPU's driver, when it locks pages, may wait for that very stream. */
void shmemi_ucx_prepare_gpu(const struct shmemi_memory *memory);

/* From start to stop, the job ends when another host gives no sign of life for SHMEM_PEER_TIMEOUT. Start it once all PEs
 * have come. */
void shmemi_ucx_pulse_start(void);
/* Await the connection over which this PE sends signs of life, for 5 seconds at most, and make none from now on. Between
 * this and shmemi_ucx_close is a barrier: nobody closes a connection that is still being made. */
void shmemi_ucx_pulse_settle(void);
void shmemi_ucx_pulse_stop(void);

/* Requests of this PE that wait for their answers. Any thread. */
unsigned shmemi_ucx_request_pending(void);

/* Workers (transport/progress.h), in a job of several nodes only: the first hands arrivals to shmemi_arrival_accept, the
 * second advances this PE's own operations, the third sends signs of life to other hosts. */
extern const struct shmemi_worker shmemi_worker_network_service, shmemi_worker_network, shmemi_worker_pulse;

#endif
