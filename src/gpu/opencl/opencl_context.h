/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The users' OpenCL contexts, and the command queues that the library makes on them beside the users' own. Private to
 * the OpenCL kind of memory.
 *
 * The buffers of a context share a few lanes, each with a queue for either direction, since a device has a copy engine
 * for each. A thread always uses the same lane, so a large copy of one thread seldom holds up another thread. All queues
 * are in order; a copy that touches bytes that an earlier one in the other direction may still be at work on waits for
 * that (gpu/opencl/lane.c). So the copies of one thread take effect in order.
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

enum { SHMEMI_OPENCL_LANES = 4, SHMEMI_OPENCL_WORD = 8 };

/* Writes are copies to buffers, from host memory and from other buffers. */
enum shmemi_opencl_direction { SHMEMI_OPENCL_WRITE, SHMEMI_OPENCL_READ, SHMEMI_OPENCL_DIRECTIONS };

/* Bytes of a buffer, named in its root. */
struct shmemi_opencl_extent {
    cl_mem root; /* NULL: of any */
    size_t begin, end;
};

struct shmemi_opencl_lane {
    cl_command_queue queue[SHMEMI_OPENCL_DIRECTIONS];
    /* Copies that were started and may still be under way, by direction: the event of the last (NULL: none), and bytes
     * that include those of all. Under a lock, since threads share lanes. */
    cl_event last[SHMEMI_OPENCL_DIRECTIONS];
    struct shmemi_opencl_extent touched[SHMEMI_OPENCL_DIRECTIONS];
};

/* Host memory that a context knows as page-locked (gpu/opencl/opencl_pinned.c). */
struct shmemi_opencl_range;

/* A user's context while buffers of it are open. */
struct shmemi_opencl_context {
    cl_context context;  /* retained */
    cl_device_id device; /* the queues' */
    struct shmemi_opencl_lane lane[SHMEMI_OPENCL_LANES];
    bool direct; /* buffers can be copied by load and store */
    cl_mem word; /* 8 bytes that nobody writes (gpu/opencl/queue.c); NULL: there are none */
    struct shmemi_opencl_range *pinned;
    int references;
    struct shmemi_opencl_context *next;
};

/* The record of a user's context, whose references are counted. Made on first use, with queues on the first of its
 * devices on which they can be made; NULL, with *status_p set, when there is none. */
struct shmemi_opencl_context *shmemi_opencl_context_get(cl_context user, cl_int *status_p);
/* The record if there is one, with a reference; otherwise NULL. */
struct shmemi_opencl_context *shmemi_opencl_context_find(cl_context user);
void shmemi_opencl_context_put(struct shmemi_opencl_context *context);

/* Is its device a GPU that several PEs use in turns (gpu/memory.h)? */
bool shmemi_opencl_takes_turns(const struct shmemi_opencl_context *context);

/* The lane of the calling thread, and the order of the copies in it (gpu/opencl/lane.c). */
struct shmemi_opencl_lane *shmemi_opencl_lane(struct shmemi_opencl_context *context);
/* The event that a copy of these bytes has to wait for, which the caller releases; NULL: none. */
cl_event shmemi_opencl_lane_before(struct shmemi_opencl_lane *lane, enum shmemi_opencl_direction direction,
                                   const struct shmemi_opencl_extent *extent);
/* A copy has been started, whose event this is. */
void shmemi_opencl_lane_note(struct shmemi_opencl_lane *lane, enum shmemi_opencl_direction direction,
                             const struct shmemi_opencl_extent *extent, cl_event event);
/* Make the lanes' queues on a device, and release them. */
cl_int shmemi_opencl_lanes_open(struct shmemi_opencl_context *context, cl_device_id device);
void shmemi_opencl_lanes_close(struct shmemi_opencl_context *context);

/* Call a function with each context, under the lock of the list of contexts. */
void shmemi_opencl_contexts_visit(void (*visit)(struct shmemi_opencl_context *context));

/* Page-locked host memory (gpu/opencl/opencl_pinned.c), under the lock of the list of contexts: let a context know all of it,
 * and undo that. */
void shmemi_opencl_pin_context(struct shmemi_opencl_context *context);
void shmemi_opencl_unpin_context(struct shmemi_opencl_context *context);

/* Wait for the short writes that are under way in any context (gpu/opencl/short_writes.c), whose events keep it. */
void shmemi_opencl_short_writes_end(void);

/* The host address of a buffer's first byte, found by mapping the buffer; NULL when it cannot be mapped. */
char *shmemi_opencl_map_address(cl_command_queue queue, cl_mem buffer, size_t size);

#endif
