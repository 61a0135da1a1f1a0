/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives in streams and queues of the program.
 */
#ifndef SHMEMI_COLL_ON_STREAM_H
#define SHMEMI_COLL_ON_STREAM_H

#include "gpu/meeting_call.h"
#include "shmem/coll/collectives.h"
#include "shmem/stream/stream_call.h"

/* Enqueue a collective; *what is copied. Returns 0; errors end the job. */
int shmemi_collective_on_stream(const struct shmemi_stream_call *call, shmem_team_t team,
                                const struct shmemi_collective_args *what);

/* ---- By the GPUs alone (by_gpu.c) ----------------------------------------------------------------------------------- */

/* A team's meetings on this PE. */
struct shmemi_team_meetings {
    pthread_mutex_t lock; /* while one is enqueued */
    uint64_t first, n;    /* number of the last one before the team, and of the last one */
    bool has_met;         /* there has been one, perhaps without a number */
    uint64_t last_stream; /* number of the one in which the last one was enqueued, or 0; handles are used again */
    void *extras;         /* what the kind of memory keeps for them */
};

/* The area of a team in the memory of a PE. */
struct shmemi_place shmemi_team_area(const struct shmemi_team *team, int world_pe);
void shmemi_team_meetings_open(const struct shmemi_team *team, struct shmemi_team_meetings *meetings);
bool shmemi_team_meetings_are_done(const struct shmemi_team *team, struct shmemi_team_meetings *meetings);
/* Returns the highest number of exchanges. */
uint64_t shmemi_team_meetings_close(const struct shmemi_team *team, struct shmemi_team_meetings *meetings);

/* -ENOTSUP, with nothing enqueued, on all members alike: a thread does it. */
int shmemi_collective_by_gpu(const struct shmemi_stream_call *call, const struct shmemi_team *team,
                             struct shmemi_team_meetings *meetings, const struct shmemi_collective_args *what);

/* For the watchdog (meeting_watch.c): a meeting, with its number, that is enqueued next; shmemi_watched_end comes after
 * that. */
void shmemi_meeting_watch(struct shmemi_stream *stream, const char *routine, const struct shmemi_team *team,
                          const struct shmemi_meeting *meeting);

/* ---- A block that the agent sends for a GPU (collect_send.c) ------------------------------------------------------- */

struct shmemi_collect_block {
    const char *routine;
    const struct shmemi_team *team;
    struct shmemi_symmetric dest, source;
    struct shmemi_place area; /* of this PE and team; filled in, as room is */
    size_t room;
};
/* Let the agent send this PE's block in a collect whose source kernels do not reach. */
int shmemi_collect_send(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting);

#endif
