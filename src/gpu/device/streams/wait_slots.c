/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots of streams in which kernels wait for words. The first ones keep theirs until all streams are done, since an event
 * behind each wait takes time; the others have one until their waits are over.
 */
#include "gpu/device/gpu_context.h"

enum { KEPT = SHMEMI_WAIT_SLOTS / 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* With the lock held. */
static struct shmemi_wait_slot *slot_of(struct shmemi_gpu_context *context, void *stream)
{
    for (unsigned i = 0; i < SHMEMI_WAIT_SLOTS; i++)
        if (context->streams.slot[i].is_taken && context->streams.slot[i].stream == stream)
            return &context->streams.slot[i];
    return NULL;
}

/* One that nobody has, or else the next whose waits may be over: one of them is asked at a time. With the lock held. */
static struct shmemi_wait_slot *find_free(struct shmemi_gpu_context *context)
{
    for (unsigned i = 0; i < SHMEMI_WAIT_SLOTS; i++)
        if (!context->streams.slot[i].is_taken)
            return &context->streams.slot[i];
    const unsigned next = context->streams.next_slot++ % (SHMEMI_WAIT_SLOTS - KEPT);
    struct shmemi_wait_slot *slot = &context->streams.slot[KEPT + next];
    const bool is_over = !slot->users && slot->is_marked && !shmemi_gpu.event_query(slot->over);
    return is_over ? slot : NULL;
}

struct shmemi_wait_slot *shmemi_wait_slot_take(const struct shmemi_stream *stream)
{
    struct shmemi_gpu_context *context = stream->object;
    pthread_mutex_lock(&lock);
    struct shmemi_wait_slot *slot = slot_of(context, stream->handle);
    if (!slot)
        slot = find_free(context);
    if (slot) {
        slot->stream = stream->handle;
        slot->is_taken = true;
        slot->users++;
    }
    pthread_mutex_unlock(&lock);
    return slot;
}

void shmemi_wait_slot_leave(const struct shmemi_stream *stream, struct shmemi_wait_slot *slot)
{
    struct shmemi_gpu_context *context = stream->object;
    bool is_marked = false;
    pthread_mutex_lock(&lock);
    if (slot - context->streams.slot >= KEPT && (slot->over || !shmemi_gpu_event_take(context, &slot->over)))
        is_marked = !GPU_CALL(event_record, slot->over, stream->handle);
    slot->is_marked = is_marked;
    slot->users--;
    pthread_mutex_unlock(&lock);
}

void shmemi_wait_slots_free(struct shmemi_gpu_context *context)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < SHMEMI_WAIT_SLOTS; i++) {
        struct shmemi_wait_slot *slot = &context->streams.slot[i];
        if (slot->users)
            continue;
        if (slot->over)
            shmemi_gpu_event_give(context, slot->over);
        *slot = (struct shmemi_wait_slot){0};
    }
    pthread_mutex_unlock(&lock);
}
