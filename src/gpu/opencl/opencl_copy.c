/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of OpenCL memory: by a command in a queue that the library has made on the buffer's context, or, for buffers
 * of a CPU, by load and store (gpu/opencl/opencl_context.h says why and when).
 */
#include "base/copy_bytes.h"
#include "base/likely.h"
#include "base/log.h"
#include "gpu/opencl/buffer.h"

#include <errno.h>
#include <stdlib.h>

enum {
    BOUNCE_BYTES = 4 << 20, /* host memory through which a copy goes that the device cannot do alone */
    SMALL_BYTES = 16 << 10, /* up to which the driver takes what is written with the command */
};

/* One end of a copy: host memory, or an offset into a buffer. */
struct end {
    char *pointer; /* NULL for a buffer without storage of its own in host memory */
    struct shmemi_opencl_buffer *buffer;
    size_t offset;
};

typedef uint64_t word64_t __attribute__((may_alias));
typedef uint32_t word32_t __attribute__((may_alias));

static struct shmemi_opencl *const cl = &shmemi_opencl;

static struct end end_of(const struct shmemi_place *place)
{
    if (place->memory != &shmemi_memory_opencl)
        return (struct end){.pointer = (char *)place->address};
    struct shmemi_opencl_buffer *buffer = place->object;
    size_t offset = place->address - buffer->origin;
    return (struct end){
        .pointer = buffer->storage ? buffer->storage + offset : NULL, .buffer = buffer, .offset = offset};
}

static struct end advance(const struct end *end, size_t nbytes)
{
    return (struct end){
        .pointer = end->pointer ? end->pointer + nbytes : NULL,
        .buffer = end->buffer,
        .offset = end->offset + nbytes,
    };
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

static void copy_rows(const struct end *dest, const struct end *source, const struct shmemi_shape *shape)
{
    const size_t layers = shmemi_shape_layers(shape), rows = shape->rows / layers;
    for (size_t layer = 0; layer < layers; layer++) {
        char *to = dest->pointer + layer * shmemi_shape_dest_layer(shape);
        const char *from = source->pointer + layer * shmemi_shape_source_layer(shape);
        for (size_t row = 0; row < rows; row++)
            copy_row(to + row * shape->dest_pitch, from + row * shape->source_pitch, shape->width);
    }
}

/* ---- Between a buffer and host memory ---------------------------------------------------------------------------- */

/* Bytes from row to row and from layer to layer on one side, as OpenCL's commands for boxes want them: slice is 0 where
 * there are no layers. extent: from the first byte to the last. */
struct steps {
    size_t pitch, slice, extent;
};

static struct steps dest_steps(const struct shmemi_shape *shape)
{
    return (struct steps){shape->dest_pitch, shape->layer ? shmemi_shape_dest_layer(shape) : 0,
                          shmemi_shape_extent(shape, shape->dest_pitch, shape->dest_gap)};
}

static struct steps source_steps(const struct shmemi_shape *shape)
{
    return (struct steps){shape->source_pitch, shape->layer ? shmemi_shape_source_layer(shape) : 0,
                          shmemi_shape_extent(shape, shape->source_pitch, shape->source_gap)};
}

/* Column, row and layer of an offset. */
static void set_origin(size_t origin[3], size_t offset, const struct steps *steps)
{
    const size_t in_layer = steps->slice ? offset % steps->slice : offset;
    origin[0] = in_layer % steps->pitch;
    origin[1] = in_layer / steps->pitch;
    origin[2] = steps->slice ? offset / steps->slice : 0;
}

static void set_region(size_t region[3], const struct shmemi_shape *shape)
{
    region[0] = shape->width;
    region[1] = shape->layer ? shape->layer : shape->rows;
    region[2] = shmemi_shape_layers(shape);
}

/* A copy in a queue of the library. */
struct command {
    enum shmemi_opencl_direction direction;
    struct shmemi_opencl_lane *lane;
    cl_command_queue queue;
    struct shmemi_opencl_extent extent; /* of the buffer that is written or, by the host, read */
    cl_event before;                    /* to wait for, or NULL */
};

static struct command begin_command(enum shmemi_opencl_direction direction, const struct end *end,
                                    const struct steps *steps)
{
    struct command command = {.direction = direction, .lane = shmemi_opencl_lane(end->buffer->context)};
    size_t begin = end->buffer->origin + end->offset;
    command.queue = command.lane->queue[direction];
    command.extent.root = end->buffer->root;
    command.extent.begin = begin;
    command.extent.end = begin + steps->extent;
    command.before = shmemi_opencl_lane_before(command.lane, direction, &command.extent);
    return command;
}

static cl_uint n_before(const struct command *command)
{
    return command->before ? 1 : 0;
}

static const cl_event *before(const struct command *command)
{
    return command->before ? &command->before : NULL;
}

/* Note what was started, if it goes on after the call, and see that the device begins with it. */
static cl_int end_command(const struct command *command, cl_int status, const cl_event *event_p)
{
    if (command->before)
        cl->clReleaseEvent(command->before);
    if (status != CL_SUCCESS || !event_p)
        return status;
    shmemi_opencl_lane_note(command->lane, command->direction, &command->extent, *event_p);
    return cl->clFlush(command->queue);
}

static bool is_short_write_in_turns(const struct command *command, const struct end *device, size_t nbytes)
{
    return shmemi_unlikely(shmemi_memory_sharers[SHMEMI_MEMTYPE_OPENCL] > 1) &&
           command->direction == SHMEMI_OPENCL_WRITE && shmemi_opencl_is_short(nbytes) &&
           shmemi_opencl_takes_turns(device->buffer->context);
}

/* CL_INVALID_VALUE where the implementation refuses rows that cross a multiple of the pitch. */
static cl_int write_in_turns(const struct command *command, const struct end *device, const char *host, size_t nbytes,
                             cl_bool blocking, cl_event *event_p)
{
    return shmemi_opencl_write_short(&(struct shmemi_opencl_write){
        .queue = command->queue,
        .buffer = device->buffer->buffer,
        .offset = device->offset,
        .host = host,
        .nbytes = nbytes,
        .blocking = blocking,
        .before = command->before,
        .event_p = event_p,
    });
}

static cl_int enqueue_bytes(const struct command *command, const struct end *device, char *host, size_t nbytes,
                            cl_bool blocking, cl_event *event_p)
{
    cl_mem buffer = device->buffer->buffer;
    cl_int status = CL_INVALID_VALUE;
    if (is_short_write_in_turns(command, device, nbytes))
        status = write_in_turns(command, device, host, nbytes, blocking, event_p);
    if (status != CL_INVALID_VALUE)
        return status;
    return command->direction == SHMEMI_OPENCL_WRITE
               ? cl->clEnqueueWriteBuffer(command->queue, buffer, blocking, device->offset, nbytes, host,
                                          n_before(command), before(command), event_p)
               : cl->clEnqueueReadBuffer(command->queue, buffer, blocking, device->offset, nbytes, host,
                                         n_before(command), before(command), event_p);
}

/* Bytes from the first row to another one. */
static size_t row_offset(size_t row, const struct steps *steps, const struct shmemi_shape *shape)
{
    return shape->layer ? row / shape->layer * steps->slice + row % shape->layer * steps->pitch : row * steps->pitch;
}

/* Row by row, for implementations that refuse a box whose rows cross a multiple of the pitch. The queue is in order, so
 * all rows are done when the last one is. */
static cl_int enqueue_rows(const struct command *command, const struct end *device, const struct steps *device_steps,
                           char *host, const struct steps *host_steps, const struct shmemi_shape *shape,
                           cl_event *event_p)
{
    cl_int status = CL_SUCCESS;
    for (size_t row = 0; row < shape->rows && status == CL_SUCCESS; row++) {
        const bool is_last = row + 1 == shape->rows;
        const struct end there = advance(device, row_offset(row, device_steps, shape));
        status = enqueue_bytes(command, &there, host + row_offset(row, host_steps, shape), shape->width,
                               is_last && !event_p, is_last ? event_p : NULL);
    }
    if (status != CL_SUCCESS)
        cl->clFinish(command->queue);
    return status;
}

static cl_int enqueue_box(const struct command *command, const struct end *device, const struct steps *device_steps,
                          char *host, const struct steps *host_steps, const struct shmemi_shape *shape,
                          cl_event *event_p)
{
    cl_mem buffer = device->buffer->buffer;
    cl_bool blocking = event_p == NULL;
    size_t origin[3], host_origin[3] = {0}, region[3];
    set_origin(origin, device->offset, device_steps);
    set_region(region, shape);
    return command->direction == SHMEMI_OPENCL_WRITE
               ? cl->clEnqueueWriteBufferRect(command->queue, buffer, blocking, origin, host_origin, region,
                                              device_steps->pitch, device_steps->slice, host_steps->pitch,
                                              host_steps->slice, host, n_before(command), before(command), event_p)
               : cl->clEnqueueReadBufferRect(command->queue, buffer, blocking, origin, host_origin, region,
                                             device_steps->pitch, device_steps->slice, host_steps->pitch,
                                             host_steps->slice, host, n_before(command), before(command), event_p);
}

static cl_int enqueue_shape(const struct command *command, const struct end *device, const struct steps *device_steps,
                            char *host, const struct steps *host_steps, const struct shmemi_shape *shape,
                            cl_event *event_p)
{
    cl_int status = shape->rows == 1 ? enqueue_bytes(command, device, host, shape->width, event_p == NULL, event_p)
                                     : enqueue_box(command, device, device_steps, host, host_steps, shape, event_p);
    if (status == CL_INVALID_VALUE && shape->rows > 1)
        status = enqueue_rows(command, device, device_steps, host, host_steps, shape, event_p);
    return status;
}

/* Is it quicker to start a copy and to wait for its event than to leave the wait to the call? Measured with NVIDIA's
 * driver on an H100, up to 64 KiB: 7.3 to 8.2 us instead of 8.6 to 9.6. Not so for pageable memory, where the driver
 * reads what was started 40 us later. */
static bool is_quicker_by_event(enum shmemi_opencl_direction direction, const char *host,
                                const struct shmemi_shape *shape)
{
    return shape->rows == 1 && ((direction == SHMEMI_OPENCL_WRITE && shape->width <= SMALL_BYTES) ||
                                shmemi_opencl_pinning.is_pinned(host, shape->width));
}

/* Wait for an event and release it. */
static int finish_event(cl_event event)
{
    int rc = shmemi_opencl_check(cl->clWaitForEvents(1, &event), "clWaitForEvents");
    cl->clReleaseEvent(event);
    return rc;
}

static int enqueue(enum shmemi_opencl_direction direction, const struct end *device, struct steps device_steps,
                   char *host, struct steps host_steps, const struct shmemi_shape *shape, cl_event *event_p)
{
    static const char *const calls[][2] = {
        [SHMEMI_OPENCL_WRITE] = {"clEnqueueWriteBuffer", "clEnqueueWriteBufferRect"},
        [SHMEMI_OPENCL_READ] = {"clEnqueueReadBuffer", "clEnqueueReadBufferRect"},
    };
    cl_event own = NULL;
    cl_event *started_p = event_p || !is_quicker_by_event(direction, host, shape) ? event_p : &own;
    struct command command = begin_command(direction, device, &device_steps);
    cl_int status = enqueue_shape(&command, device, &device_steps, host, &host_steps, shape, started_p);
    int rc = shmemi_opencl_check(end_command(&command, status, event_p), calls[direction][shape->rows > 1]);
    return own && !rc ? finish_event(own) : rc;
}

static int enqueue_write(const struct end *dest, const struct end *source, const struct shmemi_shape *shape,
                         cl_event *event_p)
{
    return enqueue(SHMEMI_OPENCL_WRITE, dest, dest_steps(shape), source->pointer, source_steps(shape), shape, event_p);
}

static int enqueue_read(const struct end *dest, const struct end *source, const struct shmemi_shape *shape,
                        cl_event *event_p)
{
    return enqueue(SHMEMI_OPENCL_READ, source, source_steps(shape), dest->pointer, dest_steps(shape), shape, event_p);
}

/* ---- Between two buffers ----------------------------------------------------------------------------------------- */

/* Between two buffers, by the host, in pieces; from the end backwards where overlapping ranges need that. */
static int copy_through_host(const struct end *dest, const struct end *source, const struct shmemi_shape *shape)
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
        struct end middle = {.pointer = bounce};
        struct end from = advance(source, shmemi_piece_offset(&piece, shape->source_pitch));
        struct end to = advance(dest, shmemi_piece_offset(&piece, shape->dest_pitch));
        struct shmemi_shape pack = shmemi_shape_pack(&piece, shape->source_pitch);
        struct shmemi_shape unpack = shmemi_shape_unpack(&piece, shape->dest_pitch);
        rc = enqueue_read(&middle, &from, &pack, NULL);
        if (!rc)
            rc = enqueue_write(&to, &middle, &unpack, NULL);
    }
    free(bounce);
    return rc;
}

/* Can the device copy by itself? It needs one context and, within one buffer, disjoint ranges with equal pitches. */
static bool device_can_copy(const struct end *dest, const struct end *source, const struct shmemi_shape *shape)
{
    if (dest->buffer->context != source->buffer->context)
        return false;
    if (dest->buffer->root != source->buffer->root)
        return true;
    size_t to = dest->buffer->origin + dest->offset, from = source->buffer->origin + source->offset;
    const struct steps to_steps = dest_steps(shape), from_steps = source_steps(shape);
    const bool same_steps = to_steps.pitch == from_steps.pitch && to_steps.slice == from_steps.slice;
    return (to + to_steps.extent <= from || from + from_steps.extent <= to) && (shape->rows == 1 || same_steps);
}

/* Rectangles between sub-buffers are named in their roots: PoCL 3.1 crashes on sub-buffers in this one command. */
static cl_int enqueue_copy(const struct command *command, const struct end *dest, const struct end *source,
                           const struct shmemi_shape *shape, cl_event *event_p)
{
    cl_mem to = dest->buffer->buffer, from = source->buffer->buffer;
    if (shape->rows == 1)
        return cl->clEnqueueCopyBuffer(command->queue, from, to, source->offset, dest->offset, shape->width,
                                       n_before(command), before(command), event_p);
    const struct steps from_steps = source_steps(shape), to_steps = dest_steps(shape);
    size_t from_origin[3], to_origin[3], region[3];
    set_origin(from_origin, source->buffer->origin + source->offset, &from_steps);
    set_origin(to_origin, dest->buffer->origin + dest->offset, &to_steps);
    set_region(region, shape);
    return cl->clEnqueueCopyBufferRect(command->queue, source->buffer->root, dest->buffer->root, from_origin, to_origin,
                                       region, from_steps.pitch, from_steps.slice, to_steps.pitch, to_steps.slice,
                                       n_before(command), before(command), event_p);
}

/* The source is read in the queue of writes, so that only reads of the destination can be in the way. */
static cl_int start_copy(const struct end *dest, const struct end *source, const struct shmemi_shape *shape,
                         cl_event *event_p)
{
    const struct steps steps = dest_steps(shape);
    struct command command = begin_command(SHMEMI_OPENCL_WRITE, dest, &steps);
    return end_command(&command, enqueue_copy(&command, dest, source, shape, event_p), event_p);
}

static int copy_ends(const struct end *dest, const struct end *source, const struct shmemi_shape *shape,
                     cl_event *event_p);

/* Layer by layer, where a device does not copy the whole; complete on return. */
static int copy_layers(const struct end *dest, const struct end *source, const struct shmemi_shape *shape)
{
    const struct shmemi_shape one = shmemi_shape_some(shape, 1);
    int rc = 0;
    for (size_t i = 0; i < shmemi_shape_layers(shape) && !rc; i++) {
        const struct end to = advance(dest, i * shmemi_shape_dest_layer(shape));
        const struct end from = advance(source, i * shmemi_shape_source_layer(shape));
        rc = copy_ends(&to, &from, &one, NULL);
    }
    return rc;
}

/* Some implementations claim that disjoint rectangles of one buffer overlap, or refuse a rectangle whose last row ends
 * with the buffer; then the host copies. */
static int copy_buffers(const struct end *dest, const struct end *source, const struct shmemi_shape *shape,
                        cl_event *event_p)
{
    cl_event event = NULL;
    cl_int status = CL_MEM_COPY_OVERLAP;
    if (device_can_copy(dest, source, shape))
        status = start_copy(dest, source, shape, &event);
    if (status == CL_MEM_COPY_OVERLAP || (status == CL_INVALID_VALUE && shape->rows > 1))
        return shape->layer ? copy_layers(dest, source, shape) : copy_through_host(dest, source, shape);
    if (status != CL_SUCCESS)
        return shmemi_opencl_check(status, shape->rows == 1 ? "clEnqueueCopyBuffer" : "clEnqueueCopyBufferRect");
    if (!event_p)
        return finish_event(event);
    *event_p = event;
    return 0;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* Are the layers a box for OpenCL, which counts from layer to layer in rows? */
static bool is_box(const struct shmemi_shape *shape)
{
    return shape->dest_gap % shape->dest_pitch == 0 && shape->source_gap % shape->source_pitch == 0;
}

static int copy_ends(const struct end *dest, const struct end *source, const struct shmemi_shape *shape,
                     cl_event *event_p)
{
    if (shape->layer && !is_box(shape))
        return copy_layers(dest, source, shape);
    if (dest->pointer)
        return enqueue_read(dest, source, shape, event_p);
    if (source->pointer)
        return enqueue_write(dest, source, shape, event_p);
    return copy_buffers(dest, source, shape, event_p);
}

/* To OpenCL, rows that overlap each other are not a rectangle: copy them one at a time, in order. */
static int copy_overlapping_rows(const struct end *dest, const struct end *source, const struct shmemi_shape *shape)
{
    int rc = 0;
    for (size_t row = 0; row < shape->rows && !rc; row++) {
        struct end to = advance(dest, row * shape->dest_pitch), from = advance(source, row * shape->source_pitch);
        rc = copy_ends(&to, &from, &(struct shmemi_shape){.width = shape->width, .rows = 1}, NULL);
    }
    return rc;
}

/* The data is in place on return if event_p or *event_p is NULL, otherwise when *event_p completes. */
static int copy(const struct shmemi_place *dest_place, const struct shmemi_place *source_place,
                const struct shmemi_shape *user_shape, cl_event *event_p)
{
    struct end dest = end_of(dest_place), source = end_of(source_place);
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
        finish_event(event); /* the host memory is the caller's again */
    if (!rc)
        *event_p = (struct shmemi_event){.memory = &shmemi_memory_opencl, .handle = event};
    return rc;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

int shmemi_opencl_event_wait(struct shmemi_event *event)
{
    cl_event handle = event->handle;
    event->handle = NULL;
    return handle ? finish_event(handle) : 0;
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
