/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrappers of the OpenCL calls that make order: those that create queues, enqueue commands after events, wait for
 * commands, or ask whether they are complete. Calls after which it cannot be seen who waits for what make all
 * queues unsure.
 */
#include "race/streams/queue_calls.h"
#include "race/report/objects.h"

#define NEXT(NAME)                                                                                                     \
    static __typeof__(&NAME) next;                                                                                     \
    next = next ? next : (__typeof__(next))race_next(#NAME)
#define UNPACK(...) __VA_ARGS__

/* ---- queues and events ------------------------------------------------------------------------------------------- */

static cl_command_queue created(cl_command_queue queue)
{
    if (queue)
        (void)race_stream_of(queue, true);
    return queue;
}

RACE_WRAPPER cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
                                                   cl_command_queue_properties properties, cl_int *errcode_ret)
{
    NEXT(clCreateCommandQueue);
    return created(next(context, device, properties, errcode_ret));
}

RACE_WRAPPER cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                                 const cl_queue_properties *properties,
                                                                 cl_int *errcode_ret)
{
    NEXT(clCreateCommandQueueWithProperties);
    return created(next(context, device, properties, errcode_ret));
}

/* The stream that an event tells of; NULL: the host sets it. */
static struct race_stream *stream_of_event(cl_event event)
{
    cl_command_queue queue = NULL;
    cl_command_type type = 0;
    __typeof__(&clGetEventInfo) next = (__typeof__(next))race_next("clGetEventInfo");
    (void)next(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
    (void)next(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL);
    return queue || type != CL_COMMAND_USER ? race_stream_of(queue, false) : NULL;
}

void race_queue_waits(cl_command_queue queue, cl_uint n_events, const cl_event *events)
{
    for (cl_uint i = 0; events && i < n_events; i++)
        race_stream_after(race_stream_of(queue, false), stream_of_event(events[i]));
}

static void synced(cl_event event)
{
    race_stream_synced(stream_of_event(event));
}

RACE_WRAPPER cl_int clSetUserEventStatus(cl_event event, cl_int status)
{
    NEXT(clSetUserEventStatus);
    race_host_announces();
    return next(event, status);
}

RACE_WRAPPER cl_int clWaitForEvents(cl_uint n, const cl_event *events)
{
    NEXT(clWaitForEvents);
    const cl_int status = next(n, events);
    for (cl_uint i = 0; status == CL_SUCCESS && i < n; i++)
        synced(events[i]);
    return status;
}

RACE_WRAPPER cl_int clGetEventInfo(cl_event event, cl_event_info name, size_t size, void *value, size_t *size_ret)
{
    NEXT(clGetEventInfo);
    const cl_int status = next(event, name, size, value, size_ret);
    if (status == CL_SUCCESS && name == CL_EVENT_COMMAND_EXECUTION_STATUS && value && *(cl_int *)value <= CL_COMPLETE)
        synced(event);
    return status;
}

RACE_WRAPPER cl_int clGetEventProfilingInfo(cl_event event, cl_profiling_info name, size_t size, void *value,
                                            size_t *size_ret)
{
    NEXT(clGetEventProfilingInfo);
    const cl_int status = next(event, name, size, value, size_ret);
    if (status == CL_SUCCESS)
        synced(event);
    return status;
}

RACE_WRAPPER cl_int clFinish(cl_command_queue queue)
{
    NEXT(clFinish);
    const cl_int status = next(queue);
    if (status == CL_SUCCESS)
        race_stream_synced(race_stream_of(queue, false));
    return status;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static cl_int enqueued(cl_int status, cl_command_queue queue, cl_bool waits)
{
    if (waits && status == CL_SUCCESS)
        race_stream_synced(race_stream_of(queue, false));
    return status;
}

/* PARAMETERS between the queue and the events end with a comma. WAITS: whether the call ends when the command has. */
#define WRAP(NAME, PARAMETERS, PASSED, WAITS)                                                                          \
    RACE_WRAPPER cl_int NAME(cl_command_queue queue, UNPACK PARAMETERS cl_uint n_events, const cl_event *events,       \
                             cl_event *event)                                                                          \
    {                                                                                                                  \
        NEXT(NAME);                                                                                                    \
        race_queue_waits(queue, n_events, events);                                                                     \
        return enqueued(next(queue, UNPACK PASSED n_events, events, event), queue, WAITS);                             \
    }

WRAP(clEnqueueMarkerWithWaitList, (), (), CL_FALSE)
WRAP(clEnqueueBarrierWithWaitList, (), (), CL_FALSE)
WRAP(clEnqueueTask, (cl_kernel kernel, ), (kernel, ), CL_FALSE)
WRAP(clEnqueueNDRangeKernel,
     (cl_kernel kernel, cl_uint dim, const size_t *offset, const size_t *global, const size_t *local, ),
     (kernel, dim, offset, global, local, ), CL_FALSE)
WRAP(clEnqueueMigrateMemObjects, (cl_uint n, const cl_mem *objects, cl_mem_migration_flags flags, ),
     (n, objects, flags, ), CL_FALSE)
WRAP(clEnqueueUnmapMemObject, (cl_mem object, void *mapped, ), (object, mapped, ), CL_FALSE)

#define ORIGINS const size_t *a, const size_t *b, const size_t *region
#define PITCHES size_t row_a, size_t slice_a, size_t row_b, size_t slice_b
WRAP(clEnqueueReadBufferRect, (cl_mem buffer, cl_bool blocking, ORIGINS, PITCHES, void *to, ),
     (buffer, blocking, a, b, region, row_a, slice_a, row_b, slice_b, to, ), blocking)
WRAP(clEnqueueWriteBufferRect, (cl_mem buffer, cl_bool blocking, ORIGINS, PITCHES, const void *from, ),
     (buffer, blocking, a, b, region, row_a, slice_a, row_b, slice_b, from, ), blocking)
WRAP(clEnqueueCopyBufferRect, (cl_mem from, cl_mem to, ORIGINS, PITCHES, ),
     (from, to, a, b, region, row_a, slice_a, row_b, slice_b, ), CL_FALSE)
/* Those that access mapped memory. What the program has of it is told as an operation of the queue. */
#define WRAP_COPY(NAME, PARAMETERS, PASSED, WAITS, ...)                                                                \
    RACE_WRAPPER cl_int NAME(cl_command_queue queue, UNPACK PARAMETERS cl_uint n_events, const cl_event *events,       \
                             cl_event *event)                                                                          \
    {                                                                                                                  \
        struct race_turn turn;                                                                                         \
        NEXT(NAME);                                                                                                    \
        RACE_BEGIN(#NAME, SHMEM_CTX_DEFAULT);                                                                          \
        const struct race_work work = {.begin = race_begin_copy, __VA_ARGS__};                                         \
        race_copy_turn(&turn, &call, &work, queue, n_events, events, event);                                           \
        const cl_int status = next(queue, UNPACK PASSED turn.n_events, turn.events, turn.event);                       \
        race_queue_turn_ends(&turn);                                                                                   \
        race_call_end(&call);                                                                                          \
        return enqueued(status, queue, WAITS);                                                                         \
    }
#define OF(BUFFER, OFFSET, SIZE) ((void *)race_object_of_handle(BUFFER, OFFSET, SIZE))
WRAP_COPY(clEnqueueReadBuffer, (cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *to, ),
          (buffer, blocking, offset, size, to, ), blocking, .dest = to, .dest_size = size,
          .source = OF(buffer, offset, size), .source_size = size)
WRAP_COPY(clEnqueueWriteBuffer, (cl_mem buffer, cl_bool blocking, size_t offset, size_t size, const void *from, ),
          (buffer, blocking, offset, size, from, ), blocking, .dest = OF(buffer, offset, size), .dest_size = size,
          .source = from, .source_size = size)
WRAP_COPY(clEnqueueCopyBuffer, (cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t size, ),
          (from, to, from_offset, to_offset, size, ), CL_FALSE, .dest = OF(to, to_offset, size), .dest_size = size,
          .source = OF(from, from_offset, size), .source_size = size)
WRAP_COPY(clEnqueueFillBuffer, (cl_mem buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size, ),
          (buffer, pattern, pattern_size, offset, size, ), CL_FALSE, .dest = OF(buffer, offset, size),
          .dest_size = size)

#define IMAGE_PART const size_t *origin, const size_t *region, size_t row, size_t slice
WRAP(clEnqueueReadImage, (cl_mem image, cl_bool blocking, IMAGE_PART, void *to, ),
     (image, blocking, origin, region, row, slice, to, ), blocking)
WRAP(clEnqueueWriteImage, (cl_mem image, cl_bool blocking, IMAGE_PART, const void *from, ),
     (image, blocking, origin, region, row, slice, from, ), blocking)
WRAP(clEnqueueFillImage, (cl_mem image, const void *color, const size_t *origin, const size_t *region, ),
     (image, color, origin, region, ), CL_FALSE)
WRAP(clEnqueueCopyImage, (cl_mem from, cl_mem to, ORIGINS, ), (from, to, a, b, region, ), CL_FALSE)
WRAP(clEnqueueCopyImageToBuffer, (cl_mem from, cl_mem to, const size_t *origin, const size_t *region, size_t offset, ),
     (from, to, origin, region, offset, ), CL_FALSE)
WRAP(clEnqueueCopyBufferToImage, (cl_mem from, cl_mem to, size_t offset, const size_t *origin, const size_t *region, ),
     (from, to, offset, origin, region, ), CL_FALSE)

WRAP(clEnqueueSVMMemFill, (void *at, const void *pattern, size_t pattern_size, size_t size, ),
     (at, pattern, pattern_size, size, ), CL_FALSE)
WRAP(clEnqueueSVMUnmap, (void *at, ), (at, ), CL_FALSE)
WRAP(clEnqueueSVMMigrateMem, (cl_uint n, const void **at, const size_t *sizes, cl_mem_migration_flags flags, ),
     (n, at, sizes, flags, ), CL_FALSE)

WRAP(clEnqueueSVMMemcpy, (cl_bool blocking, void *to, const void *from, size_t size, ), (blocking, to, from, size, ),
     blocking)
WRAP(clEnqueueSVMMap, (cl_bool blocking, cl_map_flags flags, void *at, size_t size, ), (blocking, flags, at, size, ),
     blocking)

#define WRAP_MAP(NAME, PARAMETERS, PASSED)                                                                             \
    RACE_WRAPPER void *NAME(cl_command_queue queue, cl_mem object, cl_bool blocking, cl_map_flags flags,               \
                            UNPACK PARAMETERS cl_uint n_events, const cl_event *events, cl_event *event,               \
                            cl_int *errcode_ret)                                                                       \
    {                                                                                                                  \
        NEXT(NAME);                                                                                                    \
        race_queue_waits(queue, n_events, events);                                                                     \
        void *at = next(queue, object, blocking, flags, UNPACK PASSED n_events, events, event, errcode_ret);           \
        (void)enqueued(at ? CL_SUCCESS : CL_INVALID_VALUE, queue, blocking);                                           \
        return at;                                                                                                     \
    }
WRAP_MAP(clEnqueueMapBuffer, (size_t offset, size_t size, ), (offset, size, ))
WRAP_MAP(clEnqueueMapImage, (const size_t *origin, const size_t *region, size_t *row, size_t *slice, ),
         (origin, region, row, slice, ))

RACE_WRAPPER cl_int clEnqueueWaitForEvents(cl_command_queue queue, cl_uint n, const cl_event *events)
{
    NEXT(clEnqueueWaitForEvents);
    race_queue_waits(queue, n, events);
    return next(queue, n, events);
}

/* ---- what makes order that is not seen --------------------------------------------------------------------------- */

#define WRAP_UNSEEN(TYPE, NAME, PARAMETERS, PASSED)                                                                    \
    RACE_WRAPPER TYPE NAME PARAMETERS                                                                                  \
    {                                                                                                                  \
        NEXT(NAME);                                                                                                    \
        race_streams_are_unsure();                                                                                     \
        return next PASSED;                                                                                            \
    }
WRAP_UNSEEN(cl_int, clSetEventCallback,
            (cl_event event, cl_int type, void(CL_CALLBACK *function)(cl_event, cl_int, void *), void *argument),
            (event, type, function, argument))
WRAP_UNSEEN(cl_int, clEnqueueNativeKernel,
            (cl_command_queue queue, void(CL_CALLBACK *function)(void *), void *arguments, size_t size,
             cl_uint n_objects, const cl_mem *objects, const void **places, cl_uint n_events, const cl_event *events,
             cl_event *event),
            (queue, function, arguments, size, n_objects, objects, places, n_events, events, event))
WRAP_UNSEEN(cl_int, clEnqueueSVMFree,
            (cl_command_queue queue, cl_uint n, void *at[],
             void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void *[], void *), void *argument, cl_uint n_events,
             const cl_event *events, cl_event *event),
            (queue, n, at, function, argument, n_events, events, event))
WRAP_UNSEEN(void *, clGetExtensionFunctionAddressForPlatform, (cl_platform_id platform, const char *name),
            (platform, name))
WRAP_UNSEEN(void *, clGetExtensionFunctionAddress, (const char *name), (name))

/* Memory in which a kernel and the host may wait for each other. */
RACE_WRAPPER void *clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t size, cl_uint alignment)
{
    NEXT(clSVMAlloc);
    if (flags & CL_MEM_SVM_FINE_GRAIN_BUFFER)
        race_streams_are_unsure();
    return next(context, flags, size, alignment);
}
