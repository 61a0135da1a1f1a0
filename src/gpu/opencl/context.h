/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The users' OpenCL contexts, and the command queues that the library makes on them beside the users' own. Private to
 * the OpenCL kind of memory.
 *
 * The buffers of a context share a few queues. All queues are in order, and a thread always uses the same one. So the
 * copies of one thread take effect in order, and a large copy of one thread seldom holds up another thread.
 *
 * On a CPU, a command costs tens of microseconds, since it runs on a worker thread and waits behind the kernels there.
 * Such a device keeps buffers in host memory, so copies can load and store at the address that a map has returned.
 * OpenCL does not promise that this address remains the buffer's storage after the unmap. So it is tested once for each
 * context, on buffers of the library; where the test fails, copies go through the queues.
 */
#ifndef SHMEMI_OPENCL_CONTEXT_H
#define SHMEMI_OPENCL_CONTEXT_H

#include "gpu/opencl/library.h"

#include <stdbool.h>
#include <stddef.h>

enum { SHMEMI_OPENCL_QUEUES = 4 };

/* A user's context while buffers of it are open. */
struct shmemi_opencl_context {
    cl_context context;  /* retained */
    cl_device_id device; /* the queues' */
    cl_command_queue queue[SHMEMI_OPENCL_QUEUES];
    bool direct; /* buffers can be copied by load and store */
    int references;
    struct shmemi_opencl_context *next;
};

/* May buffers of CPU devices be copied by load and store, where that is found to work? True; a unit test sets it to
 * false to test the queues. Read when the first buffer of a context is opened. */
extern bool shmemi_opencl_direct;

/* The record of a user's context, whose references are counted. Made on first use, with queues on the first of its
 * devices on which they can be made; NULL, with *status_p set, when there is none. */
struct shmemi_opencl_context *shmemi_opencl_context_get(cl_context user, cl_int *status_p);
void shmemi_opencl_context_put(struct shmemi_opencl_context *context);

/* The queue for the calling thread. */
cl_command_queue shmemi_opencl_queue(const struct shmemi_opencl_context *context);

/* The host address of a buffer's first byte, found by mapping the buffer; NULL when it cannot be mapped. */
char *shmemi_opencl_map_address(cl_command_queue queue, cl_mem buffer, size_t size);

#endif
