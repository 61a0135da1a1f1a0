/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The check that every request passes before anything is done with it, whichever link it came over.
 */
#ifndef SHMEMI_REQUEST_CHECK_H
#define SHMEMI_REQUEST_CHECK_H

#include "transport/request.h"

/* Bytes of a request's payload: rows * width, which shmemi_request_check has found to be in range. */
static inline size_t shmemi_request_payload_size(const struct shmemi_request *request)
{
    return (size_t)request->rows * request->width;
}

/* 0, or -EINVAL: other job, origin or slot out of range, unknown type, payload longer than a chunk, rows that
 * overlap or leave the address range. */
int shmemi_request_check(const struct shmemi_request *request);

#endif
