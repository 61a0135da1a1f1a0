/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The payload of a request SHMEMI_REQUEST_SCATTER: small puts to one PE, as records behind each other. The origin makes it
 * (transport/collect/put_batch.c), the owner takes it apart.
 */
#ifndef SHMEMI_SCATTER_H
#define SHMEMI_SCATTER_H

#include "transport/request.h"

/* Larger puts gain nothing from a batch. */
enum { SHMEMI_BATCHED_PUT_MAX = 512 };

/* Precedes the bytes of a put, which are padded to 8. Puts of equal length to places at equal distances share one: then
 * their distance (8 bytes) lies between the record and the bytes, and the rows follow each other without gaps. */
struct shmemi_scatter_record {
    uint64_t offset;
    uint32_t region;
    uint16_t nbytes;    /* of a row */
    uint16_t more_rows; /* after the first */
};

enum { SHMEMI_SCATTER_PITCH_BYTES = sizeof(uint64_t) };

static inline size_t shmemi_scatter_padded(size_t nbytes)
{
    return (nbytes + 7) & ~(size_t)7;
}

/* The owner's end: carry out the puts in a payload of this size. Everything is checked before any memory is touched:
 * -EINVAL, logged, for a payload that is not well formed. */
int shmemi_scatter(const struct shmemi_request *request, const void *payload);

#endif
