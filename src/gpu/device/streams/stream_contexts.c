/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The contexts in whose streams, or kernels, the program lets the library work: found for a stream or a thread, and made
 * ready when they are first used.
 */

#include "gpu/device/kernels/kernel_lists.h"
#include "gpu/device/streams/program_streams.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static pthread_mutex_t used_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shmemi_gpu_context *used; /* contexts in whose streams the library has enqueued something */
static atomic_uint n_times_closed;

static void look_up_abilities(struct shmemi_gpu_context *context)
{
    struct shmemi_gpu_abilities abilities;
    int least, highest;
    shmemi_gpu.device_abilities(context->handle, &abilities);
    context->streams.has_word_operations = abilities.has_word_operations;
    context->streams.has_host_atomics = abilities.has_host_atomics;
    context->streams.multiprocessors = abilities.multiprocessors;
    if (shmemi_gpu.priority_range(&least, &highest))
        return;
    context->streams.highest_priority = highest;
    context->streams.overlaps_launches = abilities.overlaps_launches;
}

/* Make in advance what the first use would make: the driver may then wait for all streams, and one of them could be
 * waiting for an operation that this thread enqueues next. With the context current. */
static void prepare(struct shmemi_gpu_context *context)
{
    void *function;
    pthread_mutex_lock(&used_lock);
    if (!context->streams.is_prepared) {
        context->streams.has_kernels = !shmemi_gpu_kernel(context, SHMEMI_KERNEL_word_steps, &function);
        look_up_abilities(context);
        shmemi_gpu_kernels_load(context);
        shmemi_stream_holds_reserve();
        shmemi_gpu_complaint_reserve();
        (void)shmemi_kernel_lists_of(context);
        context->streams.next = used;
        used = context;
        atomic_store_explicit(&context->streams.is_prepared, true, memory_order_release);
    }
    pthread_mutex_unlock(&used_lock);
}

void shmemi_gpu_stream_prepare(struct shmemi_gpu_context *context)
{
    if (!atomic_load_explicit(&context->streams.is_prepared, memory_order_acquire))
        prepare(context);
}

/* Of the current context, if there is one. The program may have destroyed the one that it had before. */
int shmemi_gpu_here(struct shmemi_place *place_p, int device)
{
    struct shmemi_gpu_context *record;
    void *current = NULL;
    shmemi_gpu_contexts_check();
    int rc = GPU_CALL(context_current, &current);
    if (!rc && current)
        rc = GPU_CALL(context_device, &device);
    if (!rc)
        rc = shmemi_gpu_context_find(current, device < 0 ? 0 : device, &record);
    if (!rc)
        *place_p = (struct shmemi_place){shmemi_gpu.memory, record, 0};
    return rc;
}

void shmemi_gpu_make_current(const struct shmemi_place *place)
{
    const struct shmemi_gpu_context *context = place->object;
    void *current = NULL;
    if (!shmemi_gpu.is_over && !shmemi_gpu.context_current(&current) && !current)
        (void)shmemi_gpu.context_push(context->context);
}

int shmemi_gpu_prepare_place(const struct shmemi_place *place)
{
    struct shmemi_gpu_entry entry;
    int rc = shmemi_gpu_enter_relaxed(place->object, &entry);
    if (rc)
        return rc;
    shmemi_gpu_stream_prepare(place->object);
    return shmemi_gpu_leave_relaxed(&entry, 0);
}

static int look_up_record(void *context, struct shmemi_gpu_context **record_p)
{
    int device;
    void *popped;
    int rc = GPU_CALL(context_push, context);
    if (rc)
        return rc;
    rc = GPU_CALL(context_device, &device);
    if (!rc)
        rc = shmemi_gpu_context_find(context, device, record_p); /* ordinals and handles are the same numbers */
    if (!rc)
        shmemi_gpu_stream_prepare(*record_p);
    shmemi_gpu.context_pop(&popped);
    return rc;
}

/* Each thread remembers the last record that it asked for, until the records are closed. */
static int record_of(void *context, struct shmemi_gpu_context **record_p)
{
    static _Thread_local struct {
        struct shmemi_gpu_context *record;
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
static bool is_default(void *handle)
{
    return !handle || handle == SHMEMI_GPU_STREAM_LEGACY || handle == SHMEMI_GPU_STREAM_PER_THREAD;
}

static int open_relaxed(struct shmemi_stream *stream, char *reason, size_t reason_size)
{
    void *context;
    struct shmemi_gpu_context *record;
    int result = shmemi_gpu.stream_context(stream->handle, &context);
    if (result) {
        shmemi_gpu_complaint_report();
        snprintf(reason, reason_size, "%p is not a stream of this process, or this thread has no %s context: %s",
                 stream->handle, shmemi_gpu.memory->title, shmemi_gpu.error_text(result));
        return shmemi_gpu.errno_of(result);
    }
    int rc = record_of(context, &record);
    if (rc)
        snprintf(reason, reason_size, "the context of stream %p cannot be used", stream->handle);
    else
        stream->object = record;
    stream->is_in_order = !is_default(stream->handle);
    return rc;
}

int shmemi_gpu_stream_open(struct shmemi_stream *stream, char *reason, size_t reason_size)
{
    const int mode = shmemi_gpu_relax();
    int rc = open_relaxed(stream, reason, reason_size);
    shmemi_gpu_restore(mode);
    return rc;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

void shmemi_gpu_streams_drain(void)
{
    shmemi_gpu_contexts_check();
    pthread_mutex_lock(&used_lock);
    struct shmemi_gpu_context *first = used;
    pthread_mutex_unlock(&used_lock);
    for (struct shmemi_gpu_context *context = first; context; context = context->streams.next) {
        bool pushed;
        if (context->is_gone || shmemi_gpu_enter(context, &pushed))
            continue;
        if (!GPU_CALL(context_synchronize))
            shmemi_wait_slots_free(context);
        shmemi_gpu_leave(pushed);
    }
}

void shmemi_gpu_streams_close(void)
{
    atomic_fetch_add(&n_times_closed, 1);
    used = NULL;
    shmemi_stream_holds_close();
    shmemi_gpu_complaint_close();
}
