/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands by which a queue of the library copies.
 */
#include "base/likely.h"
#include "gpu/opencl/opencl_commands.h"

enum { SMALL_BYTES = 16 << 10 }; /* up to which the driver takes what is written with the command */

static struct shmemi_opencl *const cl = &shmemi_opencl;

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

static struct command begin_command(enum shmemi_opencl_direction direction, const struct shmemi_opencl_end *end,
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

static bool is_short_write_in_turns(const struct command *command, const struct shmemi_opencl_end *device,
                                    size_t nbytes)
{
    return command->direction == SHMEMI_OPENCL_WRITE && shmemi_opencl_is_short(nbytes) &&
           shmemi_opencl_takes_turns(device->buffer->context);
}

/* CL_INVALID_VALUE where the implementation refuses rows that cross a multiple of the pitch. */
static cl_int write_in_turns(const struct command *command, const struct shmemi_opencl_end *device, const char *host,
                             size_t nbytes, cl_bool blocking, cl_event *event_p)
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

static cl_int enqueue_bytes(const struct command *command, const struct shmemi_opencl_end *device, char *host,
                            size_t nbytes, cl_bool blocking, cl_event *event_p)
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
static cl_int enqueue_rows(const struct command *command, const struct shmemi_opencl_end *device,
                           const struct steps *device_steps, char *host, const struct steps *host_steps,
                           const struct shmemi_shape *shape, cl_event *event_p)
{
    cl_int status = CL_SUCCESS;
    for (size_t row = 0; row < shape->rows && status == CL_SUCCESS; row++) {
        const bool is_last = row + 1 == shape->rows;
        const struct shmemi_opencl_end there = shmemi_opencl_advance(device, row_offset(row, device_steps, shape));
        status = enqueue_bytes(command, &there, host + row_offset(row, host_steps, shape), shape->width,
                               is_last && !event_p, is_last ? event_p : NULL);
    }
    if (status != CL_SUCCESS)
        cl->clFinish(command->queue);
    return status;
}

static cl_int enqueue_box(const struct command *command, const struct shmemi_opencl_end *device,
                          const struct steps *device_steps, char *host, const struct steps *host_steps,
                          const struct shmemi_shape *shape, cl_event *event_p)
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

static cl_int enqueue_shape(const struct command *command, const struct shmemi_opencl_end *device,
                            const struct steps *device_steps, char *host, const struct steps *host_steps,
                            const struct shmemi_shape *shape, cl_event *event_p)
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

int shmemi_opencl_finish_event(cl_event event)
{
    int rc = shmemi_opencl_check(cl->clWaitForEvents(1, &event), "clWaitForEvents");
    cl->clReleaseEvent(event);
    return rc;
}

static int enqueue(enum shmemi_opencl_direction direction, const struct shmemi_opencl_end *device,
                   struct steps device_steps, char *host, struct steps host_steps, const struct shmemi_shape *shape,
                   cl_event *event_p)
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
    return own && !rc ? shmemi_opencl_finish_event(own) : rc;
}

int shmemi_opencl_enqueue_write(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                                const struct shmemi_shape *shape, cl_event *event_p)
{
    return enqueue(SHMEMI_OPENCL_WRITE, dest, dest_steps(shape), source->pointer, source_steps(shape), shape, event_p);
}

int shmemi_opencl_enqueue_read(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                               const struct shmemi_shape *shape, cl_event *event_p)
{
    return enqueue(SHMEMI_OPENCL_READ, source, source_steps(shape), dest->pointer, dest_steps(shape), shape, event_p);
}

/* ---- Between two buffers ----------------------------------------------------------------------------------------- */

/* Can the device copy by itself? It needs one context and, within one buffer, disjoint ranges with equal pitches. */
static bool device_can_copy(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                            const struct shmemi_shape *shape)
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
static cl_int enqueue_copy(const struct command *command, const struct shmemi_opencl_end *dest,
                           const struct shmemi_opencl_end *source, const struct shmemi_shape *shape, cl_event *event_p)
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
cl_int shmemi_opencl_start_copy(const struct shmemi_opencl_end *dest, const struct shmemi_opencl_end *source,
                                const struct shmemi_shape *shape, cl_event *event_p)
{
    if (!device_can_copy(dest, source, shape))
        return CL_MEM_COPY_OVERLAP;
    const struct steps steps = dest_steps(shape);
    struct command command = begin_command(SHMEMI_OPENCL_WRITE, dest, &steps);
    return end_command(&command, enqueue_copy(&command, dest, source, shape, event_p), event_p);
}
