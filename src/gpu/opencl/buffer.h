/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The users' OpenCL buffers, and what the files of the OpenCL kind of memory share. Private to these; what the functions
 * do: memory.h.
 */
#ifndef SHMEMI_OPENCL_BUFFER_H
#define SHMEMI_OPENCL_BUFFER_H

#include "gpu/memory.h"
#include "gpu/opencl/opencl_context.h"

/* The record of an open buffer: shmemi_place.object. */
struct shmemi_opencl_buffer {
    cl_mem buffer; /* the user's, retained */
    struct shmemi_opencl_context *context;
    cl_mem root;      /* the buffer itself, or the one that it is a sub-buffer of */
    uintptr_t origin; /* of the buffer in its root */
    char *storage;    /* address at which copies load and store; NULL: copies go through a queue */
};

/* gpu/opencl/buffer.c */
int shmemi_opencl_open_object(void *object, size_t size, struct shmemi_allocation *allocation_p, char *reason,
                              size_t reason_size);
void shmemi_opencl_close_object(struct shmemi_allocation *allocation);

/* gpu/opencl/opencl_copy.c */
int shmemi_opencl_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                       const struct shmemi_shape *shape);
int shmemi_opencl_copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                             const struct shmemi_shape *shape, struct shmemi_event *event_p);
int shmemi_opencl_event_test(struct shmemi_event *event);
int shmemi_opencl_event_wait(struct shmemi_event *event);

/* gpu/opencl/opencl_pinned.c */
extern const struct shmemi_pinning shmemi_opencl_pinning;
void shmemi_opencl_pinned_close(void);

/* gpu/opencl/short_writes.c: a write of host memory to a buffer of a GPU that PEs use in turns (gpu/memory.h). */
struct shmemi_opencl_write {
    cl_command_queue queue; /* works in order */
    cl_mem buffer;
    size_t offset;
    const char
        *host; /* with neither `blocking` nor event_p, the caller leaves it alone until a later command is complete */
    size_t nbytes;
    cl_bool blocking;
    cl_event before;   /* to wait for; NULL: none */
    cl_event *event_p; /* gets the event of the write; NULL: none is wanted */
};
bool shmemi_opencl_is_short(size_t nbytes); /* may shmemi_opencl_write_short write so many? */
cl_int shmemi_opencl_write_short(const struct shmemi_opencl_write *write);

/* gpu/opencl/queue.c: operations in queues of the program */
extern const struct shmemi_streams shmemi_opencl_queues;

#endif
