/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turns in OpenCL queues. A marker shows that the queue has come to an operation; the operation waits for an event of ours
 * that is set when it has been told of. So does a second marker after it, whose event the program gets.
 */
#include "race/streams/queue_calls.h"

#include <stdlib.h>

#define REAL(NAME) ((__typeof__(&NAME))race_next(#NAME))

/* An operation, and the event that is set when its beginning or end has been told of. */
struct telling {
    struct race_op *op;
    cl_event told;
    void (*step)(struct race_op *);
};

static void CL_CALLBACK tell(cl_event event, cl_int status, void *argument)
{
    struct telling *telling = argument;
    (void)event;
    telling->step(telling->op);
    (void)REAL(clSetUserEventStatus)(telling->told, status < 0 ? status : CL_COMPLETE);
    (void)REAL(clReleaseEvent)(telling->told);
    free(telling);
}

/* When the event is complete, take the step, and set the other event. */
static void tell_at(cl_event event, struct race_op *op, void (*step)(struct race_op *), cl_event told)
{
    struct telling *telling = malloc(sizeof *telling);
    if (!telling)
        race_fatal("out of memory for what a queue does");
    *telling = (struct telling){op, told, step};
    (void)REAL(clRetainEvent)(told);
    const cl_int status = REAL(clSetEventCallback)(event, CL_COMPLETE, tell, telling);
    if (status != CL_SUCCESS)
        race_fatal("clSetEventCallback: OpenCL error %d", (int)status);
}

/* NULL: not a queue, which the library says better. */
static cl_context context_of(cl_command_queue queue, bool *is_in_order)
{
    cl_context context = NULL;
    cl_command_queue_properties properties = 0;
    if (!queue || REAL(clGetCommandQueueInfo)(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL) ||
        REAL(clGetCommandQueueInfo)(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL))
        return NULL;
    *is_in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    return context;
}

static void begin_turn(struct race_turn *turn)
{
    const cl_int status = REAL(clEnqueueMarkerWithWaitList)(turn->handle, turn->n_events, turn->events, &turn->come);
    if (status != CL_SUCCESS)
        race_fatal("clEnqueueMarkerWithWaitList: OpenCL error %d", (int)status);
    tell_at(turn->come, turn->op, race_op_begins, turn->begun);
    turn->n_events = 1;
    turn->events = &turn->begun;
}

/* In a queue that works out of order, an operation that waits for no events begins at once. */
void race_queue_turn(struct race_turn *turn, const struct race_call *call, const struct race_work *work,
                     shmemx_queue_t queue, unsigned n_events, const shmemx_event_t *events, shmemx_event_t *event)
{
    *turn = (struct race_turn){NULL, queue, n_events, events, event, event, NULL, NULL, NULL, NULL};
    bool is_in_order;
    const cl_context context = call->thread && (events || !n_events) ? context_of(queue, &is_in_order) : NULL;
    if (!context)
        return;
    race_queue_waits(queue, n_events, events);
    turn->op = race_op_new(call, race_stream_of(queue, false), work);
    turn->begun = REAL(clCreateUserEvent)(context, NULL);
    turn->told = REAL(clCreateUserEvent)(context, NULL);
    if (!turn->begun || !turn->told)
        race_fatal("clCreateUserEvent failed");
    turn->event = &turn->done;
    if (is_in_order || n_events)
        begin_turn(turn);
    else
        race_op_begins(turn->op);
}

/* A copy of memory that is not mapped is left alone. */
void race_copy_turn(struct race_turn *turn, const struct race_call *call, const struct race_work *work,
                    cl_command_queue queue, cl_uint n_events, const cl_event *events, cl_event *event)
{
    struct race_place place;
    const struct race_call nobody = {.thread = NULL};
    const bool is_mapped =
        race_locate(&place, (uintptr_t)work->dest, race.pe) || race_locate(&place, (uintptr_t)work->source, race.pe);
    race_queue_waits(queue, n_events, events);
    race_queue_turn(turn, is_mapped ? call : &nobody, work, queue, n_events, events, event);
}

/* The library or OpenCL may have refused what should have been enqueued between. */
void race_queue_turn_ends(struct race_turn *turn)
{
    if (!turn->op)
        return;
    if (!turn->done && REAL(clEnqueueMarkerWithWaitList)(turn->handle, turn->n_events, turn->events, &turn->done))
        race_fatal("a queue takes no commands any more");
    tell_at(turn->done, turn->op, race_op_ends, turn->told);
    const cl_int status = REAL(clEnqueueMarkerWithWaitList)(turn->handle, 1, &turn->told, turn->event_asked);
    if (status != CL_SUCCESS)
        race_fatal("clEnqueueMarkerWithWaitList: OpenCL error %d", (int)status);
    (void)REAL(clFlush)(turn->handle);
    const cl_event events[] = {turn->come, turn->begun, turn->done, turn->told};
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
        if (events[i])
            (void)REAL(clReleaseEvent)(events[i]);
}
