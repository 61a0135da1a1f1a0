/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands by which a queue of the library copies, between buffers and host memory and between buffers. Private to the
 * OpenCL kind of memory.
 */
#ifndef SHMEMI_OPENCL_COMMANDS_H
#define SHMEMI_OPENCL_COMMANDS_H

#include "gpu/opencl/buffer.h"

/* One end of a copy: host memory, or an offset into a buffer. */
struct shmemi_opencl_end {
    char *pointer; /* NULL for a buffer without storage of its own in host memory */
    struct shmemi_opencl_buffer *buffer;
    size_t offset;
};

static inline struct shmemi_opencl_end shmemi_opencl_advance(const struct shmemi_opencl_end *end, size_t nbytes)
{
    return (struct shmemi_opencl_end){
        .pointer = end->pointer ? end->pointer + nbytes : NULL,
        .buffer = end->buffer,
        .offset = end->offset + nbytes,
    };
}

/* One row, rows, or layers that are a whole number of rows apart; the end without a pointer is a buffer. Without event_p
 * complete on return, otherwise when the event is. */
int shmemi_opencl_enqueue_write(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                                const struct shmemi_shape *shape, cl_event *event_p);
int shmemi_opencl_enqueue_read(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                               const struct shmemi_shape *shape, cl_event *event_p);
/* Between two buffers. CL_MEM_COPY_OVERLAP when the device cannot do that by itself. */
cl_int shmemi_opencl_start_copy(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                                const struct shmemi_shape *shape, cl_event *event_p);

/* Wait for an event and release it. 0 or -errno, logged. */
int shmemi_opencl_finish_event(cl_event event);

#endif
