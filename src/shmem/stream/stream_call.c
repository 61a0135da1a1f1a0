/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens streams and queues for the routines on them.
 */
#include "shmem/stream/stream_call.h"

#include "device/device.h"
#include "transport/stream/agent.h"

#include <stdlib.h>

static struct shmemi_stream_call open_call(const char *routine, int type, void *handle)
{
    char reason[200] = "";
    struct shmemi_stream_call call = {.routine = routine};
    shmemi_require_init(routine);
    if (shmemi_stream_open(type, handle, &call.stream, reason, sizeof reason))
        shmemi_fatal("%s: %s", routine, reason);
    return call;
}

struct shmemi_stream_call shmemi_call_on_stream(const char *routine, shmemx_stream_t stream)
{
    return open_call(routine, OSHM_MEMTYPE_CUDA, stream);
}

struct shmemi_stream_call shmemi_call_on_queue(const char *routine, shmemx_queue_t queue, unsigned n_events,
                                               const shmemx_event_t *events, shmemx_event_t *event)
{
    struct shmemi_stream_call call = open_call(routine, OSHM_MEMTYPE_OPENCL, queue);
    if (n_events && !events)
        shmemi_fatal("%s: %u events, but no list", routine, n_events);
    call.stream.n_events = n_events;
    call.stream.events = n_events ? (void *const *)events : NULL;
    call.stream.event_p = (void **)event;
    return call;
}

static int await_kernels(struct shmemi_stream_work *work)
{
    return shmemi_device_is_drained(work->kept) ? 0 : -EAGAIN;
}

void shmemi_await_kernels(const struct shmemi_stream_call *call)
{
    const struct shmemi_stream *stream = &call->stream;
    if (!atomic_load(&shmemi_device_served) || stream->memory->type != SHMEMI_MEMTYPE_CUDA ||
        shmemi_stream_is_recording(stream))
        return;
    struct shmemi_stream_work work = {.advance = await_kernels, .kept = calloc(1, sizeof(struct shmemi_device_drain))};
    if (!work.kept)
        shmemi_fatal("%s: no memory for an operation in a stream", call->routine);
    shmemi_require(shmemi_stream_agent_post(stream, &work));
}
