/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The contexts in whose streams, or kernels, the program lets the library work: found for a stream or a thread, and made
 * ready when they are first used.
 */

#include "gpu/device/gpu_context.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static pthread_mutex_t used_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shmemi_cuda_context *used; /* contexts in whose streams the library has enqueued something */
static atomic_uint n_times_closed;

static bool has_attribute(const struct shmemi_cuda_context *context, CUdevice_attribute attribute)
{
    int value = 0;
    return shmemi_cuda.cuDeviceGetAttribute(&value, attribute, context->handle) == CUDA_SUCCESS && value;
}

static void look_up_launches(struct shmemi_cuda_context *context)
{
    enum { OVERLAPPING = 9 }; /* compute capability */
    int major = 0, least, highest;
    const CUresult result =
        shmemi_cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, context->handle);
    if (result != CUDA_SUCCESS || shmemi_cuda.cuCtxGetStreamPriorityRange(&least, &highest) != CUDA_SUCCESS)
        return;
    context->streams.highest_priority = highest;
    context->streams.overlaps_launches = shmemi_cuda_launch_kernel_ex && major >= OVERLAPPING;
}

/* Make in advance what the first use would make: the driver may then wait for all streams, and one of them could be
 * waiting for an operation that this thread enqueues next. With the context current. */
static void prepare(struct shmemi_cuda_context *context)
{
    CUfunction function;
    pthread_mutex_lock(&used_lock);
    if (!context->streams.is_prepared) {
        context->streams.has_word_operations =
            has_attribute(context, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS);
        context->streams.has_host_atomics = has_attribute(context, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED);
        context->streams.has_kernels = !shmemi_cuda_kernel(context, SHMEMI_KERNEL_word_steps, &function);
        look_up_launches(context);
        shmemi_cuda_kernels_load(context);
        shmemi_cuda_turns_reserve();
        shmemi_cuda_complaint_reserve();
        shmemi_cuda_lists_reserve(context);
        context->streams.next = used;
        used = context;
        atomic_store_explicit(&context->streams.is_prepared, true, memory_order_release);
    }
    pthread_mutex_unlock(&used_lock);
}

void shmemi_cuda_stream_prepare(struct shmemi_cuda_context *context)
{
    if (!atomic_load_explicit(&context->streams.is_prepared, memory_order_acquire))
        prepare(context);
}

/* Of the current context, if there is one. The program may have destroyed the one that it had before. */
int shmemi_cuda_here(struct shmemi_place *place_p, int device)
{
    struct shmemi_cuda_context *record;
    CUcontext current = NULL;
    shmemi_cuda_contexts_check();
    int rc = CUDA_CALL(cuCtxGetCurrent, &current);
    if (!rc && current)
        rc = CUDA_CALL(cuCtxGetDevice, &device);
    if (!rc)
        rc = shmemi_cuda_context_find(current, device < 0 ? 0 : device, &record);
    if (!rc)
        *place_p = (struct shmemi_place){&shmemi_memory_cuda, record, 0};
    return rc;
}

int shmemi_cuda_prepare_place(const struct shmemi_place *place)
{
    struct shmemi_cuda_entry entry;
    int rc = shmemi_cuda_enter_relaxed(place->object, &entry);
    if (rc)
        return rc;
    shmemi_cuda_stream_prepare(place->object);
    shmemi_cuda_leave_relaxed(&entry);
    return 0;
}

static int look_up_record(CUcontext context, struct shmemi_cuda_context **record_p)
{
    CUdevice device;
    CUcontext popped;
    int rc = CUDA_CALL(cuCtxPushCurrent, context);
    if (rc)
        return rc;
    rc = CUDA_CALL(cuCtxGetDevice, &device);
    if (!rc)
        rc = shmemi_cuda_context_find(context, device, record_p); /* ordinals and handles are the same numbers */
    if (!rc)
        shmemi_cuda_stream_prepare(*record_p);
    shmemi_cuda.cuCtxPopCurrent(&popped);
    return rc;
}

/* Each thread remembers the last record that it asked for, until the records are closed. */
static int record_of(CUcontext context, struct shmemi_cuda_context **record_p)
{
    static _Thread_local struct {
        struct shmemi_cuda_context *record;
        unsigned n_closed;
    } last;
    unsigned n_closed = atomic_load_explicit(&n_times_closed, memory_order_acquire);
    if (last.record && last.n_closed == n_closed && last.record->context == context && !last.record->is_gone) {
        *record_p = last.record;
        return 0;
    }
    int rc = look_up_record(context, record_p);
    if (!rc) {
        last.record = *record_p;
        last.n_closed = n_closed;
    }
    return rc;
}

/* A handle that may stand for several streams: one for each context, or thread. */
static bool is_default(CUstream handle)
{
    return !handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

static int open_relaxed(struct shmemi_stream *stream, char *reason, size_t reason_size)
{
    CUcontext context;
    struct shmemi_cuda_context *record;
    CUresult result = shmemi_cuda.cuStreamGetCtx(stream->handle, &context);
    if (result == CUDA_ERROR_LAUNCH_FAILED)
        shmemi_cuda_complaint_report();
    if (result != CUDA_SUCCESS) {
        snprintf(reason, reason_size, "%p is not a stream of this process, or this thread has no CUDA context: %s",
                 stream->handle, shmemi_cuda_error_text(result));
        return shmemi_cuda_errno(result);
    }
    int rc = record_of(context, &record);
    if (rc)
        snprintf(reason, reason_size, "the context of stream %p cannot be used", stream->handle);
    else
        stream->object = record;
    stream->is_in_order = !is_default(stream->handle);
    return rc;
}

int shmemi_cuda_stream_open(struct shmemi_stream *stream, char *reason, size_t reason_size)
{
    const CUstreamCaptureMode mode = shmemi_cuda_relax();
    int rc = open_relaxed(stream, reason, reason_size);
    shmemi_cuda_restore(mode);
    return rc;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

void shmemi_cuda_streams_drain(void)
{
    shmemi_cuda_contexts_check();
    pthread_mutex_lock(&used_lock);
    struct shmemi_cuda_context *first = used;
    pthread_mutex_unlock(&used_lock);
    for (struct shmemi_cuda_context *context = first; context; context = context->streams.next) {
        bool pushed;
        if (context->is_gone || shmemi_cuda_enter(context, &pushed))
            continue;
        if (!CUDA_CALL(cuCtxSynchronize))
            shmemi_cuda_places_free(context);
        shmemi_cuda_leave(pushed);
    }
}

void shmemi_cuda_streams_close(void)
{
    atomic_fetch_add(&n_times_closed, 1);
    used = NULL;
    shmemi_cuda_turns_close();
    shmemi_cuda_complaint_close();
}
