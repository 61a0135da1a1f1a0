/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent: a thread of the library that carries out operations while the program's streams wait for them. It
 * advances all of them in turn, so that none holds up another.
 */
#ifndef SHMEMI_STREAM_AGENT_H
#define SHMEMI_STREAM_AGENT_H

#include "transport/stream/stream.h"

struct shmemi_stream_work {
    /* Called by the agent once the stream has reached the operation, repeatedly as long as it returns -EAGAIN. */
    int (*advance)(struct shmemi_stream_work *work);
    struct shmemi_stream_transfer transfer; /* nbytes 0: none */
    struct shmemi_stream_signal signal;
    uint64_t number; /* of a barrier, from 1 */
    int round;
    bool completes; /* the barrier begins with a quiet */
    bool sends;     /* it transfers data that a later quiet must complete */
    void *room;     /* in the outbox, to which the stream copies the source of the transfer; NULL: the stream waits */

    /* Private to the agent. */
    const struct shmemi_streams *kind;
    void *turn;
    bool has_come;
    const void *line;                         /* the stream, if it works in order: its work items form a line */
    struct shmemi_stream_work *behind, *last; /* of the line; last: known to the first of it */
    struct shmemi_stream_work *next;
};

/* The context of the agent's operations; for advance only. */
extern struct shmemi_context shmemi_stream_context;

/* Make the stream wait, from here on, until the agent has done the work item, which is copied. With room it only copies
 * the source there; the agent gives the room back. */
int shmemi_stream_agent_post(const struct shmemi_stream *stream, const struct shmemi_stream_work *work);

/* Is any posted work item that sends to this PE (or to any) still incomplete? */
bool shmemi_stream_agent_sends_to(int pe);
bool shmemi_stream_agent_has_sends(void);
/* Complete all earlier sends of the agent; called by advance. */
int shmemi_stream_agent_quiet(void);

/* Wait until all work has been done. */
void shmemi_stream_agent_drain(void);
void shmemi_stream_agent_close(void);

/* ---- Between the files of this folder ---------------------------------------------------------------------------- */

/* Let the stream itself update words, or wait for them; -ENOTSUP, with nothing enqueued, when it cannot (stream.c). */
int shmemi_stream_steps(const struct shmemi_stream *stream, const struct shmemi_stream_signal *signals, unsigned n);

/* Refuse, with a message and -EBUSY, a stream that is being captured into a graph: whatever is enqueued would belong to
 * a single operation, but the graph may be executed many times. */
int shmemi_stream_refuse_recording(const struct shmemi_stream *stream);

/* Set the number of barriers back to 0 (transport/stream/barrier.c). */
void shmemi_stream_barriers_close(void);

#endif
