/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenCL memory: buffers (cl_mem) that the user made in a context of his own.
 *
 * A copy is a command in a queue of our own on the buffer's context, or, for a buffer of a CPU, a load and a store
 * (gpu/opencl/context.h says why and when).
 *
 * Places: address counts from the start of the root buffer, so that ranges of a buffer and of its sub-buffers compare.
 */
#include "base/log.h"
#include "gpu/memory.h"
#include "gpu/opencl/context.h"
#include "gpu/opencl/library.h"
#include "gpu/opencl/queue.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BOUNCE_BYTES = 4 << 20,    /* of host memory for a copy that the device cannot do alone */
    PCI_BUS_INFO_KHR = 0x410F, /* cl_khr_pci_bus_info */
    PCI_BUS_ID_NV = 0x4008,    /* cl_nv_device_attribute_query */
    PCI_SLOT_ID_NV = 0x4009,   /* device * 8 + function */
    PCI_DOMAIN_ID_NV = 0x400A,
};

struct pci_bus_info_khr {
    cl_uint domain, bus, device, function;
};

/* The record of an open buffer: shmemi_place.object. */
struct opencl_buffer {
    cl_mem buffer; /* the user's, retained */
    struct shmemi_opencl_context *context;
    cl_mem root;      /* the buffer itself, or the one that it is a sub-buffer of */
    uintptr_t origin; /* of the buffer in its root */
    char *storage;    /* where copies load and store; NULL: through a queue */
};

/* One end of a copy: host memory, or an offset into a buffer. */
struct end {
    char *pointer; /* NULL for a buffer without storage of its own in host memory */
    struct opencl_buffer *buffer;
    size_t offset;
};

typedef uint64_t word64_t __attribute__((may_alias));
typedef uint32_t word32_t __attribute__((may_alias));

static struct shmemi_opencl *const cl = &shmemi_opencl;

/* --- buffers ----------------------------------------------------------------------------------------------------- */

struct buffer_info {
    cl_mem_object_type type;
    size_t size;
    cl_mem_flags flags;
    cl_context context;
    cl_mem parent; /* NULL unless it is a sub-buffer */
    size_t origin;
};

__attribute__((format(printf, 3, 4))) static int refuse(char *reason, size_t reason_size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, reason_size, format, args);
    va_end(args);
    return -EINVAL;
}

/* OpenCL cannot tell a cl_mem from another pointer: calling it with one ends the process. What can be found out without
 * a call is refused here: unreadable addresses, and the frequent slip of passing the cl_mem in place of its address. */
static int find_buffer(void *object, cl_mem *buffer_p, char *reason, size_t reason_size)
{
    uintptr_t handle, first_word;
    if (!object)
        return refuse(reason, reason_size, "is NULL; it must be the address of a cl_mem");
    if (shmemi_opencl_peek(object, &handle))
        return refuse(reason, reason_size, "is not the address of a cl_mem: it cannot be read");
    if (!handle)
        return refuse(reason, reason_size, "is the address of a NULL cl_mem");
    if (shmemi_opencl_is_dispatch(handle))
        return refuse(reason, reason_size, "is an OpenCL object; pass the address of the cl_mem variable");
    if (shmemi_opencl_peek((void *)handle, &first_word))
        return refuse(reason, reason_size, "is not the address of a cl_mem");
    *buffer_p = (cl_mem)handle;
    return 0;
}

static cl_int inspect(cl_mem buffer, struct buffer_info *info)
{
    const struct {
        cl_mem_info name;
        size_t size;
        void *value;
    } query[] = {
        {CL_MEM_TYPE, sizeof info->type, &info->type},
        {CL_MEM_SIZE, sizeof info->size, &info->size},
        {CL_MEM_FLAGS, sizeof info->flags, &info->flags},
        {CL_MEM_CONTEXT, sizeof info->context, &info->context},
        {CL_MEM_ASSOCIATED_MEMOBJECT, sizeof info->parent, &info->parent},
        {CL_MEM_OFFSET, sizeof info->origin, &info->origin},
    };
    cl_int status = CL_SUCCESS;
    for (size_t i = 0; i < sizeof query / sizeof *query && status == CL_SUCCESS; i++)
        status = cl->clGetMemObjectInfo(buffer, query[i].name, query[i].size, query[i].value, NULL);
    return status;
}

static int validate(const struct buffer_info *info, size_t size, char *reason, size_t reason_size)
{
    if (info->type != CL_MEM_OBJECT_BUFFER)
        return refuse(reason, reason_size, "is an image or a pipe, not a buffer");
    if (size > info->size)
        return refuse(reason, reason_size, "size %zu is larger than the buffer (%zu bytes)", size, info->size);
    if (info->flags & CL_MEM_HOST_NO_ACCESS)
        return refuse(reason, reason_size, "was made with CL_MEM_HOST_NO_ACCESS, which forbids copies by the host");
    if (info->flags & CL_MEM_HOST_READ_ONLY)
        return refuse(reason, reason_size, "was made with CL_MEM_HOST_READ_ONLY, which forbids writes by the host");
    if (info->flags & CL_MEM_HOST_WRITE_ONLY)
        return refuse(reason, reason_size, "was made with CL_MEM_HOST_WRITE_ONLY, which forbids reads by the host");
    return 0;
}

/* Index of the device in the list, or of the one that it is a part of; -1 when the list lacks both. */
static int device_index(cl_device_id device)
{
    int index = shmemi_opencl_device_index(device);
    cl_device_id parent = NULL;
    while (index < 0 && cl->clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) == 0 &&
           parent) {
        index = shmemi_opencl_device_index(parent);
        device = parent;
    }
    return index;
}

static int make_record(cl_mem buffer, const struct buffer_info *info, struct opencl_buffer **record_p, char *reason,
                       size_t reason_size)
{
    struct opencl_buffer *record = calloc(1, sizeof *record);
    if (!record) {
        refuse(reason, reason_size, "cannot be recorded: no host memory");
        return -ENOMEM;
    }
    cl_int status = cl->clRetainMemObject(buffer);
    if (status != CL_SUCCESS)
        goto err_free;
    record->context = shmemi_opencl_context_get(info->context, &status);
    if (!record->context)
        goto err_release;
    record->buffer = buffer;
    record->root = info->parent ? info->parent : buffer;
    record->origin = info->parent ? info->origin : 0;
    if (record->context->direct)
        record->storage = shmemi_opencl_map_address(shmemi_opencl_queue(record->context), buffer, info->size);
    *record_p = record;
    return 0;

err_release:
    cl->clReleaseMemObject(buffer);
err_free:
    free(record);
    refuse(reason, reason_size, "cannot be used through its context: %s", shmemi_opencl_error_name(status));
    return shmemi_opencl_errno(status);
}

static int opencl_open_object(void *object, size_t size, struct shmemi_allocation *allocation_p, char *reason,
                              size_t reason_size)
{
    cl_mem buffer = NULL;
    struct buffer_info info = {0};
    struct opencl_buffer *record = NULL;
    int rc = find_buffer(object, &buffer, reason, reason_size);
    if (rc)
        return rc;
    cl_int status = inspect(buffer, &info);
    if (status != CL_SUCCESS)
        return refuse(reason, reason_size, "is not a cl_mem: %s", shmemi_opencl_error_name(status));
    rc = validate(&info, size, reason, reason_size);
    if (!rc)
        rc = make_record(buffer, &info, &record, reason, reason_size);
    if (rc)
        return rc;
    *allocation_p = (struct shmemi_allocation){
        .place = {.memory = &shmemi_memory_opencl, .object = record, .address = record->origin},
        .base = record->origin,
        .size = info.size,
        .buffer_id = (uint64_t)(uintptr_t)record->root,
        .device = device_index(record->context->device),
        .class = SHMEMI_CLASS_OPENCL,
    };
    return 0;
}

static void opencl_close_object(struct shmemi_allocation *allocation)
{
    struct opencl_buffer *record = allocation->place.object;
    cl->clReleaseMemObject(record->buffer);
    shmemi_opencl_context_put(record->context);
    free(record);
    allocation->place.object = NULL;
}

/* --- copies ------------------------------------------------------------------------------------------------------ */

static struct end end_of(const struct shmemi_place *place)
{
    if (place->memory != &shmemi_memory_opencl)
        return (struct end){.pointer = (char *)place->address};
    struct opencl_buffer *buffer = place->object;
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

/* A word is copied whole, so that a flag or a pointer is never seen half written, and after what was copied before. */
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
        memmove(dest, source, width);
}

static void copy_rows(const struct end *dest, const struct end *source, const struct shmemi_shape *shape)
{
    for (size_t row = 0; row < shape->rows; row++)
        copy_row(dest->pointer + row * shape->dest_pitch, source->pointer + row * shape->source_pitch, shape->width);
}

/* Row and column of an offset, as OpenCL's rectangles want them. */
static void set_origin(size_t origin[3], size_t offset, size_t pitch)
{
    origin[0] = offset % pitch;
    origin[1] = offset / pitch;
    origin[2] = 0;
}

/* Row by row, for implementations that do not take a rectangle whose rows run over a multiple of the pitch. The queue
 * is in order, so the last row's event or completion is that of all. */
static cl_int write_rows(cl_command_queue queue, const struct end *dest, const struct end *source,
                         const struct shmemi_shape *shape, cl_event *event_p)
{
    cl_int status = CL_SUCCESS;
    for (size_t row = 0; row < shape->rows && status == CL_SUCCESS; row++) {
        bool is_last = row + 1 == shape->rows;
        status = cl->clEnqueueWriteBuffer(
            queue, dest->buffer->buffer, is_last && !event_p, dest->offset + row * shape->dest_pitch, shape->width,
            source->pointer + row * shape->source_pitch, 0, NULL, is_last ? event_p : NULL);
    }
    if (status != CL_SUCCESS)
        cl->clFinish(queue);
    return status;
}

static cl_int read_rows(cl_command_queue queue, const struct end *dest, const struct end *source,
                        const struct shmemi_shape *shape, cl_event *event_p)
{
    cl_int status = CL_SUCCESS;
    for (size_t row = 0; row < shape->rows && status == CL_SUCCESS; row++) {
        bool is_last = row + 1 == shape->rows;
        status = cl->clEnqueueReadBuffer(queue, source->buffer->buffer, is_last && !event_p,
                                         source->offset + row * shape->source_pitch, shape->width,
                                         dest->pointer + row * shape->dest_pitch, 0, NULL, is_last ? event_p : NULL);
    }
    if (status != CL_SUCCESS)
        cl->clFinish(queue);
    return status;
}

static int enqueue_write(const struct end *dest, const struct end *source, const struct shmemi_shape *shape,
                         cl_event *event_p)
{
    cl_bool blocking = event_p == NULL;
    cl_mem buffer = dest->buffer->buffer;
    cl_command_queue queue = shmemi_opencl_queue(dest->buffer->context);
    if (shape->rows == 1)
        return shmemi_opencl_check(cl->clEnqueueWriteBuffer(queue, buffer, blocking, dest->offset, shape->width,
                                                            source->pointer, 0, NULL, event_p),
                                   "clEnqueueWriteBuffer");
    size_t origin[3], host_origin[3] = {0}, region[3] = {shape->width, shape->rows, 1};
    set_origin(origin, dest->offset, shape->dest_pitch);
    cl_int status =
        cl->clEnqueueWriteBufferRect(queue, buffer, blocking, origin, host_origin, region, shape->dest_pitch, 0,
                                     shape->source_pitch, 0, source->pointer, 0, NULL, event_p);
    if (status == CL_INVALID_VALUE)
        status = write_rows(queue, dest, source, shape, event_p);
    return shmemi_opencl_check(status, "clEnqueueWriteBufferRect");
}

static int enqueue_read(const struct end *dest, const struct end *source, const struct shmemi_shape *shape,
                        cl_event *event_p)
{
    cl_bool blocking = event_p == NULL;
    cl_mem buffer = source->buffer->buffer;
    cl_command_queue queue = shmemi_opencl_queue(source->buffer->context);
    if (shape->rows == 1)
        return shmemi_opencl_check(cl->clEnqueueReadBuffer(queue, buffer, blocking, source->offset, shape->width,
                                                           dest->pointer, 0, NULL, event_p),
                                   "clEnqueueReadBuffer");
    size_t origin[3], host_origin[3] = {0}, region[3] = {shape->width, shape->rows, 1};
    set_origin(origin, source->offset, shape->source_pitch);
    cl_int status =
        cl->clEnqueueReadBufferRect(queue, buffer, blocking, origin, host_origin, region, shape->source_pitch, 0,
                                    shape->dest_pitch, 0, dest->pointer, 0, NULL, event_p);
    if (status == CL_INVALID_VALUE)
        status = read_rows(queue, dest, source, shape, event_p);
    return shmemi_opencl_check(status, "clEnqueueReadBufferRect");
}

/* Waits for an event and releases it. */
static int finish_event(cl_event event)
{
    int rc = shmemi_opencl_check(cl->clWaitForEvents(1, &event), "clWaitForEvents");
    cl->clReleaseEvent(event);
    return rc;
}

/* Between two buffers, by the host, in pieces; from the end backwards when that is what overlapping ranges need. */
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

/* May the device copy between these itself? In one context, disjoint ranges, in one buffer equal pitches. */
static bool device_can_copy(const struct end *dest, const struct end *source, const struct shmemi_shape *shape)
{
    if (dest->buffer->context != source->buffer->context)
        return false;
    if (dest->buffer->root != source->buffer->root)
        return true;
    size_t to = dest->buffer->origin + dest->offset, from = source->buffer->origin + source->offset;
    size_t to_end = to + (shape->rows - 1) * shape->dest_pitch + shape->width;
    size_t from_end = from + (shape->rows - 1) * shape->source_pitch + shape->width;
    return (to_end <= from || from_end <= to) && (shape->rows == 1 || shape->dest_pitch == shape->source_pitch);
}

/* Rectangles between sub-buffers are named in their roots: PoCL 3.1 crashes on sub-buffers in this one command. */
static cl_int enqueue_copy(const struct end *dest, const struct end *source, const struct shmemi_shape *shape,
                           cl_event *event_p)
{
    cl_command_queue queue = shmemi_opencl_queue(dest->buffer->context);
    cl_mem to = dest->buffer->buffer, from = source->buffer->buffer;
    if (shape->rows == 1)
        return cl->clEnqueueCopyBuffer(queue, from, to, source->offset, dest->offset, shape->width, 0, NULL, event_p);
    size_t from_origin[3], to_origin[3], region[3] = {shape->width, shape->rows, 1};
    set_origin(from_origin, source->buffer->origin + source->offset, shape->source_pitch);
    set_origin(to_origin, dest->buffer->origin + dest->offset, shape->dest_pitch);
    return cl->clEnqueueCopyBufferRect(queue, source->buffer->root, dest->buffer->root, from_origin, to_origin, region,
                                       shape->source_pitch, 0, shape->dest_pitch, 0, 0, NULL, event_p);
}

/* Some implementations see an overlap in disjoint rectangles of one buffer, or do not take a rectangle whose last row
 * ends with the buffer; then the host copies. */
static int copy_buffers(const struct end *dest, const struct end *source, const struct shmemi_shape *shape,
                        cl_event *event_p)
{
    cl_event event = NULL;
    cl_int status = CL_MEM_COPY_OVERLAP;
    if (device_can_copy(dest, source, shape))
        status = enqueue_copy(dest, source, shape, &event);
    if (status == CL_MEM_COPY_OVERLAP || (status == CL_INVALID_VALUE && shape->rows > 1))
        return copy_through_host(dest, source, shape);
    if (status != CL_SUCCESS)
        return shmemi_opencl_check(status, shape->rows == 1 ? "clEnqueueCopyBuffer" : "clEnqueueCopyBufferRect");
    if (!event_p)
        return finish_event(event);
    *event_p = event;
    return 0;
}

static int copy_ends(const struct end *dest, const struct end *source, const struct shmemi_shape *shape,
                     cl_event *event_p)
{
    if (dest->pointer)
        return enqueue_read(dest, source, shape, event_p);
    if (source->pointer)
        return enqueue_write(dest, source, shape, event_p);
    return copy_buffers(dest, source, shape, event_p);
}

/* Rows that overlap each other are not a rectangle to OpenCL: one at a time, in order. */
static int copy_overlapping_rows(const struct end *dest, const struct end *source, const struct shmemi_shape *shape)
{
    int rc = 0;
    for (size_t row = 0; row < shape->rows && !rc; row++) {
        struct end to = advance(dest, row * shape->dest_pitch), from = advance(source, row * shape->source_pitch);
        rc = copy_ends(&to, &from, &(struct shmemi_shape){.width = shape->width, .rows = 1}, NULL);
    }
    return rc;
}

/* Without event_p the data is in place on return; with it, when it is left NULL. */
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
    /* What follows on a buffer with storage does not wait for a queue, so the queue must not lag behind. */
    bool mixed = (dest.buffer && dest.pointer) || (source.buffer && source.pointer);
    if (shape.rows > 1 && (shape.dest_pitch < shape.width || shape.source_pitch < shape.width))
        return copy_overlapping_rows(&dest, &source, &shape);
    return copy_ends(&dest, &source, &shape, mixed ? NULL : event_p);
}

static int opencl_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                       const struct shmemi_shape *shape)
{
    return copy(dest, source, shape, NULL);
}

/* The queue that copy() used for these places. */
static cl_command_queue queue_of_places(const struct shmemi_place *dest, const struct shmemi_place *source)
{
    const struct opencl_buffer *buffer = dest->memory == &shmemi_memory_opencl ? dest->object : source->object;
    return shmemi_opencl_queue(buffer->context);
}

static int opencl_copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                             const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    cl_event event = NULL;
    int rc = copy(dest, source, shape, &event);
    if (!rc && event)
        rc = shmemi_opencl_check(cl->clFlush(queue_of_places(dest, source)), "clFlush");
    if (rc && event)
        finish_event(event); /* the host memory is the caller's again */
    if (!rc)
        *event_p = (struct shmemi_event){.memory = &shmemi_memory_opencl, .handle = event};
    return rc;
}

static int opencl_event_wait(struct shmemi_event *event)
{
    cl_event handle = event->handle;
    event->handle = NULL;
    return handle ? finish_event(handle) : 0;
}

static int opencl_event_test(struct shmemi_event *event)
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

/* OpenCL has no command for them. */
static int opencl_amo(const struct shmemi_place *word, const struct shmemi_amo *amo, uint64_t *old_p)
{
    (void)word, (void)amo, (void)old_p;
    return -ENOTSUP;
}

/* --- devices ----------------------------------------------------------------------------------------------------- */

static int opencl_device_name(int index, char *text, size_t size)
{
    cl_device_id device = shmemi_opencl_device(index);
    char name[256] = "";
    if (!device)
        return -EINVAL;
    cl_int status = cl->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    if (status != CL_SUCCESS)
        return shmemi_opencl_check(status, "clGetDeviceInfo");
    snprintf(text, size, "%s", name);
    return 0;
}

static bool pci_of_khr(cl_device_id device, struct pci_bus_info_khr *info)
{
    return cl->clGetDeviceInfo(device, PCI_BUS_INFO_KHR, sizeof *info, info, NULL) == CL_SUCCESS;
}

static bool pci_of_nvidia(cl_device_id device, struct pci_bus_info_khr *info)
{
    cl_uint slot = 0;
    if (cl->clGetDeviceInfo(device, PCI_BUS_ID_NV, sizeof info->bus, &info->bus, NULL) != CL_SUCCESS ||
        cl->clGetDeviceInfo(device, PCI_SLOT_ID_NV, sizeof slot, &slot, NULL) != CL_SUCCESS)
        return false;
    if (cl->clGetDeviceInfo(device, PCI_DOMAIN_ID_NV, sizeof info->domain, &info->domain, NULL) != CL_SUCCESS)
        info->domain = 0; /* older drivers know only domain 0 */
    info->device = slot >> 3;
    info->function = slot & 7;
    return true;
}

static int opencl_device_pci(int index, char *text, size_t size)
{
    cl_device_id device = shmemi_opencl_device(index);
    struct pci_bus_info_khr info = {0};
    if (!device)
        return -EINVAL;
    if (!pci_of_khr(device, &info) && !pci_of_nvidia(device, &info))
        return -ENODEV;
    snprintf(text, size, "%04x:%02x:%02x.%x", info.domain, info.bus, info.device, info.function);
    return 0;
}

static int opencl_allocate(int index, size_t size, void **object_p)
{
    cl_device_id device = shmemi_opencl_device(index);
    cl_mem *object = device ? malloc(sizeof *object) : NULL;
    cl_int status;
    if (!object)
        return device ? -ENOMEM : -EINVAL;
    cl_context context = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (status == CL_SUCCESS) {
        *object = cl->clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &status);
        cl->clReleaseContext(context); /* the buffer keeps it */
    }
    if (status != CL_SUCCESS) {
        free(object);
        return shmemi_opencl_check(status, "clCreateBuffer");
    }
    *object_p = object;
    return 0;
}

static void opencl_deallocate(void *object)
{
    cl->clReleaseMemObject(*(cl_mem *)object);
    free(object);
}

const struct shmemi_memory shmemi_memory_opencl = {
    .name = "opencl",
    .type = SHMEMI_MEMTYPE_OPENCL,
    .open = shmemi_opencl_load,
    .close = shmemi_opencl_unload,
    .device_count = shmemi_opencl_device_count,
    .device_pci = opencl_device_pci,
    .device_name = opencl_device_name,
    .allocate = opencl_allocate,
    .deallocate = opencl_deallocate,
    .open_object = opencl_open_object,
    .close_object = opencl_close_object,
    .handicap = shmemi_memory_has_no_handicap,
    .copy = opencl_copy,
    .copy_start = opencl_copy_start,
    .event_test = opencl_event_test,
    .event_wait = opencl_event_wait,
    .amo = opencl_amo,
    .combine = shmemi_memory_does_not_combine,
    .report_copies = shmemi_memory_reports_nothing,
    .streams = &shmemi_opencl_queues,
};
