/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UCX: the network between nodes. Opened only when the job has several nodes.
 *
 * Two workers: the service worker receives requests and serves what UCX emulates by messages (its address is the one
 * that is published; the service thread progresses it), the initiator worker sends this PE's operations and receives
 * their answers (progressed, under a lock, by whoever waits). Endpoints are made when a PE is first addressed.
 */
#ifndef SHMEMI_UCX_H
#define SHMEMI_UCX_H

#include "gpu/memory.h"
#include "transport/prepared.h"
#include "transport/progress.h"

/* Make context and workers and publish the address through the bootstrap (before its fence). */
int shmemi_ucx_open(void);
/* Flush and close all endpoints and workers. All PEs have passed a barrier before, and the service thread has stopped:
 * this thread progresses both workers. Takes 5 seconds at most. Idempotent. */
void shmemi_ucx_close(void);

/* Registers host memory with the network, for transfers from and to it (UCP_OP_ATTR_FIELD_MEMH). When the network refuses,
 * that is told once, and transfers go on without. */
extern const struct shmemi_registrar shmemi_ucx_registrar;

/* Make the page-locked buffers for GPU memory of a kind, before a stream of the program waits for a transfer that would
 * make them: the driver may wait for the stream when it locks pages. */
void shmemi_ucx_prepare_gpu(const struct shmemi_memory *memory);

/* Workers (transport/progress.h), in a job of several nodes only: the first hands arrivals to shmemi_arrival_accept, the
 * second advances this PE's own operations. */
extern const struct shmemi_worker shmemi_worker_network_service, shmemi_worker_network;

#endif
