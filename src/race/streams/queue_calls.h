/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenCL, as far as the program's own calls make order. Includes cl.h.
 */
#ifndef RACE_QUEUE_CALLS_H
#define RACE_QUEUE_CALLS_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>

#include "race/streams/stream_op.h"
#include "race/hooks/sync_objects.h"

/* What is enqueued in the queue from now on comes after these events. */
void race_queue_waits(cl_command_queue queue, cl_uint n_events, const cl_event *events);

/* A turn for a command of the program's own, if it accesses mapped memory. */
void race_copy_turn(struct race_turn *turn, const struct race_call *call, const struct race_work *work,
                    cl_command_queue queue, cl_uint n_events, const cl_event *events, cl_event *event);

#endif
