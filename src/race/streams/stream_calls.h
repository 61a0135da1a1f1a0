/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the wrappers of the routines on streams and queues have in common.
 */
#ifndef RACE_STREAM_CALLS_H
#define RACE_STREAM_CALLS_H

#include "race/streams/stream_op.h"
#include "race/hooks/sync_objects.h"

/* Wraps shmemx_NAME_on_stream and shmemx_NAME_on_queue. PARAMETERS and what is PASSED of them stand in parentheses and end
 * with a comma unless there are none; RESULT returns it; what follows are fields of struct race_work. */
#define RACE_WRAP_ENQUEUED(TYPE, RESULT, NAME, PARAMETERS, PASSED, ...)                                                \
    RACE_WRAPPER TYPE shmemx_##NAME##_on_stream(RACE_UNPACK PARAMETERS shmemx_stream_t stream)                         \
    {                                                                                                                  \
        static __typeof__(&shmemx_##NAME##_on_stream) next;                                                            \
        RACE_BEGIN("shmemx_" #NAME "_on_stream", SHMEM_CTX_DEFAULT);                                                   \
        next = next ? next : (__typeof__(next))race_next("shmemx_" #NAME "_on_stream");                                \
        const struct race_work work = {__VA_ARGS__};                                                                   \
        struct race_turn turn;                                                                                         \
        race_cuda_turn(&turn, &call, &work, stream);                                                                   \
        (void)next(RACE_UNPACK PASSED stream);                                                                         \
        race_cuda_turn_ends(&turn);                                                                                    \
        race_call_end(&call);                                                                                          \
        RESULT;                                                                                                        \
    }                                                                                                                  \
    RACE_WRAPPER TYPE shmemx_##NAME##_on_queue(RACE_UNPACK PARAMETERS shmemx_queue_t queue, unsigned n_events,         \
                                               const shmemx_event_t *events, shmemx_event_t *event)                    \
    {                                                                                                                  \
        static __typeof__(&shmemx_##NAME##_on_queue) next;                                                             \
        RACE_BEGIN("shmemx_" #NAME "_on_queue", SHMEM_CTX_DEFAULT);                                                    \
        next = next ? next : (__typeof__(next))race_next("shmemx_" #NAME "_on_queue");                                 \
        const struct race_work work = {__VA_ARGS__};                                                                   \
        struct race_turn turn;                                                                                         \
        race_queue_turn(&turn, &call, &work, queue, n_events, events, event);                                          \
        (void)next(RACE_UNPACK PASSED queue, turn.n_events, turn.events, turn.event);                                  \
        race_queue_turn_ends(&turn);                                                                                   \
        race_call_end(&call);                                                                                          \
        RESULT;                                                                                                        \
    }
#define RACE_UNPACK(...) __VA_ARGS__

#endif
