/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the rows of a request lie, said once more than by the code that fuzz_requests.c tests.
 */
#ifndef REQUEST_ROWS_H
#define REQUEST_ROWS_H

#include "transport/request.h"

/* No layers, or at least two whole ones of at least two rows. */
static inline bool are_layers(const struct shmemi_request *request)
{
    if (!request->layer)
        return request->gap == 0;
    return request->layer > 1 && request->layer < request->rows && request->rows % request->layer == 0;
}

static inline uint64_t row_at(const struct shmemi_request *request, uint64_t row)
{
    return row ? row * request->pitch + (request->layer ? row / request->layer * request->gap : 0) : 0;
}

/* Bytes from the first to the last, of at most a few thousand rows of as many bytes; false if it is more than most. */
static inline bool find_reach(const struct shmemi_request *request, uint64_t most, uint64_t *reach_p)
{
    if (!are_layers(request) || (request->rows > 1 && (request->pitch > most || request->gap > most)))
        return false;
    *reach_p = row_at(request, request->rows - 1) + request->width;
    return *reach_p <= most;
}

/* Make two layers of some of the requests that have rows. */
static inline void make_layers(struct shmemi_request *request)
{
    if (request->rows % 4 || request->pitch % 2 == 0)
        return;
    request->layer = request->rows / 2;
    request->gap = request->pitch * 3 % 64;
}

#endif
