/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives in streams and queues of the program.
 */
#ifndef SHMEMI_COLL_ON_STREAM_H
#define SHMEMI_COLL_ON_STREAM_H

#include "shmem/coll/collectives.h"
#include "shmem/stream_call.h"

/* A collective with the arguments of its routine. */
struct shmemi_stream_collective {
    void (*run)(const char *routine, struct shmemi_team *team, const struct shmemi_stream_collective *what);
    void *dest;
    const void *source;
    size_t size, nelems; /* of an element, and how many */
    int root;
    const struct shmemi_op *op;
    ptrdiff_t dst, sst; /* alltoalls */
    bool completes;     /* it begins with a quiet */
};

/* What `run` can be. */
void shmemi_run_sync(const char *routine, struct shmemi_team *team, const struct shmemi_stream_collective *what);
void shmemi_run_broadcast(const char *routine, struct shmemi_team *team, const struct shmemi_stream_collective *what);
void shmemi_run_collect(const char *routine, struct shmemi_team *team, const struct shmemi_stream_collective *what);
void shmemi_run_fcollect(const char *routine, struct shmemi_team *team, const struct shmemi_stream_collective *what);
void shmemi_run_alltoall(const char *routine, struct shmemi_team *team, const struct shmemi_stream_collective *what);
void shmemi_run_alltoalls(const char *routine, struct shmemi_team *team, const struct shmemi_stream_collective *what);
void shmemi_run_reduce(const char *routine, struct shmemi_team *team, const struct shmemi_stream_collective *what);
void shmemi_run_inscan(const char *routine, struct shmemi_team *team, const struct shmemi_stream_collective *what);
void shmemi_run_exscan(const char *routine, struct shmemi_team *team, const struct shmemi_stream_collective *what);

/* Enqueue a collective; *what is copied. Returns 0; errors end the job. */
int shmemi_collective_on_stream(const struct shmemi_stream_call *call, shmem_team_t team,
                                const struct shmemi_stream_collective *what);

#endif
