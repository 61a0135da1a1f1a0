/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams of the library beside those of the program, for meetings: for copies that are made at the same time as others,
 * and for what a stream of another context cannot do itself. And the memory in which meetings take place.
 */
#include "gpu/device/streams/meeting_streams.h"
#include "gpu/device/streams/program_streams.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>

static void close_extra(struct shmemi_extra_stream *extra)
{
    if (extra->event)
        shmemi_gpu_event_give(extra->context, extra->event);
    if (extra->stream)
        (void)GPU_CALL(stream_destroy, extra->stream);
    *extra = (struct shmemi_extra_stream){0};
}

/* In the context, which is current. */
static int open_extra(struct shmemi_extra_stream *extra, struct shmemi_gpu_context *context)
{
    if (extra->stream)
        return extra->context == context ? 0 : -EBUSY;
    extra->context = context;
    int rc = GPU_CALL(stream_create, &extra->stream, SHMEMI_GPU_STREAM_NON_BLOCKING);
    if (!rc)
        rc = shmemi_gpu_event_take(context, &extra->event);
    if (rc)
        close_extra(extra);
    return rc;
}

int shmemi_extra_stream_follow(const struct shmemi_extra_stream *extra, void *later, void *earlier)
{
    int rc = GPU_CALL(event_record, extra->event, earlier);
    return rc ? rc : GPU_CALL(stream_wait_event, later, extra->event, 0);
}

/* When the program's stream is being captured the extra one becomes part of the capture until its end. False: it is part
 * of another capture. */
static bool is_free_for(struct shmemi_extra_stream *extra, const struct shmemi_stream *stream)
{
    const struct shmemi_stream own = {.memory = stream->memory, .handle = extra->stream};
    const bool is_recording = shmemi_gpu_stream_is_recording(stream);
    if (shmemi_gpu_stream_is_recording(&own))
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

static int open_detour(struct shmemi_extra_stream *detour, struct shmemi_gpu_context *there,
                       const struct shmemi_stream *stream)
{
    struct shmemi_gpu_entry entry;
    int rc = shmemi_gpu_enter_relaxed(there, &entry);
    if (rc)
        return rc;
    shmemi_gpu_stream_prepare(there);
    rc = shmemi_gpu_leave_relaxed(&entry, open_extra(detour, there));
    if (rc || is_free_for(detour, stream))
        return rc;
    shmemi_error("stream %p is captured beside another capture with collectives of the same team", stream->handle);
    return -EBUSY;
}

int shmemi_detour_begin(struct shmemi_extra_stream *detour, struct shmemi_gpu_context *there,
                        const struct shmemi_stream *stream)
{
    struct shmemi_gpu_context *here = stream->object;
    struct shmemi_gpu_entry entry;
    void *event;
    int rc = open_detour(detour, there, stream);
    if (!rc)
        rc = shmemi_gpu_enter_relaxed(here, &entry);
    if (rc)
        return rc;
    rc = shmemi_gpu_record(here, stream->handle, &event);
    if (!rc) {
        rc = GPU_CALL(stream_wait_event, detour->stream, event, 0);
        shmemi_gpu_event_give(here, event);
    }
    return shmemi_gpu_leave_relaxed(&entry, rc);
}

int shmemi_detour_end(const struct shmemi_extra_stream *detour, const struct shmemi_stream *stream)
{
    struct shmemi_gpu_entry entry;
    int rc = shmemi_gpu_enter_relaxed(detour->context, &entry);
    if (!rc)
        rc = shmemi_gpu_leave_relaxed(&entry, GPU_CALL(event_record, detour->event, detour->stream));
    if (!rc)
        rc = shmemi_gpu_enter_relaxed(stream->object, &entry);
    return rc ? rc : shmemi_gpu_leave_relaxed(&entry, GPU_CALL(stream_wait_event, stream->handle, detour->event, 0));
}

/* Without the context its streams are gone, too. */
void shmemi_gpu_end_meetings(void **extras_p)
{
    struct shmemi_extra_streams *extras = *extras_p;
    struct shmemi_gpu_context *context = extras ? extras->copies.context : NULL;
    bool pushed;
    *extras_p = NULL;
    if (extras && !context)
        context = extras->detour.context;
    if (context && !shmemi_gpu_enter(context, &pushed)) {
        close_extra(&extras->copies);
        close_extra(&extras->detour);
        shmemi_gpu_leave(pushed);
    }
    free(extras);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static int allocate(struct shmemi_gpu_context *context, size_t nbytes, uintptr_t *address_p)
{
    void *stream;
    int rc = shmemi_gpu_stream(context, &stream);
    if (!rc)
        rc = GPU_CALL(allocate, address_p, nbytes);
    if (rc)
        return rc;
    rc = GPU_CALL(fill_async, *address_p, 0, nbytes, stream);
    if (!rc)
        rc = GPU_CALL(stream_synchronize, stream);
    if (rc)
        shmemi_gpu.free(*address_p);
    return rc;
}

int shmemi_gpu_allocate(const struct shmemi_place *place, size_t nbytes, void **object_p)
{
    uintptr_t address = 0;
    struct shmemi_gpu_entry entry;
    int rc = shmemi_gpu_enter_relaxed(place->object, &entry);
    if (rc)
        return rc;
    rc = shmemi_gpu_leave_relaxed(&entry, allocate(place->object, nbytes, &address));
    *object_p = (void *)(uintptr_t)address;
    return rc;
}

void shmemi_gpu_free(const struct shmemi_place *place, void *object)
{
    bool pushed;
    shmemi_gpu_contexts_check();
    if (shmemi_gpu_enter(place->object, &pushed))
        return;
    (void)GPU_CALL(free, (uintptr_t)object);
    shmemi_gpu_leave(pushed);
}
