/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The owner's end of requests: carries out requests of other PEs on this PE's memory, whichever link they came over.
 */
#ifndef SHMEMI_OWNER_OF_REQUESTS_H
#define SHMEMI_OWNER_OF_REQUESTS_H

#include "transport/progress.h"
#include "transport/request.h"

#include <stdbool.h>

/* Bytes of a request's payload: rows * width, which shmemi_request_check has found to be in range. */
static inline size_t shmemi_request_payload_size(const struct shmemi_request *request)
{
    return (size_t)request->rows * request->width;
}

/* The check that every request passes before anything is done with it. 0, or -EINVAL: other job, origin or slot out of
 * range, unknown type, payload longer than a chunk, rows that overlap or leave the address range. */
int shmemi_request_check(const struct shmemi_request *request);

/* Set the functions that find symmetric memory, before the first request comes. */
void shmemi_arrivals_open(const struct shmemi_resolver *resolver);
extern const struct shmemi_resolver *shmemi_owner_resolver;

/* Begin to work on an arrival that has passed shmemi_request_check. Under the service lock. */
void shmemi_arrival_accept(struct shmemi_arrival *arrival);
/* May more requests be accepted? False while too many copies are under way. Under the service lock. */
bool shmemi_arrivals_have_room(void);

/* An atomic operation on GPU memory of this PE, done as if another PE had requested it, since a word must have a single
 * agent (gpu/memory.h). Works in a job of one PE too. */
int shmemi_owner_amo(const struct shmemi_place *place, const struct shmemi_amo *amo, void *fetch_p);

/* Settles the copies that are done. */
extern const struct shmemi_worker shmemi_worker_arrivals;

/* ---- request_ring.c: requests between PEs of a node, through the node segment ------------------------------------ */

/* Hands the requests in this PE's ring to shmemi_arrival_accept. */
extern const struct shmemi_worker shmemi_worker_ring;
/* Is there a request in this PE's ring? Any thread may call it. */
bool shmemi_ring_has_work(void);

/* Free the arrivals that the ring keeps for reuse. */
void shmemi_ring_close(void);

#endif
