/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the routines on streams and queues share: their definitions in two forms, and transfers.
 */
#ifndef SHMEMI_STREAM_OPS_H
#define SHMEMI_STREAM_OPS_H

#include "shmem/stream/stream_call.h"

/* Defines shmemx_NAME_on_stream and shmemx_NAME_on_queue. PARAMETERS: in parentheses, ending with a comma unless there are none; CALL uses call. */
#define SHMEMI_DEFINE_ENQUEUED(NAME, PARAMETERS, CALL)                                                                 \
    SHMEMI_EXPORT void shmemx_##NAME##_on_stream(SHMEMI_UNPACK PARAMETERS shmemx_stream_t stream)                      \
    {                                                                                                                  \
        struct shmemi_stream_call call = shmemi_call_on_stream("shmemx_" #NAME "_on_stream", stream);                  \
        CALL;                                                                                                          \
    }                                                                                                                  \
    SHMEMI_EXPORT void shmemx_##NAME##_on_queue(SHMEMI_UNPACK PARAMETERS shmemx_queue_t queue, unsigned n_events,      \
                                                const shmemx_event_t *events, shmemx_event_t *event)                   \
    {                                                                                                                  \
        struct shmemi_stream_call call =                                                                               \
            shmemi_call_on_queue("shmemx_" #NAME "_on_queue", queue, n_events, events, event);                         \
        CALL;                                                                                                          \
    }
#define SHMEMI_UNPACK(...) __VA_ARGS__

/* The place of a local argument. Unlike shmemi_local_place, it does not wait for the program's own synchronous calls:
 * the stream orders them. */
struct shmemi_place shmemi_enqueued_place(const char *routine, const void *address, size_t nbytes);

/* They enqueue the operation, and end the job on errors. */
void shmemi_enqueue_put(const struct shmemi_stream_call *call, void *dest, const void *source, size_t nbytes, int pe);
void shmemi_enqueue_get(const struct shmemi_stream_call *call, void *dest, const void *source, size_t nbytes, int pe);
void shmemi_enqueue_put_signal(const struct shmemi_stream_call *call, void *dest, const void *source, size_t nbytes,
                               const struct shmemi_signal *signal, int pe);
void shmemi_enqueue_strided(const struct shmemi_stream_call *call, void *dest, const void *source,
                            const struct shmemi_shape *shape, int pe, bool is_put);

/* For the watchdog: a wait for words, at an offset of this PE's view, that is enqueued next; shmemi_watched_end comes after
 * that. */
void shmemi_words_watch(struct shmemi_stream *stream, const char *routine, const struct shmemi_view *view,
                        size_t offset, const struct shmemi_stream_wait *words, bool is_signed);

/* The step of a comparison, SHMEM_CMP_*. */
enum shmemi_word_step shmemi_step_of(const char *routine, int cmp);

#endif
