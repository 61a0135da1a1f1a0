/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives as the public routines call them: over teams and active sets, blocking and in streams.
 */
#ifndef SHMEMI_COLL_CALL_H
#define SHMEMI_COLL_CALL_H

#include <stdbool.h>
#include <stddef.h>

struct shmemi_op;
struct shmemi_team;

enum shmemi_verb {
    SHMEMI_SYNC,
    SHMEMI_BROADCAST,
    SHMEMI_COLLECT,
    SHMEMI_FCOLLECT,
    SHMEMI_ALLTOALL,
    SHMEMI_ALLTOALLS,
    SHMEMI_REDUCE,
    SHMEMI_INSCAN,
    SHMEMI_EXSCAN,
};

/* A collective with the arguments of its routine, as the host and streams call it. */
struct shmemi_collective_args {
    enum shmemi_verb verb;
    void *dest;
    const void *source;
    size_t size, nelems; /* of an element; and how many this PE contributes or, in an alltoall, sends to each member */
    int root;
    bool root_keeps_dest; /* its dest is not written */
    const struct shmemi_op *op;
    ptrdiff_t dst, sst; /* alltoalls: in elements */
    bool completes;     /* in a stream: it begins with a quiet */
};

/* Arguments are checked before anything is changed. A wrong argument or a failed transfer ends the job, since the other
 * PEs would wait for this one; the message names the routine. */
void shmemi_call_collective(const char *routine, struct shmemi_team *team, const struct shmemi_collective_args *what);
/* End the job if there is no such PE. */
void shmemi_check_root(const char *routine, const struct shmemi_team *team, int root);

#endif
