/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations of streams and queues. A stream is a component of its own, which is none of the system's threads. An
 * operation knows what the thread knew that enqueued it, and what is complete that it may come after, when it begins.
 * It has two steps: what it accesses is told of before it begins, what it learns when it is complete. The stream calls for
 * both (queue_turn.c, cuda_turn.c) and waits meanwhile; so who sees what an operation does finds it in the shadow, and who
 * has waited for an operation finds it complete.
 *
 * What comes after what, in the streams of a PE. A queue whose creation was seen is exact: a thread comes after
 * its operations when it has made a call that waits for them; those of another queue do when that queue
 * has waited for an event of this one, once. Queues count as working in order. All other streams, those of CUDA among them,
 * are one: their calls may come to the driver by ways that nobody sees. What is complete comes before all that any
 * thread of the PE does later, and what a thread has done comes before all operations that begin later. That is more order
 * than there may be, and never less. */
#ifndef RACE_STREAM_OP_H
#define RACE_STREAM_OP_H

#include "race/calls/wrapped_call.h"

struct race_stream;
struct race_op;

typedef void race_op_step(struct race_op *op);

/* What an operation does; sizes in bytes. Either step may be NULL. */
struct race_work {
    race_op_step *begin, *end;
    void *dest;
    const void *source;
    size_t dest_size, source_size, n; /* n: words of source_size at source */
    ptrdiff_t dest_stride, source_stride;
    uint64_t *signal;
    int pe;
    uint8_t flags;
    bool completes; /* the collective begins with quiet */
    struct race_team team;
    enum race_shape shape;
    int root;
};

struct race_op {
    struct race_stream *stream;
    struct race_clock *born; /* what the thread knew */
    struct race_work work;
    struct race_call call; /* by the stream */
    struct race_collective collective;
};

/* The stream of a handle; makes it if its creation is seen. */
struct race_stream *race_stream_of(void *handle, bool is_created);
/* NULL where nothing is checked. */
struct race_op *race_op_new(const struct race_call *call, struct race_stream *stream, const struct race_work *work);
/* Called once each, by any thread, whatever is enqueued in the streams meanwhile; NULL is allowed. */
void race_op_begins(struct race_op *op);
void race_op_ends(struct race_op *op);

/* What is enqueued in a stream from now on may come after what was enqueued in another one. NULL: after what threads have
 * done before race_host_announces. */
void race_stream_after(struct race_stream *stream, struct race_stream *other);
/* The calling thread lets streams begin what they hold back. */
void race_host_announces(void);
/* The calling thread has waited for what was enqueued in a stream; NULL: for what threads announce. */
void race_stream_synced(struct race_stream *stream);
/* From now on no stream is exact, since the program has a way to wait that is not seen. */
void race_streams_are_unsure(void);
/* All that was enqueued is complete, as the library says: wait until it has been told of. */
void race_streams_drain(void);

/* stream_steps.c: the steps of the operations, by their work. */
race_op_step race_begin_put, race_begin_get, race_begin_put_signal, race_begin_put_blocks, race_begin_get_blocks;
race_op_step race_begin_amo, race_begin_fetch, race_end_fetch, race_begin_wait, race_end_wait, race_end_quiet;
race_op_step race_begin_collective, race_end_collective, race_begin_copy;

/* One call of a routine on a stream or queue. Between open and close the library's routine is called, with these
 * events. */
struct race_turn {
    struct race_op *op;
    void *handle;
    unsigned n_events;
    const shmemx_event_t *events;
    shmemx_event_t *event;
    shmemx_event_t *event_asked; /* that of the program */
    shmemx_event_t come, begun, done, told;
};
void race_queue_turn(struct race_turn *turn, const struct race_call *call, const struct race_work *work,
                     shmemx_queue_t queue, unsigned n_events, const shmemx_event_t *events, shmemx_event_t *event);
void race_queue_turn_ends(struct race_turn *turn);
void race_cuda_turn(struct race_turn *turn, const struct race_call *call, const struct race_work *work,
                    shmemx_stream_t stream);
void race_cuda_turn_ends(struct race_turn *turn);

#endif
