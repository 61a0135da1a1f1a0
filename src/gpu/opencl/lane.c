/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lanes: the library's queues, and which copies wait for which. Copies in one direction share a queue, which is in
 * order. Copies in different directions wait for each other only where their bytes overlap: a PE that sends one part of
 * a buffer while it receives another has both directions of the bus at work.
 */
#include "gpu/opencl/opencl_context.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static struct shmemi_opencl *const cl = &shmemi_opencl;
static pthread_mutex_t lanes_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint thread_count;
static _Thread_local unsigned thread_number; /* from 1; 0: none yet */

struct shmemi_opencl_lane *shmemi_opencl_lane(struct shmemi_opencl_context *context)
{
    if (!thread_number)
        thread_number = atomic_fetch_add(&thread_count, 1) + 1;
    return &context->lane[(thread_number - 1) % SHMEMI_OPENCL_LANES];
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

/* With the lock held. */
static void forget(struct shmemi_opencl_lane *lane, enum shmemi_opencl_direction direction)
{
    if (lane->last[direction])
        cl->clReleaseEvent(lane->last[direction]);
    lane->last[direction] = NULL;
}

/* With the lock held. */
static bool is_busy(struct shmemi_opencl_lane *lane, enum shmemi_opencl_direction direction)
{
    cl_event last = lane->last[direction];
    cl_int state = CL_COMPLETE;
    if (last && (cl->clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) ||
                 state <= CL_COMPLETE))
        forget(lane, direction);
    return lane->last[direction];
}

static bool overlap(const struct shmemi_opencl_extent *a, const struct shmemi_opencl_extent *b)
{
    return !a->root || !b->root || (a->root == b->root && a->begin < b->end && b->begin < a->end);
}

cl_event shmemi_opencl_lane_before(struct shmemi_opencl_lane *lane, enum shmemi_opencl_direction direction,
                                   const struct shmemi_opencl_extent *extent)
{
    const enum shmemi_opencl_direction other =
        direction == SHMEMI_OPENCL_WRITE ? SHMEMI_OPENCL_READ : SHMEMI_OPENCL_WRITE;
    cl_event event = NULL;
    pthread_mutex_lock(&lanes_lock);
    if (is_busy(lane, other) && overlap(&lane->touched[other], extent) &&
        cl->clRetainEvent(lane->last[other]) == CL_SUCCESS)
        event = lane->last[other];
    pthread_mutex_unlock(&lanes_lock);
    return event;
}

/* An extent that includes both. */
static struct shmemi_opencl_extent join(const struct shmemi_opencl_extent *a, const struct shmemi_opencl_extent *b)
{
    if (a->root != b->root)
        return (struct shmemi_opencl_extent){.root = NULL};
    return (struct shmemi_opencl_extent){
        .root = a->root,
        .begin = a->begin < b->begin ? a->begin : b->begin,
        .end = a->end > b->end ? a->end : b->end,
    };
}

void shmemi_opencl_lane_note(struct shmemi_opencl_lane *lane, enum shmemi_opencl_direction direction,
                             const struct shmemi_opencl_extent *extent, cl_event event)
{
    pthread_mutex_lock(&lanes_lock);
    lane->touched[direction] = is_busy(lane, direction) ? join(&lane->touched[direction], extent) : *extent;
    forget(lane, direction);
    if (cl->clRetainEvent(event) == CL_SUCCESS)
        lane->last[direction] = event;
    pthread_mutex_unlock(&lanes_lock);
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static void close_lane(struct shmemi_opencl_lane *lane)
{
    for (int direction = 0; direction < SHMEMI_OPENCL_DIRECTIONS; direction++) {
        forget(lane, direction);
        if (lane->queue[direction])
            cl->clReleaseCommandQueue(lane->queue[direction]);
        lane->queue[direction] = NULL;
    }
}

void shmemi_opencl_lanes_close(struct shmemi_opencl_context *context)
{
    for (int i = 0; i < SHMEMI_OPENCL_LANES; i++)
        close_lane(&context->lane[i]);
}

static cl_int open_lane(struct shmemi_opencl_lane *lane, cl_context context, cl_device_id device)
{
    cl_int status = CL_SUCCESS;
    for (int direction = 0; direction < SHMEMI_OPENCL_DIRECTIONS && status == CL_SUCCESS; direction++)
        lane->queue[direction] = cl->clCreateCommandQueue(context, device, 0, &status);
    return status;
}

cl_int shmemi_opencl_lanes_open(struct shmemi_opencl_context *context, cl_device_id device)
{
    cl_int status = CL_SUCCESS;
    for (int i = 0; i < SHMEMI_OPENCL_LANES && status == CL_SUCCESS; i++)
        status = open_lane(&context->lane[i], context->context, device);
    if (status != CL_SUCCESS)
        shmemi_opencl_lanes_close(context);
    return status;
}
