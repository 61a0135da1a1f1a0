/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches of small puts: a table of buffers, each for one PE. If another PE's buffer is in its place, that one is sent
 * first, so the memory of a context is bounded whatever the size of the job.
 */
#include "transport/staged/batch.h"

#include "base/log.h"
#include "base/sanitizer.h"
#include "base/copy_bytes.h"
#include "bootstrap/job.h"
#include "transport/staged/owner.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLACES = 64,
    BUFFER_BYTES = 16 << 10,
    RECORD_ALIGNMENT = 8,
};

/* Precedes the bytes of each put, which are padded to the alignment. */
struct record {
    uint64_t offset;
    uint32_t region;
    uint32_t nbytes;
};

struct buffer {
    int pe;
    const struct shmemi_link *link; /* to that PE */
    size_t used;
    char bytes[];
};

struct shmemi_batch {
    pthread_mutex_t lock;
    size_t capacity; /* of a buffer, at most BUFFER_BYTES */
    struct buffer *place[PLACES];
};

static size_t padded(size_t nbytes)
{
    return (nbytes + RECORD_ALIGNMENT - 1) & ~(size_t)(RECORD_ALIGNMENT - 1);
}

static size_t capacity_for(size_t expected)
{
    const size_t most = shmemi_staging.chunk < BUFFER_BYTES ? shmemi_staging.chunk : BUFFER_BYTES;
    const size_t least = sizeof(struct record) + SHMEMI_BATCHED_PUT_MAX;
    size_t wanted = expected < most ? expected * (sizeof(struct record) + sizeof(uint64_t)) : most;
    return wanted < least ? least : wanted > most ? most : wanted;
}

static int open_batch(struct shmemi_context *context, size_t expected)
{
    if (context->batch || shmemi_job.n_nodes == 1)
        return 0;
    struct shmemi_batch *batch = calloc(1, sizeof *batch);
    if (!batch) {
        shmemi_warn("out of memory for a batch: puts go one by one");
        return 0;
    }
    pthread_mutex_init(&batch->lock, NULL);
    batch->capacity = capacity_for(expected);
    context->batch = batch;
    return 0;
}

static int send_buffer(struct shmemi_context *context, struct buffer *buffer)
{
    const struct shmemi_view view = {.pe = buffer->pe, .link = buffer->link};
    size_t used = buffer->used;
    buffer->used = 0;
    return used ? shmemi_staged_scatter(context, &view, buffer->bytes, used) : 0;
}

static int flush(struct shmemi_context *context)
{
    struct shmemi_batch *batch = context->batch;
    int rc = 0;
    if (!batch)
        return 0;
    pthread_mutex_lock(&batch->lock);
    for (int i = 0; i < PLACES && !rc; i++)
        if (batch->place[i])
            rc = send_buffer(context, batch->place[i]);
    pthread_mutex_unlock(&batch->lock);
    return rc;
}

static int close_batch(struct shmemi_context *context)
{
    struct shmemi_batch *batch = context->batch;
    if (!batch)
        return 0;
    int rc = flush(context);
    context->batch = NULL;
    for (int i = 0; i < PLACES; i++)
        free(batch->place[i]);
    pthread_mutex_destroy(&batch->lock);
    free(batch);
    return rc;
}

const struct shmemi_gathering shmemi_batch_gathering = {open_batch, flush, close_batch};

/* The buffer of a PE, with room for a record; a full buffer, or another PE's in its place, is sent first. */
static int find_room(struct shmemi_context *context, int pe, size_t needed, struct buffer **buffer_p)
{
    struct shmemi_batch *batch = context->batch;
    struct buffer **place = &batch->place[pe % PLACES], *buffer = *place;
    int rc = 0;
    if (!buffer) {
        buffer = *place = calloc(1, sizeof *buffer + batch->capacity);
        if (!buffer)
            shmemi_fatal("out of memory for a batch of puts to PE %d", pe);
    }
    if (buffer->used && (buffer->pe != pe || buffer->used + needed > batch->capacity))
        rc = send_buffer(context, buffer);
    *buffer_p = buffer;
    return rc;
}

int shmemi_batch_put(struct shmemi_context *context, const struct shmemi_view *view, size_t offset, const void *source,
                     size_t nbytes)
{
    struct record record = {offset, view->region, (uint32_t)nbytes};
    struct buffer *buffer;
    pthread_mutex_lock(&context->batch->lock);
    int rc = find_room(context, view->pe, sizeof record + padded(nbytes), &buffer);
    if (!rc) {
        memcpy(buffer->bytes + buffer->used, &record, sizeof record);
        memcpy(buffer->bytes + buffer->used + sizeof record, source, nbytes);
        buffer->used += sizeof record + padded(nbytes);
        buffer->pe = view->pe;
        buffer->link = view->link;
        shmemi_pending_expect(&context->pending, SHMEMI_PENDING_STAGED);
    }
    pthread_mutex_unlock(&context->batch->lock);
    return rc;
}

/* ---- The owner's end --------------------------------------------------------------------------------------------- */

/* The next record of a payload. False at its end, and at a record that is cut off. */
static bool next_record(const char *payload, size_t size, size_t *position, struct record *record)
{
    if (size - *position < sizeof *record)
        return false;
    memcpy(record, payload + *position, sizeof *record);
    if (record->nbytes > SHMEMI_BATCHED_PUT_MAX || size - *position - sizeof *record < padded(record->nbytes))
        return false;
    *position += sizeof *record + padded(record->nbytes);
    return true;
}

static int check(const char *payload, size_t size)
{
    struct record record;
    struct shmemi_place place;
    size_t position = 0;
    while (next_record(payload, size, &position, &record)) {
        if (shmemi_owner_resolver->resolve(record.region, record.offset, record.nbytes, &place))
            return -EINVAL;
        shmemi_owner_resolver->release();
    }
    return position == size ? 0 : -EINVAL;
}

static int store(const struct record *record, const char *bytes)
{
    struct shmemi_place place, source = shmemi_place_host(bytes);
    struct shmemi_shape shape = shmemi_shape_linear(record->nbytes);
    int rc = shmemi_owner_resolver->resolve(record->region, record->offset, record->nbytes, &place);
    if (rc)
        return rc;
    shmemi_access_for_peer_begin();
    if (place.memory == &shmemi_memory_host)
        shmemi_copy_bytes((void *)place.address, bytes, record->nbytes);
    else
        rc = shmemi_memory_copy(&place, &source, &shape);
    shmemi_access_for_peer_end();
    shmemi_owner_resolver->release();
    return rc;
}

int shmemi_batch_scatter(const struct shmemi_request *request, const void *payload)
{
    struct record record;
    size_t position = 0, start = 0;
    int rc = check(payload, request->width);
    if (rc) {
        shmemi_error("PE %u sent a batch of puts that leads outside of this PE's symmetric memory", request->origin);
        return rc;
    }
    while (!rc && next_record(payload, request->width, &position, &record)) {
        rc = store(&record, (const char *)payload + start + sizeof record);
        start = position;
    }
    return rc;
}
