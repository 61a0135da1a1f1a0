/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of OpenCL memory: by commands in a queue that the library has made on the buffer's context, or, for buffers of a
 * CPU, by load and store (gpu/opencl/opencl_context.h says why and when).
 */
#include "base/copy_bytes.h"
#include "base/log.h"
#include "gpu/opencl/opencl_commands.h"

#include <errno.h>
#include <stdlib.h>

enum { BOUNCE_BYTES = 4 << 20 }; /* host memory through which a copy goes that the device cannot do alone */

typedef uint64_t word64_t __attribute__((may_alias));
typedef uint32_t word32_t __attribute__((may_alias));

static struct shmemi_opencl *const cl = &shmemi_opencl;

static struct shmemi_opencl_end end_of(const struct shmemi_place *place)
{
    if (place->memory != &shmemi_memory_opencl)
        return (struct shmemi_opencl_end){.pointer = (char *)place->address};
    struct shmemi_opencl_buffer *buffer = place->object;
    size_t offset = place->address - buffer->origin;
    return (struct shmemi_opencl_end){
        .pointer = buffer->storage ? buffer->storage + offset : NULL, .buffer = buffer, .offset = offset};
}

/* ---- By load and store ------------------------------------------------------------------------------------------- */

/* Words are copied whole and in order: other threads never see a flag or pointer half written, or before the data that
 * precedes it. */
static void copy_row(char *dest, const char *source, size_t width)
{
    uintptr_t alignment = (uintptr_t)dest | (uintptr_t)source;
    if (width == 8 && alignment % 8 == 0)
        __atomic_store_n((word64_t *)dest, __atomic_load_n((const word64_t *)source, __ATOMIC_ACQUIRE),
                         __ATOMIC_RELEASE);
    else if (width == 4 && alignment % 4 == 0)
        __atomic_store_n((word32_t *)dest, __atomic_load_n((const word32_t *)source, __ATOMIC_ACQUIRE),
                         __ATOMIC_RELEASE);
    else
        shmemi_copy_bytes(dest, source, width);
}

static void copy_rows(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                      const struct shmemi_shape *shape)
{
    const size_t layers = shmemi_shape_layers(shape), rows = shape->rows / layers;
    for (size_t layer = 0; layer < layers; layer++) {
        char *to = dest->pointer + layer * shmemi_shape_dest_layer(shape);
        const char *from = source->pointer + layer * shmemi_shape_source_layer(shape);
        for (size_t row = 0; row < rows; row++)
            copy_row(to + row * shape->dest_pitch, from + row * shape->source_pitch, shape->width);
    }
}

/* ---- Between two buffers ----------------------------------------------------------------------------------------- */

/* Between two buffers, by the host, in pieces; from the end backwards where overlapping ranges need that. */
static int copy_through_host(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                             const struct shmemi_shape *shape)
{
    size_t nbytes = shape->width * shape->rows;
    bool backwards = dest->buffer->origin + dest->offset > source->buffer->origin + source->offset;
    struct shmemi_cutter cutter = {.width = shape->width, .rows = shape->rows, .row = backwards ? shape->rows : 0};
    struct shmemi_piece piece;
    char *bounce = malloc(nbytes < BOUNCE_BYTES ? nbytes : BOUNCE_BYTES);
    int rc = 0;
    if (!bounce) {
        shmemi_error("no host memory for a copy between OpenCL buffers");
        return -ENOMEM;
    }
    while (!rc && (backwards ? shmemi_cut_back : shmemi_cut)(&cutter, BOUNCE_BYTES, &piece)) {
        struct shmemi_opencl_end middle = {.pointer = bounce};
        struct shmemi_opencl_end from = shmemi_opencl_advance(source, shmemi_piece_offset(&piece, shape->source_pitch));
        struct shmemi_opencl_end to = shmemi_opencl_advance(dest, shmemi_piece_offset(&piece, shape->dest_pitch));
        struct shmemi_shape pack = shmemi_shape_pack(&piece, shape->source_pitch);
        struct shmemi_shape unpack = shmemi_shape_unpack(&piece, shape->dest_pitch);
        rc = shmemi_opencl_enqueue_read(&middle, &from, &pack, NULL);
        if (!rc)
            rc = shmemi_opencl_enqueue_write(&to, &middle, &unpack, NULL);
    }
    free(bounce);
    return rc;
}

static int copy_ends(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                     const struct shmemi_shape *shape, cl_event *event_p);

/* Layer by layer, where a device does not copy the whole; complete on return. */
static int copy_layers(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                       const struct shmemi_shape *shape)
{
    const struct shmemi_shape one = shmemi_shape_some(shape, 1);
    int rc = 0;
    for (size_t i = 0; i < shmemi_shape_layers(shape) && !rc; i++) {
        const struct shmemi_opencl_end to = shmemi_opencl_advance(dest, i * shmemi_shape_dest_layer(shape));
        const struct shmemi_opencl_end from = shmemi_opencl_advance(source, i * shmemi_shape_source_layer(shape));
        rc = copy_ends(&to, &from, &one, NULL);
    }
    return rc;
}

/* Some implementations claim that disjoint rectangles of one buffer overlap, or refuse a rectangle whose last row ends
 * with the buffer; then the host copies. */
static int copy_buffers(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                        const struct shmemi_shape *shape, cl_event *event_p)
{
    cl_event event = NULL;
    cl_int status = shmemi_opencl_start_copy(dest, source, shape, &event);
    if (status == CL_MEM_COPY_OVERLAP || (status == CL_INVALID_VALUE && shape->rows > 1))
        return shape->layer ? copy_layers(dest, source, shape) : copy_through_host(dest, source, shape);
    if (status != CL_SUCCESS)
        return shmemi_opencl_check(status, shape->rows == 1 ? "clEnqueueCopyBuffer" : "clEnqueueCopyBufferRect");
    if (!event_p)
        return shmemi_opencl_finish_event(event);
    *event_p = event;
    return 0;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* Are the layers a box for OpenCL, which counts from layer to layer in rows? */
static bool is_box(const struct shmemi_shape *shape)
{
    return shape->dest_gap % shape->dest_pitch == 0 && shape->source_gap % shape->source_pitch == 0;
}

static int copy_ends(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                     const struct shmemi_shape *shape, cl_event *event_p)
{
    if (shape->layer && !is_box(shape))
        return copy_layers(dest, source, shape);
    if (dest->pointer)
        return shmemi_opencl_enqueue_read(dest, source, shape, event_p);
    if (source->pointer)
        return shmemi_opencl_enqueue_write(dest, source, shape, event_p);
    return copy_buffers(dest, source, shape, event_p);
}

/* To OpenCL, rows that overlap each other are not a rectangle: copy them one at a time, in order. */
static int copy_overlapping_rows(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                                 const struct shmemi_shape *shape)
{
    int rc = 0;
    for (size_t row = 0; row < shape->rows && !rc; row++) {
        struct shmemi_opencl_end to = shmemi_opencl_advance(dest, row * shape->dest_pitch),
                                 from = shmemi_opencl_advance(source, row * shape->source_pitch);
        rc = copy_ends(&to, &from, &(struct shmemi_shape){.width = shape->width, .rows = 1}, NULL);
    }
    return rc;
}

/* The data is in place on return if event_p or *event_p is NULL, otherwise when *event_p completes. */
static int copy(const struct shmemi_place *dest_place, const struct shmemi_place *source_place,
                const struct shmemi_shape *user_shape, cl_event *event_p)
{
    struct shmemi_opencl_end dest = end_of(dest_place), source = end_of(source_place);
    struct shmemi_shape shape = *user_shape;
    if (shape.width == 0 || shape.rows == 0)
        return 0;
    if (shmemi_shape_is_dense(&shape))
        shape = shmemi_shape_linear(shape.width * shape.rows);
    if (dest.pointer && source.pointer) {
        copy_rows(&dest, &source, &shape);
        return 0;
    }
    /* Later copies of a buffer with storage do not wait for a queue, so this one must be complete on return. */
    bool mixed = (dest.buffer && dest.pointer) || (source.buffer && source.pointer);
    if (shape.rows > 1 && (shape.dest_pitch < shape.width || shape.source_pitch < shape.width))
        return copy_overlapping_rows(&dest, &source, &shape);
    return copy_ends(&dest, &source, &shape, mixed ? NULL : event_p);
}

int shmemi_opencl_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                       const struct shmemi_shape *shape)
{
    return copy(dest, source, shape, NULL);
}

int shmemi_opencl_copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                             const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    cl_event event = NULL;
    int rc = copy(dest, source, shape, &event);
    if (rc && event)
        shmemi_opencl_finish_event(event); /* the host memory is the caller's again */
    if (!rc)
        *event_p = (struct shmemi_event){.memory = &shmemi_memory_opencl, .handle = event};
    return rc;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

int shmemi_opencl_event_wait(struct shmemi_event *event)
{
    cl_event handle = event->handle;
    event->handle = NULL;
    return handle ? shmemi_opencl_finish_event(handle) : 0;
}

int shmemi_opencl_event_test(struct shmemi_event *event)
{
    cl_int execution = CL_COMPLETE;
    if (!event->handle)
        return 0;
    cl_int status =
        cl->clGetEventInfo(event->handle, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution, &execution, NULL);
    if (status == CL_SUCCESS && execution > CL_COMPLETE)
        return -EAGAIN;
    cl->clReleaseEvent(event->handle);
    event->handle = NULL;
    if (status != CL_SUCCESS)
        return shmemi_opencl_check(status, "clGetEventInfo");
    return execution < 0 ? shmemi_opencl_check(execution, "OpenCL copy") : 0;
}
