/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the public routines call collectives over teams and active sets. Arguments are checked before anything is
 * changed. A wrong argument or a failed transfer ends the job, since the other PEs would wait for this one; the message
 * names the routine.
 */
#ifndef SHMEMI_COLL_CALL_H
#define SHMEMI_COLL_CALL_H

#include "shmem/coll/collectives.h"

void shmemi_call_broadcast(const char *routine, struct shmemi_team *team, void *dest, const void *source, size_t nbytes,
                           int root, bool root_keeps_dest);

/* nbytes: what this PE contributes or, in an alltoall, sends to each member. */
void shmemi_call_collect(const char *routine, struct shmemi_team *team, void *dest, const void *source, size_t nbytes);
void shmemi_call_fcollect(const char *routine, struct shmemi_team *team, void *dest, const void *source, size_t nbytes);
void shmemi_call_alltoall(const char *routine, struct shmemi_team *team, void *dest, const void *source, size_t nbytes);

void shmemi_call_alltoalls(const char *routine, struct shmemi_team *team, void *dest, const void *source,
                           struct shmemi_alltoall_strides strides);

void shmemi_call_reduce(const char *routine, const struct shmemi_op *op, struct shmemi_team *team, void *dest,
                        const void *source, size_t nreduce);
void shmemi_call_scan(const char *routine, const struct shmemi_op *op, struct shmemi_team *team, void *dest,
                      const void *source, size_t nelems, bool exclusive);

#endif
