/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent: does the operations for which streams take a turn. It looks at all of them in turns, so that none that
 * waits holds up another.
 */
#ifndef SHMEMI_STREAM_AGENT_H
#define SHMEMI_STREAM_AGENT_H

#include "transport/stream/stream.h"

struct shmemi_stream_work {
    /* Called by the agent once the stream has come, again and again while it returns -EAGAIN. */
    int (*advance)(struct shmemi_stream_work *work);
    struct shmemi_stream_transfer transfer; /* nbytes 0: none */
    struct shmemi_stream_signal signal;
    uint64_t number; /* of a barrier, from 1 */
    int round;
    bool completes; /* the barrier begins with a quiet */
    bool sends;     /* quiet completes it */

    /* The agent's own. */
    const struct shmemi_streams *kind;
    void *turn;
    bool has_come;
    struct shmemi_stream_work *next;
};

/* The context of what the agent does; for advance only. */
extern struct shmemi_context shmemi_stream_context;

/* Enqueue a turn for a copy of the work. */
int shmemi_stream_agent_post(const struct shmemi_stream *stream, const struct shmemi_stream_work *work);

/* Has work been posted that sends to the PE, or to any, and is not known to be complete? */
bool shmemi_stream_agent_owes(int pe);
bool shmemi_stream_agent_owes_any(void);
/* Complete all that was sent before; called by advance. */
int shmemi_stream_agent_quiet(void);

/* Wait until all work has been done. */
void shmemi_stream_agent_drain(void);
void shmemi_stream_agent_close(void);

#endif
