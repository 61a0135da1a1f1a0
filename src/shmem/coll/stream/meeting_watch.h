/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that GPUs carry out alone, for the watchdog.
 */
#ifndef SHMEMI_MEETING_WATCH_H
#define SHMEMI_MEETING_WATCH_H

#include "gpu/meeting_call.h"
#include "shmem/team.h"
#include "transport/stream/watched.h"

void shmemi_meeting_watch_slowly(struct shmemi_stream *stream, const char *routine, const struct shmemi_team *team,
                                 const struct shmemi_meeting *meeting);

/* Watch a meeting, with its number, that is enqueued next; shmemi_watched_end comes after that. */
static inline void shmemi_meeting_watch(struct shmemi_stream *stream, const char *routine,
                                        const struct shmemi_team *team, const struct shmemi_meeting *meeting)
{
    if (shmemi_unlikely(shmemi_watches_streams))
        shmemi_meeting_watch_slowly(stream, routine, team, meeting);
}

#endif
