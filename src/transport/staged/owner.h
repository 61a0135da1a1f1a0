/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The owner's end of requests: what other PEs ask of this one's memory, over whichever link, is carried out here.
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

/* Where symmetric memory lies; before the first request comes. */
void shmemi_arrivals_open(const struct shmemi_resolver *resolver);
extern const struct shmemi_resolver *shmemi_owner_resolver;

/* Begin to work on an arrival that has passed shmemi_request_check. Under the service lock. */
void shmemi_arrival_accept(struct shmemi_arrival *arrival);
/* May more requests be accepted, or are enough copies under way? Under the service lock. */
bool shmemi_arrivals_have_room(void);

/* An atomic operation on memory of this PE that is not the CPU's, where requests of other PEs do theirs: one agent per
 * word. Works in a job of one PE too. */
int shmemi_owner_amo(const struct shmemi_place *place, const struct shmemi_amo *amo, void *fetch_p);

/* Settles the copies that are done. */
extern const struct shmemi_worker shmemi_worker_arrivals;

/* ---- ring.c: requests between PEs of a node, through the node segment -------------------------------------------- */

/* Hands what lies in this PE's ring to shmemi_arrival_accept. */
extern const struct shmemi_worker shmemi_worker_ring;
/* Does a request lie in this PE's ring? Any thread. */
bool shmemi_ring_has_work(void);

/* Free what the ring keeps. */
void shmemi_ring_close(void);

#endif
