/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places of streams in which kernels wait for words. A kernel that waits is one of those that the GPU runs at the same
 * time, so that a few streams have a place, and the others wait by operations of the driver. The first ones keep theirs
 * until all streams are done, since an event behind each wait takes time; the others have one until their waits are over.
 */
#include "gpu/device/gpu_context.h"

enum { KEPT = SHMEMI_CUDA_PLACES / 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* With the lock held. */
static struct shmemi_cuda_place *place_of(struct shmemi_cuda_context *context, CUstream stream)
{
    for (unsigned i = 0; i < SHMEMI_CUDA_PLACES; i++)
        if (context->streams.place[i].is_taken && context->streams.place[i].stream == stream)
            return &context->streams.place[i];
    return NULL;
}

/* One that nobody has, or else the next whose waits may be over: one of them is asked at a time. With the lock held. */
static struct shmemi_cuda_place *find_free(struct shmemi_cuda_context *context)
{
    for (unsigned i = 0; i < SHMEMI_CUDA_PLACES; i++)
        if (!context->streams.place[i].is_taken)
            return &context->streams.place[i];
    const unsigned next = context->streams.next_place++ % (SHMEMI_CUDA_PLACES - KEPT);
    struct shmemi_cuda_place *place = &context->streams.place[KEPT + next];
    const bool is_over = !place->users && place->is_marked && shmemi_cuda.cuEventQuery(place->over) == CUDA_SUCCESS;
    return is_over ? place : NULL;
}

struct shmemi_cuda_place *shmemi_cuda_place_take(const struct shmemi_stream *stream)
{
    struct shmemi_cuda_context *context = stream->object;
    pthread_mutex_lock(&lock);
    struct shmemi_cuda_place *place = place_of(context, stream->handle);
    if (!place)
        place = find_free(context);
    if (place) {
        place->stream = stream->handle;
        place->is_taken = true;
        place->users++;
    }
    pthread_mutex_unlock(&lock);
    return place;
}

void shmemi_cuda_place_leave(const struct shmemi_stream *stream, struct shmemi_cuda_place *place)
{
    struct shmemi_cuda_context *context = stream->object;
    bool is_marked = false;
    pthread_mutex_lock(&lock);
    if (place - context->streams.place >= KEPT && (place->over || !shmemi_cuda_event_take(context, &place->over)))
        is_marked = !CUDA_CALL(cuEventRecord, place->over, stream->handle);
    place->is_marked = is_marked;
    place->users--;
    pthread_mutex_unlock(&lock);
}

void shmemi_cuda_places_free(struct shmemi_cuda_context *context)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < SHMEMI_CUDA_PLACES; i++) {
        struct shmemi_cuda_place *place = &context->streams.place[i];
        if (place->users)
            continue;
        if (place->over)
            shmemi_cuda_event_give(context, place->over);
        *place = (struct shmemi_cuda_place){0};
    }
    pthread_mutex_unlock(&lock);
}
