/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens streams and queues for the routines on them.
 */
#include "shmem/stream/stream_call.h"

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
