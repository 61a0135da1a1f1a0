/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turns of the program's command queues, in which a queue waits until a thread of the library has done something. A
 * marker shows that the queue has come to the turn. A second marker, which waits for an event of the library, holds up
 * what follows: everything in a queue that works in order, otherwise what waits for the marker's event. Where the
 * library only needs the data, the queue copies them to host memory and goes on: there is nothing to hold up.
 *
 * On a GPU that PEs use in turns, NVIDIA's driver (580) lets a marker wait for the turn of its process, but not a read, which
 * a copy engine carries out: there a read of a word takes the place of the first marker, in queues that work in order. On an
 * H200 with two PEs it is complete after 2 us instead of 130 to 250. The second marker costs no turn.
 *
 * The thread polls the first marker's event. A callback would come later (35 us instead of 9 with NVIDIA's driver, whose
 * thread for callbacks spins from then on).
 */
#include "gpu/opencl/buffer.h"

#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct turn {
    cl_event come; /* complete when the queue has reached the turn */
    cl_event gone; /* the library's event, set when the turn ends; NULL: the queue does not wait */
    unsigned n_before;
    cl_event before[]; /* the user's events, which come first; retained */
};

static struct shmemi_opencl *const cl = &shmemi_opencl;

static int queue_open(struct shmemi_stream *stream, char *reason, size_t reason_size)
{
    cl_context context = NULL;
    cl_command_queue_properties properties = 0;
    cl_int status = CL_INVALID_COMMAND_QUEUE;
    if (stream->handle)
        status = cl->clGetCommandQueueInfo(stream->handle, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (status == CL_SUCCESS)
        status = cl->clGetCommandQueueInfo(stream->handle, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    stream->object = context;
    stream->is_in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    if (status != CL_SUCCESS)
        snprintf(reason, reason_size, "%p is not a command queue: %s", stream->handle,
                 shmemi_opencl_error_name(status));
    return shmemi_opencl_errno(status);
}

static void free_turn(struct turn *turn)
{
    for (unsigned i = 0; i < turn->n_before; i++)
        cl->clReleaseEvent(turn->before[i]);
    if (turn->come)
        cl->clReleaseEvent(turn->come);
    if (turn->gone)
        cl->clReleaseEvent(turn->gone);
    free(turn);
}

static int make_turn(const struct shmemi_stream *stream, struct turn **turn_p)
{
    struct turn *turn = calloc(1, sizeof *turn + stream->n_events * sizeof turn->before[0]);
    int rc = 0;
    if (!turn) {
        shmemi_error("no memory for an operation in an OpenCL queue");
        return -ENOMEM;
    }
    for (unsigned i = 0; !rc && i < stream->n_events; i++) {
        rc = shmemi_opencl_check(cl->clRetainEvent(stream->events[i]), "clRetainEvent(the events that come first)");
        if (!rc)
            turn->before[turn->n_before++] = stream->events[i];
    }
    if (rc)
        free_turn(turn);
    *turn_p = turn;
    return rc;
}

/* Where words are read to, which nobody looks at. */
static char read_words[4096] __attribute__((aligned(4096)));

/* false: nothing is enqueued. */
static bool enqueue_read(const struct shmemi_stream *stream, struct turn *turn)
{
    struct shmemi_opencl_context *context =
        shmemi_memory_takes_turns(&shmemi_memory_opencl) ? shmemi_opencl_context_find(stream->object) : NULL;
    bool is_read = false;
    if (context && context->word && shmemi_opencl_takes_turns(context)) {
        if (!shmemi_opencl_pinning.is_pinned(read_words, sizeof read_words))
            shmemi_opencl_pinning.pin(read_words, sizeof read_words);
        is_read =
            cl->clEnqueueReadBuffer(stream->handle, context->word, CL_FALSE, 0, SHMEMI_OPENCL_WORD, read_words,
                                    stream->n_events, (const cl_event *)stream->events, &turn->come) == CL_SUCCESS;
    }
    if (context)
        shmemi_opencl_context_put(context);
    return is_read;
}

/* Let the queue show that it has come. */
static cl_int enqueue_come(const struct shmemi_stream *stream, struct turn *turn)
{
    if (stream->is_in_order && enqueue_read(stream, turn))
        return CL_SUCCESS;
    return cl->clEnqueueMarkerWithWaitList(stream->handle, stream->n_events, (const cl_event *)stream->events,
                                           &turn->come);
}

/* Enqueue both markers, and see that the queue begins with them. *gone_here_p is the second one's event, unless NULL. */
static int enqueue(const struct shmemi_stream *stream, struct turn *turn, cl_event *gone_here_p)
{
    cl_int status = enqueue_come(stream, turn);
    int rc = shmemi_opencl_check(status, "clEnqueueMarkerWithWaitList(the queue, the events that come first)");
    if (rc)
        return rc;
    status = cl->clEnqueueMarkerWithWaitList(stream->handle, 1, &turn->gone, gone_here_p);
    rc = shmemi_opencl_check(status, "clEnqueueMarkerWithWaitList");
    return rc ? rc : shmemi_opencl_check(cl->clFlush(stream->handle), "clFlush");
}

/* What has been enqueued of a turn that fails goes on: the queue must not wait for what nobody does. */
static int turn_begin(const struct shmemi_stream *stream, void **turn_p)
{
    cl_int status;
    cl_event gone_here = NULL;
    struct turn *turn;
    int rc = make_turn(stream, &turn);
    if (rc)
        return rc;
    turn->gone = cl->clCreateUserEvent(stream->object, &status);
    rc = shmemi_opencl_check(status, "clCreateUserEvent");
    if (rc)
        turn->gone = NULL;
    else
        rc = enqueue(stream, turn, stream->event_p ? &gone_here : NULL);
    if (!rc) {
        if (stream->event_p)
            *stream->event_p = gone_here;
        *turn_p = turn;
        return 0;
    }
    if (gone_here)
        cl->clReleaseEvent(gone_here);
    if (turn->gone)
        cl->clSetUserEventStatus(turn->gone, CL_COMPLETE);
    free_turn(turn);
    return rc;
}

/* The queue reads the buffer; the turn comes when that is done. Only in a queue that works in order: there the data are
 * what the commands before have left, and nothing that follows can change them first. */
static int turn_begin_with_copy(const struct shmemi_stream *stream, void *dest, const struct shmemi_place *source,
                                size_t nbytes, void **turn_p)
{
    const struct shmemi_opencl_buffer *buffer = source->object;
    if (!stream->is_in_order || buffer->context->context != stream->object)
        return -ENOTSUP;
    struct turn *turn;
    int rc = make_turn(stream, &turn);
    if (rc)
        return rc;
    cl_int status =
        cl->clEnqueueReadBuffer(stream->handle, buffer->buffer, CL_FALSE, source->address - buffer->origin, nbytes,
                                dest, stream->n_events, (const cl_event *)stream->events, &turn->come);
    rc = shmemi_opencl_check(status, "clEnqueueReadBuffer(the queue, the events that come first)");
    if (rc) {
        free_turn(turn);
        return rc;
    }
    rc = shmemi_opencl_check(cl->clFlush(stream->handle), "clFlush");
    if (!rc && stream->event_p)
        rc = shmemi_opencl_check(cl->clRetainEvent(turn->come), "clRetainEvent");
    if (rc) { /* nobody may write to dest when this has returned */
        cl->clWaitForEvents(1, &turn->come);
        free_turn(turn);
        return rc;
    }
    if (stream->event_p)
        *stream->event_p = turn->come;
    *turn_p = turn;
    return 0;
}

/* 0, also when the state is that of a failure; -errno, logged, when it cannot be told. */
static int ask_state(cl_event event, cl_int *state_p)
{
    cl_int status = cl->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state_p, state_p, NULL);
    return shmemi_opencl_check(status, "clGetEventInfo");
}

/* NVIDIA's driver (580, with a crowded GPU) may show a marker as complete although an event that it waits for has
 * failed: these are asked as well. */
static int turn_state(void *argument)
{
    const struct turn *turn = argument;
    cl_int state = CL_COMPLETE;
    int rc = ask_state(turn->come, &state);
    if (rc)
        return rc;
    if (state > CL_COMPLETE)
        return -EAGAIN;
    for (unsigned i = 0; i < turn->n_before && !rc && state == CL_COMPLETE; i++)
        rc = ask_state(turn->before[i], &state);
    if (state < 0)
        shmemi_error("what comes before an operation of the library in an OpenCL queue failed: %s",
                     shmemi_opencl_error_name(state));
    return rc ? rc : state < 0 ? -ECANCELED : 0;
}

static void turn_end(void *argument, int status)
{
    struct turn *turn = argument;
    if (turn->gone)
        cl->clSetUserEventStatus(turn->gone, status ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_COMPLETE);
    free_turn(turn);
}

const struct shmemi_streams shmemi_opencl_queues = {
    .open = queue_open,
    .turn_begin = turn_begin,
    .turn_state = turn_state,
    .turn_end = turn_end,
    .turn_begin_with_copy = turn_begin_with_copy,
};
