/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turns of the program's command queues, in which a queue waits until a thread of the library has done something. A
 * marker shows that the queue has come to the turn. A second marker, which waits for an event of the library, holds up
 * what follows: everything in a queue that works in order, otherwise what waits for the marker's event.
 */
#include "gpu/opencl/buffer.h"

#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { COMING = 1, COME = 0 }; /* has the queue reached the turn? negative: an error, because of which it never will */

struct turn {
    atomic_int state;
    cl_event gone; /* the library's event, set when the turn ends */
};

static struct shmemi_opencl *const cl = &shmemi_opencl;

static int queue_open(struct shmemi_stream *stream, char *reason, size_t reason_size)
{
    cl_context context = NULL;
    cl_int status = CL_INVALID_COMMAND_QUEUE;
    if (stream->handle)
        status = cl->clGetCommandQueueInfo(stream->handle, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    stream->object = context;
    if (status != CL_SUCCESS)
        snprintf(reason, reason_size, "%p is not a command queue: %s", stream->handle,
                 shmemi_opencl_error_name(status));
    return shmemi_opencl_errno(status);
}

/* Runs on a thread of OpenCL, which must not wait. */
static void CL_CALLBACK note_coming(cl_event event, cl_int status, void *argument)
{
    struct turn *turn = argument;
    (void)event;
    atomic_store_explicit(&turn->state, status < 0 ? status : COME, memory_order_release);
}

/* Enqueue both markers, and a callback for the completion of the first. From then on the callback uses the turn,
 * too. */
static int enqueue(const struct shmemi_stream *stream, struct turn *turn)
{
    cl_event come, gone_here;
    cl_int status =
        cl->clEnqueueMarkerWithWaitList(stream->handle, stream->n_events, (const cl_event *)stream->events, &come);
    if (status != CL_SUCCESS)
        return shmemi_opencl_check(status, "clEnqueueMarkerWithWaitList(the queue, the events that come first)");
    status = cl->clEnqueueMarkerWithWaitList(stream->handle, 1, &turn->gone, &gone_here);
    if (status == CL_SUCCESS) {
        status = cl->clSetEventCallback(come, CL_COMPLETE, note_coming, turn);
        if (status == CL_SUCCESS && stream->event_p)
            *stream->event_p = gone_here;
        else
            cl->clReleaseEvent(gone_here);
    }
    cl->clReleaseEvent(come);
    return shmemi_opencl_check(status, "clEnqueueMarkerWithWaitList or clSetEventCallback");
}

static int turn_begin(const struct shmemi_stream *stream, void **turn_p)
{
    cl_int status;
    struct turn *turn = malloc(sizeof *turn);
    if (!turn) {
        shmemi_error("no memory for an operation in an OpenCL queue");
        return -ENOMEM;
    }
    atomic_init(&turn->state, COMING);
    turn->gone = cl->clCreateUserEvent(stream->object, &status);
    int rc = shmemi_opencl_check(status, "clCreateUserEvent");
    if (rc)
        goto err_free;
    rc = enqueue(stream, turn);
    if (rc)
        goto err_release;
    *turn_p = turn;
    return shmemi_opencl_check(cl->clFlush(stream->handle), "clFlush");

err_release:
    cl->clSetUserEventStatus(turn->gone, CL_INVALID_OPERATION);
    cl->clReleaseEvent(turn->gone);
err_free:
    free(turn);
    return rc;
}

static int turn_state(void *argument)
{
    struct turn *turn = argument;
    int state = atomic_load_explicit(&turn->state, memory_order_acquire);
    if (state == COMING)
        return -EAGAIN;
    if (state < 0)
        shmemi_error("what comes before an operation of the library in an OpenCL queue failed: %s",
                     shmemi_opencl_error_name(state));
    return state < 0 ? -ECANCELED : 0;
}

static void turn_end(void *argument, int status)
{
    struct turn *turn = argument;
    cl->clSetUserEventStatus(turn->gone, status ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_COMPLETE);
    cl->clReleaseEvent(turn->gone);
    free(turn);
}

const struct shmemi_streams shmemi_opencl_queues = {
    .open = queue_open,
    .turn_begin = turn_begin,
    .turn_state = turn_state,
    .turn_end = turn_end,
};
