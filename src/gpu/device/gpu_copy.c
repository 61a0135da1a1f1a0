/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of GPU memory: one driver call for the copy and one for its completion.
 *
 * A copy runs on the calling thread's stream of the context that its GPU side names (its source, if both sides do), so
 * the copies of one thread to and from one object are in order. An object imported from another PE names a context of
 * this process: a copy between it and memory of the same context is a plain device-to-device copy over NVLink or PCIe.
 * If the two sides name different contexts, the streams of both are made to wait for each other; contiguous copies to
 * and from a shadow context are made by gpu/device/gpu_relay.c.
 */
#include "base/likely.h"
#include "gpu/device/gpu_copies.h"
#include "gpu/device/streams/program_streams.h"
#include "gpu/device/timing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Order between contexts -------------------------------------------------------------------------------------- */

static int record(struct shmemi_gpu_context *context, void **event_p)
{
    bool pushed;
    void *stream;
    int rc = shmemi_gpu_enter_stream(context, &stream, &pushed);
    if (rc)
        return rc;
    rc = shmemi_gpu_record(context, stream, event_p);
    shmemi_gpu_leave(pushed);
    return rc;
}

static int wait_for(struct shmemi_gpu_context *context, void *event)
{
    bool pushed;
    void *stream;
    int rc = shmemi_gpu_enter_stream(context, &stream, &pushed);
    if (rc)
        return rc;
    rc = GPU_CALL(stream_wait_event, stream, event, 0);
    shmemi_gpu_leave(pushed);
    return rc;
}

/* Make this thread's later work in `follower` wait for the work that it has enqueued in `leader` so far. */
static int order(struct shmemi_gpu_context *leader, struct shmemi_gpu_context *follower)
{
    void *event;
    int rc = record(leader, &event);
    if (rc)
        return rc;
    rc = wait_for(follower, event);
    shmemi_gpu_event_give(leader, event); /* the wait keeps the state that the event had */
    return rc;
}

static int copy_across(const struct shmemi_place *dest, const struct shmemi_place *source,
                       const struct shmemi_shape *shape, void *stream)
{
    int rc = order(dest->object, source->object);
    if (!rc)
        rc = shmemi_gpu_enqueue(dest, source, shape, stream);
    if (!rc)
        rc = order(source->object, dest->object);
    return rc;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* The stream on which a copy runs, in its context, which has been made current. */
struct queue {
    struct shmemi_gpu_context *context;
    void *stream;
    bool pushed;
};

static int context_of(const struct shmemi_place *dest, const struct shmemi_place *source,
                      struct shmemi_gpu_context **context_p)
{
    if (shmemi_place_is_gpu(source) && source->object)
        *context_p = source->object;
    else if (shmemi_place_is_gpu(dest) && dest->object)
        *context_p = dest->object;
    else
        return shmemi_gpu_context_at(shmemi_place_is_gpu(source) ? source->address : dest->address, context_p);
    return 0;
}

static int queue_enter(struct queue *queue, const struct shmemi_place *dest, const struct shmemi_place *source)
{
    int rc = context_of(dest, source, &queue->context);
    return rc ? rc : shmemi_gpu_enter_stream(queue->context, &queue->stream, &queue->pushed);
}

static inline bool is_shadow(const struct shmemi_place *place)
{
    return ((const struct shmemi_gpu_context *)place->object)->is_shadow;
}

/* Is this a contiguous copy between two GPUs that do not reach each other's memory? */
static inline bool is_relayed(const struct shmemi_place *dest, const struct shmemi_place *source,
                              const struct shmemi_shape *shape)
{
    if (shmemi_likely(!shmemi_gpu_crosses_contexts(dest, source)) || (!is_shadow(dest) && !is_shadow(source)))
        return false;
    return shmemi_shape_is_dense(shape);
}

static const char *direction_of(const struct shmemi_place *dest, const struct shmemi_place *source)
{
    if (!shmemi_place_is_gpu(source))
        return "host to device";
    return shmemi_place_is_gpu(dest) ? "device to device" : "device to host";
}

static int enqueue(const struct queue *queue, const struct shmemi_place *dest, const struct shmemi_place *source,
                   const struct shmemi_shape *shape)
{
    const size_t nbytes = shape->width * shape->rows;
    struct shmemi_gpu_timing *timing = shmemi_gpu_time(queue->context, queue->stream);
    int rc = -ENOTSUP;
    if (shmemi_unlikely(nbytes >= SHMEMI_GPU_PAGEABLE_MIN))
        rc = shmemi_gpu_copy_pageable(queue->context, queue->stream, dest, source, shape);
    if (rc == -ENOTSUP)
        rc = shmemi_unlikely(shmemi_gpu_crosses_contexts(dest, source))
                 ? copy_across(dest, source, shape, queue->stream)
                 : shmemi_gpu_enqueue(dest, source, shape, queue->stream);
    if (rc) /* copies enqueued before the failure must not touch the memory after this function has returned */
        shmemi_gpu.stream_synchronize(queue->stream);
    shmemi_gpu_timing_end(timing, rc, direction_of(dest, source), nbytes);
    return rc;
}

int shmemi_gpu_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                    const struct shmemi_shape *shape)
{
    struct queue queue;
    int rc = -ENOTSUP;
    if (!shape->width || !shape->rows)
        return 0;
    if (is_relayed(dest, source, shape))
        rc = shmemi_gpu_relay_copy(dest, source, shape->width * shape->rows);
    if (rc != -ENOTSUP)
        return rc;
    rc = queue_enter(&queue, dest, source);
    if (rc)
        return rc;
    rc = -ENOTSUP;
    if (!shmemi_shape_is_dense(shape) && shmemi_gpu_is_for_kernel(dest, source, shape))
        rc = shmemi_gpu_rows_copy(dest, source, shape);
    if (rc == -ENOTSUP) {
        rc = enqueue(&queue, dest, source, shape);
        rc = rc ? rc : GPU_CALL(stream_synchronize, queue.stream);
    }
    shmemi_gpu_leave(queue.pushed);
    return rc;
}

static int enqueue_with_event(const struct queue *queue, const struct shmemi_place *dest,
                              const struct shmemi_place *source, const struct shmemi_shape *shape,
                              struct shmemi_event *event_p)
{
    void *event;
    int rc = shmemi_gpu_event_take(queue->context, &event);
    if (rc)
        return rc;
    rc = enqueue(queue, dest, source, shape);
    if (rc)
        goto err_give;
    rc = GPU_CALL(event_record, event, queue->stream);
    if (rc)
        goto err_sync;
    *event_p = (struct shmemi_event){.memory = shmemi_gpu.memory, .object = queue->context, .handle = event};
    return 0;

err_sync:
    shmemi_gpu.stream_synchronize(queue->stream);
err_give:
    shmemi_gpu_event_give(queue->context, event);
    return rc;
}

int shmemi_gpu_copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                          const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    struct queue queue;
    if (!shape->width || !shape->rows) {
        *event_p = (struct shmemi_event){.memory = shmemi_gpu.memory};
        return 0;
    }
    int rc = -ENOTSUP;
    if (is_relayed(dest, source, shape))
        rc = shmemi_gpu_relay_start(dest, source, shape->width * shape->rows, event_p);
    if (rc != -ENOTSUP)
        return rc;
    rc = queue_enter(&queue, dest, source);
    if (rc)
        return rc;
    rc = enqueue_with_event(&queue, dest, source, shape, event_p);
    shmemi_gpu_leave(queue.pushed);
    return rc;
}

/* By the other stream; both sides are in one context, so no third one is needed. */
int shmemi_gpu_copy_beside(const struct shmemi_place *dest, const struct shmemi_place *source,
                           const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    struct queue queue;
    if (!shape->width || !shape->rows || shmemi_gpu_crosses_contexts(dest, source))
        return shmemi_gpu_copy_start(dest, source, shape, event_p);
    int rc = queue_enter(&queue, dest, source);
    if (rc)
        return rc;
    rc = shmemi_gpu_stream_beside(queue.context, &queue.stream);
    if (!rc)
        rc = enqueue_with_event(&queue, dest, source, shape, event_p);
    shmemi_gpu_leave(queue.pushed);
    return rc;
}

static int burst_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                      const struct shmemi_shape *shape, struct shmemi_burst *burst_p)
{
    struct queue queue;
    if (!shape->width || !shape->rows || is_relayed(dest, source, shape))
        return -ENOTSUP;
    int rc = queue_enter(&queue, dest, source);
    if (rc)
        return rc;
    rc = enqueue(&queue, dest, source, shape);
    shmemi_gpu_leave(queue.pushed);
    if (!rc)
        *burst_p = (struct shmemi_burst){shmemi_gpu.memory, queue.context, queue.stream};
    return rc;
}

/* If no event can be recorded, the stream is waited for, so that nothing is under way when this function fails. */
static int burst_mark(const struct shmemi_burst *burst, struct shmemi_event *event_p)
{
    struct shmemi_gpu_context *context = burst->object;
    void *event;
    bool pushed;
    int rc = shmemi_gpu_enter(context, &pushed);
    if (rc)
        return rc;
    rc = shmemi_gpu_record(context, burst->handle, &event);
    if (rc)
        shmemi_gpu.stream_synchronize(burst->handle);
    else
        *event_p = (struct shmemi_event){.memory = shmemi_gpu.memory, .object = context, .handle = event};
    shmemi_gpu_leave(pushed);
    return rc;
}

const struct shmemi_bursts shmemi_gpu_bursts = {.copy = burst_copy, .mark = burst_mark};

/* ---- Channels ---------------------------------------------------------------------------------------------------- */

/* Words that are stored by the stream itself, many by one call. */
struct words {
    unsigned n;
    struct shmemi_gpu_word word[SHMEMI_GPU_WORDS_MAX];
};

/* Where the driver has no such operations for this memory. Values are copied aside before each call returns. */
static int copy_words(const struct shmemi_channel *channel, const struct shmemi_gpu_word *words, unsigned n)
{
    int rc = 0;
    for (unsigned i = 0; i < n && !rc; i++)
        rc = GPU_CALL(copy_in, words[i].address, &words[i].value, words[i].size, channel->handle);
    return rc;
}

static int start_words(const struct shmemi_channel *channel)
{
    struct words *words = channel->words;
    const unsigned n = words ? words->n : 0;
    if (!n)
        return 0;
    words->n = 0;
    return shmemi_gpu_take_words(channel->handle, words->word, n) ? 0 : copy_words(channel, words->word, n);
}

static int channel_open(const struct shmemi_place *place, struct shmemi_channel *channel_p)
{
    struct queue queue;
    int rc = queue_enter(&queue, place, place);
    if (!rc)
        *channel_p = (struct shmemi_channel){shmemi_gpu.memory, queue.context, queue.stream, queue.pushed, NULL};
    return rc;
}

static int channel_copy(const struct shmemi_channel *channel, const struct shmemi_place *dest,
                        const struct shmemi_place *source, size_t nbytes)
{
    const struct queue own = {.context = channel->object, .stream = channel->handle};
    const struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    int rc = start_words(channel);
    return rc || !nbytes ? rc : enqueue(&own, dest, source, &shape);
}

static int channel_store(struct shmemi_channel *channel, const struct shmemi_place *dest, const void *word,
                         size_t nbytes)
{
    const struct shmemi_gpu_context *context = channel->object;
    struct words *words = channel->words;
    uint64_t value = 0;
    if (!context->streams.has_word_operations || (nbytes != 4 && nbytes != 8) || dest->address % nbytes)
        return -ENOTSUP;
    if (!words && !(words = channel->words = calloc(1, sizeof *words)))
        return -ENOTSUP;
    memcpy(&value, word, nbytes);
    words->word[words->n] = (struct shmemi_gpu_word){dest->address, value, (unsigned)nbytes, SHMEMI_STEP_SET};
    return ++words->n == SHMEMI_GPU_WORDS_MAX ? start_words(channel) : 0;
}

static int channel_wait(const struct shmemi_channel *channel)
{
    int rc = start_words(channel), rc_stream = GPU_CALL(stream_synchronize, channel->handle);
    return rc ? rc : rc_stream;
}

static void channel_close(struct shmemi_channel *channel)
{
    free(channel->words);
    shmemi_gpu_leave(channel->is_entered);
}

const struct shmemi_channels shmemi_gpu_channels = {
    .open = channel_open,
    .copy = channel_copy,
    .store = channel_store,
    .wait = channel_wait,
    .close = channel_close,
};

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static void release(struct shmemi_event *event)
{
    shmemi_gpu_event_give(event->object, event->handle);
    event->handle = NULL;
}

int shmemi_gpu_event_test(struct shmemi_event *event)
{
    bool pushed;
    if (!event->handle)
        return 0;
    int rc = shmemi_gpu_enter(event->object, &pushed);
    if (!rc) {
        rc = shmemi_gpu_has_ended(shmemi_gpu.event_query(event->handle), "event_query(event)");
        shmemi_gpu_leave(pushed);
    }
    if (rc != -EAGAIN)
        release(event);
    return rc;
}

int shmemi_gpu_event_wait(struct shmemi_event *event)
{
    bool pushed;
    if (!event->handle)
        return 0;
    int rc = shmemi_gpu_enter(event->object, &pushed);
    if (!rc) {
        rc = GPU_CALL(event_synchronize, event->handle);
        shmemi_gpu_leave(pushed);
    }
    release(event);
    return rc;
}
