/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The streams and events in which the library copies, and which thread uses which of them.
 */
#include "gpu/device/gpu_context.h"

#include "base/settings.h"

static atomic_uint n_threads; /* that have used a stream */
static atomic_uint n_streams = SHMEMI_GPU_STREAMS;
static pthread_once_t streams_settled = PTHREAD_ONCE_INIT;

static void settle_streams(void)
{
    enum { THREADS_TO_COME = 5 }; /* the service thread, the agents of streams and of kernels, two for collectives */
    const unsigned n = atomic_load(&n_threads) + THREADS_TO_COME + shmemi_watches_streams;
    if (n < SHMEMI_GPU_STREAMS)
        atomic_store(&n_streams, n);
}

unsigned shmemi_gpu_settle_streams(void)
{
    pthread_once(&streams_settled, settle_streams);
    return atomic_load(&n_streams);
}

static _Thread_local unsigned number; /* of this thread's stream, from 1; 0: none yet */

/* The first threads (main thread, service thread) get a stream each, later ones share; the last stream is nobody's. */
static unsigned stream_index(void)
{
    if (!number)
        number = atomic_fetch_add(&n_threads, 1) % (atomic_load(&n_streams) - 1) + 1;
    return number - 1;
}

void shmemi_gpu_serve_kernels(void)
{
    number = shmemi_gpu_settle_streams();
}

/* Non-blocking, so that the stream does not wait for the default stream; users synchronise to order it with their
 * kernels. Highest priority: the library's kernels start when the next block of a user's kernel ends, not the last. */
static int open_stream(void **stream_p)
{
    int lowest, highest;
    int rc = GPU_CALL(priority_range, &lowest, &highest);
    return rc ? rc : GPU_CALL(stream_create_with_priority, stream_p, SHMEMI_GPU_STREAM_NON_BLOCKING, highest);
}

static int create_stream(struct shmemi_gpu_context *context, unsigned index, void **stream_p)
{
    bool pushed;
    int rc = shmemi_gpu_enter(context, &pushed);
    if (rc)
        return rc;
    pthread_mutex_lock(&context->lock);
    void *stream = atomic_load(&context->stream[index]);
    if (!stream) {
        rc = open_stream(&stream);
        if (!rc)
            atomic_store_explicit(&context->stream[index], stream, memory_order_release);
    }
    pthread_mutex_unlock(&context->lock);
    shmemi_gpu_leave(pushed);
    if (!rc)
        *stream_p = stream;
    return rc;
}

int shmemi_gpu_stream_number(struct shmemi_gpu_context *context, unsigned index, void **stream_p)
{
    void *stream = atomic_load_explicit(&context->stream[index], memory_order_acquire);
    if (!stream)
        return create_stream(context, index, stream_p);
    *stream_p = stream;
    return 0;
}

int shmemi_gpu_stream(struct shmemi_gpu_context *context, void **stream_p)
{
    return shmemi_gpu_stream_number(context, stream_index(), stream_p);
}

int shmemi_gpu_stream_beside(struct shmemi_gpu_context *context, void **stream_p)
{
    const unsigned n = atomic_load_explicit(&n_streams, memory_order_relaxed) - 1;
    return shmemi_gpu_stream_number(context, (stream_index() + n / 2) % n, stream_p);
}

int shmemi_gpu_event_take(struct shmemi_gpu_context *context, void **event_p)
{
    void *event = NULL;
    pthread_mutex_lock(&context->lock);
    if (context->n_free_events)
        event = context->free_event[--context->n_free_events];
    pthread_mutex_unlock(&context->lock);
    int rc = event ? 0 : GPU_CALL(event_create, &event, SHMEMI_GPU_EVENT_NO_TIMING);
    if (!rc)
        *event_p = event;
    return rc;
}

void shmemi_gpu_event_give(struct shmemi_gpu_context *context, void *event)
{
    bool kept = false;
    pthread_mutex_lock(&context->lock);
    if (context->n_free_events < SHMEMI_GPU_EVENTS) {
        context->free_event[context->n_free_events++] = event;
        kept = true;
    }
    pthread_mutex_unlock(&context->lock);
    if (!kept)
        shmemi_gpu.event_destroy(event);
}

int shmemi_gpu_record(struct shmemi_gpu_context *context, void *stream, void **event_p)
{
    void *event;
    int rc = shmemi_gpu_event_take(context, &event);
    if (rc)
        return rc;
    rc = GPU_CALL(event_record, event, stream);
    if (rc)
        shmemi_gpu_event_give(context, event);
    else
        *event_p = event;
    return rc;
}
