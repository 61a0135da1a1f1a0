/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams of the library beside those of the program, for meetings: for copies that are made at the same time as others,
 * and for what a stream of another context cannot do itself.
 */
#include "gpu/device/streams/meeting_streams.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>

static void close_extra(struct shmemi_extra_stream *extra)
{
    if (extra->event)
        shmemi_cuda_event_give(extra->context, extra->event);
    if (extra->stream)
        (void)CUDA_CALL(cuStreamDestroy, extra->stream);
    *extra = (struct shmemi_extra_stream){0};
}

/* In the context, which is current. */
static int open_extra(struct shmemi_extra_stream *extra, struct shmemi_cuda_context *context)
{
    if (extra->stream)
        return extra->context == context ? 0 : -EBUSY;
    extra->context = context;
    int rc = CUDA_CALL(cuStreamCreate, &extra->stream, CU_STREAM_NON_BLOCKING);
    if (!rc)
        rc = shmemi_cuda_event_take(context, &extra->event);
    if (rc)
        close_extra(extra);
    return rc;
}

int shmemi_extra_stream_follow(const struct shmemi_extra_stream *extra, CUstream later, CUstream earlier)
{
    int rc = CUDA_CALL(cuEventRecord, extra->event, earlier);
    return rc ? rc : CUDA_CALL(cuStreamWaitEvent, later, extra->event, 0);
}

/* When the program's stream is being captured the extra one becomes part of the capture until its end. False: it is part
 * of another capture. */
static bool is_free_for(struct shmemi_extra_stream *extra, const struct shmemi_stream *stream)
{
    const struct shmemi_stream own = {.memory = stream->memory, .handle = extra->stream};
    const bool is_recording = shmemi_cuda_stream_is_recording(stream);
    if (shmemi_cuda_stream_is_recording(&own))
        return is_recording && extra->captured_with == stream->handle;
    extra->captured_with = is_recording ? stream->handle : NULL;
    return true;
}

struct shmemi_extra_stream *shmemi_extra_stream_for_copies(struct shmemi_extra_streams *extras,
                                                           const struct shmemi_stream *stream)
{
    struct shmemi_extra_stream *copies = &extras->copies;
    return !open_extra(copies, stream->object) && is_free_for(copies, stream) ? copies : NULL;
}

/* ---- Detours ----------------------------------------------------------------------------------------------------- */

static int open_detour(struct shmemi_extra_stream *detour, struct shmemi_cuda_context *there,
                       const struct shmemi_stream *stream)
{
    struct shmemi_cuda_entry entry;
    int rc = shmemi_cuda_enter_relaxed(there, &entry);
    if (rc)
        return rc;
    shmemi_cuda_stream_prepare(there);
    rc = open_extra(detour, there);
    shmemi_cuda_leave_relaxed(&entry);
    if (rc || is_free_for(detour, stream))
        return rc;
    shmemi_error("stream %p is captured beside another capture with collectives of the same team", stream->handle);
    return -EBUSY;
}

int shmemi_detour_begin(struct shmemi_extra_stream *detour, struct shmemi_cuda_context *there,
                        const struct shmemi_stream *stream)
{
    struct shmemi_cuda_context *here = stream->object;
    struct shmemi_cuda_entry entry;
    CUevent event;
    int rc = open_detour(detour, there, stream);
    if (!rc)
        rc = shmemi_cuda_enter_relaxed(here, &entry);
    if (rc)
        return rc;
    rc = shmemi_cuda_record(here, stream->handle, &event);
    if (!rc) {
        rc = CUDA_CALL(cuStreamWaitEvent, detour->stream, event, 0);
        shmemi_cuda_event_give(here, event);
    }
    shmemi_cuda_leave_relaxed(&entry);
    return rc;
}

int shmemi_detour_end(const struct shmemi_extra_stream *detour, const struct shmemi_stream *stream)
{
    struct shmemi_cuda_entry entry;
    int rc = shmemi_cuda_enter_relaxed(detour->context, &entry);
    if (rc)
        return rc;
    rc = CUDA_CALL(cuEventRecord, detour->event, detour->stream);
    shmemi_cuda_leave_relaxed(&entry);
    if (!rc)
        rc = shmemi_cuda_enter_relaxed(stream->object, &entry);
    if (rc)
        return rc;
    rc = CUDA_CALL(cuStreamWaitEvent, stream->handle, detour->event, 0);
    shmemi_cuda_leave_relaxed(&entry);
    return rc;
}

/* Without the context its streams are gone, too. */
void shmemi_cuda_end_meetings(void **extras_p)
{
    struct shmemi_extra_streams *extras = *extras_p;
    struct shmemi_cuda_context *context = extras ? extras->copies.context : NULL;
    bool pushed;
    *extras_p = NULL;
    if (extras && !context)
        context = extras->detour.context;
    if (context && !shmemi_cuda_enter(context, &pushed)) {
        close_extra(&extras->copies);
        close_extra(&extras->detour);
        shmemi_cuda_leave(pushed);
    }
    free(extras);
}
