/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent: a thread of the library that carries out operations while the program's streams wait for them. It
 * advances all of them in turn, so that none holds up another.
 */
#ifndef SHMEMI_STREAM_AGENT_H
#define SHMEMI_STREAM_AGENT_H

#include "transport/stream/stream.h"

struct shmemi_stream_work {
    /* Let the stream carry it out: 0 when it is enqueued. Nothing is enqueued, or less is left in the work item than before,
     * with -ENOTSUP (it may be possible when memory is page-locked) and -EAGAIN (it is not). NULL: it never is. */
    int (*alone)(const struct shmemi_stream *stream, struct shmemi_stream_work *work);
    /* Called by the agent once the stream has reached the operation, repeatedly as long as it returns -EAGAIN. */
    int (*advance)(struct shmemi_stream_work *work);
    /* Called instead, if it is not NULL, when an event has failed that the operation was to wait for. */
    void (*cancel)(struct shmemi_stream_work *work);
    struct shmemi_transfer transfer; /* no rows: none */
    struct shmemi_stream_signal signal;
    const struct shmemi_stream_signal *steps; /* that the stream takes alone; used while the operation is enqueued */
    unsigned n_steps;
    struct shmemi_stream_amo update;
    struct shmemi_stream_wait words;                /* their status is `kept` */
    unsigned char value[SHMEMI_STREAM_VALUE_BYTES]; /* that is put, or that a signal gets after the wait */
    bool sets_after;                                /* the wait */
    void *kept;                                     /* freed with the work item; NULL: nothing */
    uint64_t number;                                /* of a barrier, from 1 */
    int round;
    bool completes; /* the barrier begins with a quiet */
    bool sends;     /* it transfers data that a later quiet must complete */
    void *job;      /* of a collective */
    void *watched;  /* by the watchdog (watched.h), or NULL; taken from the stream */
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

/* Enqueue the operation in the best way that there is (ladder.c). */
int shmemi_stream_enqueue(const struct shmemi_stream *stream, struct shmemi_stream_work *work);
/* Only if the stream can carry it out itself; otherwise -ENOTSUP. */
int shmemi_stream_alone(const struct shmemi_stream *stream, struct shmemi_stream_work *work);

/* `alone` of work items that are steps: to update words, or wait for them. And steps of which nothing is left to the agent
 * (stream.c). */
int shmemi_stream_steps_alone(const struct shmemi_stream *stream, struct shmemi_stream_work *work);
int shmemi_stream_steps(const struct shmemi_stream *stream, const struct shmemi_stream_signal *steps, unsigned n);

/* Is the stream being captured into a graph? */
bool shmemi_stream_is_recording(const struct shmemi_stream *stream);
/* Refuse, with a message and -EBUSY, a stream that is being captured into a graph: whatever is enqueued would belong to
 * a single operation, but the graph may be executed many times. */
int shmemi_stream_refuse_recording(const struct shmemi_stream *stream);

/* Set the number of barriers back to 0 (transport/stream/barrier.c). */
void shmemi_stream_barriers_close(void);

#endif
