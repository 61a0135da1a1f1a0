/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A call of a collective, by a public routine over a team or over an active set. Arguments are checked before anything
 * is changed; what is wrong ends the job with a line that names the routine, and so does a transfer that fails, because
 * the other PEs would wait for this one.
 */
#ifndef SHMEMI_COLL_CALL_H
#define SHMEMI_COLL_CALL_H

#include "shmem/coll/collectives.h"

void shmemi_call_broadcast(const char *routine, struct shmemi_team *team, void *dest, const void *source, size_t nbytes,
                           int root, bool root_keeps_dest);

/* nbytes: that this PE has for each that it sends to. */
typedef void (*shmemi_call_copies_func_t)(const char *routine, struct shmemi_team *team, void *dest, const void *source,
                                          size_t nbytes);
void shmemi_call_collect(const char *routine, struct shmemi_team *team, void *dest, const void *source, size_t nbytes);
void shmemi_call_fcollect(const char *routine, struct shmemi_team *team, void *dest, const void *source, size_t nbytes);
void shmemi_call_alltoall(const char *routine, struct shmemi_team *team, void *dest, const void *source, size_t nbytes);

struct shmemi_call_strides {
    size_t size, nelems;
    ptrdiff_t dest, source; /* in elements of size bytes */
};
void shmemi_call_alltoalls(const char *routine, struct shmemi_team *team, void *dest, const void *source,
                           struct shmemi_call_strides strides);

void shmemi_call_reduce(const char *routine, const struct shmemi_op *op, struct shmemi_team *team, void *dest,
                        const void *source, size_t nreduce);
void shmemi_call_scan(const char *routine, const struct shmemi_op *op, struct shmemi_team *team, void *dest,
                      const void *source, size_t nelems, bool exclusive);

#endif
