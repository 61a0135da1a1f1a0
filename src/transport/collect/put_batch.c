/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches of small puts: a table of buffers, each for one PE. If another PE's buffer is in its place, that one is sent
 * first, so the memory of a context is bounded whatever the size of the job. Puts of equal length to places at equal
 * distances share a record (staged/scatter.h).
 */
#include "base/log.h"
#include "base/clock.h"
#include "base/tuning.h"
#include "transport/collect/sinks.h"
#include "transport/staged/scatter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    int pe;
    const struct shmemi_link *link; /* to that PE */
    size_t used;
    size_t last; /* where the last record is */
    char bytes[];
};

struct shmemi_put_batch {
    size_t capacity; /* of a buffer, at most SHMEMI_BATCH_BYTES */
    struct buffer *place[SHMEMI_BATCH_PLACES];
};

static size_t capacity_for(size_t expected)
{
    const size_t most = shmemi_staging.chunk < SHMEMI_BATCH_BYTES ? shmemi_staging.chunk : SHMEMI_BATCH_BYTES;
    const size_t least = sizeof(struct shmemi_scatter_record) + SHMEMI_BATCHED_PUT_MAX;
    size_t wanted = expected < most ? expected * (sizeof(struct shmemi_scatter_record) + sizeof(uint64_t)) : most;
    return wanted < least ? least : wanted > most ? most : wanted;
}

void shmemi_put_batch_open(struct shmemi_collector *collector, size_t expected)
{
    if (collector->batch)
        return;
    collector->batch = calloc(1, sizeof *collector->batch);
    if (collector->batch)
        collector->batch->capacity = capacity_for(expected);
    else
        shmemi_warn("out of memory for a batch: puts go one by one");
}

static int send_buffer(struct shmemi_context *context, struct buffer *buffer)
{
    const struct shmemi_view view = {.pe = buffer->pe, .link = buffer->link};
    size_t used = buffer->used;
    buffer->used = 0;
    return used ? shmemi_staged_scatter(context, &view, buffer->bytes, used) : 0;
}

int shmemi_put_batch_send(struct shmemi_collector *collector, struct shmemi_context *context)
{
    const struct shmemi_put_batch *batch = collector->batch;
    int rc = 0;
    for (int i = 0; batch && i < SHMEMI_BATCH_PLACES && !rc; i++)
        if (batch->place[i])
            rc = send_buffer(context, batch->place[i]);
    collector->is_burst = false;
    collector->n_puts = 0;
    return rc;
}

void shmemi_put_batch_close(struct shmemi_collector *collector)
{
    for (int i = 0; collector->batch && i < SHMEMI_BATCH_PLACES; i++)
        free(collector->batch->place[i]);
    free(collector->batch);
}

/* The buffer of a PE, with room for a record; a full buffer, or another PE's in its place, is sent first. */
static int find_room(struct shmemi_put_batch *batch, struct shmemi_context *context, int pe, size_t needed,
                     struct buffer **buffer_p)
{
    struct buffer **place = &batch->place[pe % SHMEMI_BATCH_PLACES], *buffer = *place;
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

/* Is this put the next row of the last record? Then *bytes_p is where its bytes go. */
static bool add_row(const struct shmemi_put_batch *batch, struct buffer *buffer, const struct shmemi_transfer *put,
                    char **bytes_p)
{
    const size_t offset = put->offset, nbytes = put->shape.width;
    struct shmemi_scatter_record record;
    uint64_t pitch;
    char *at = buffer->bytes + buffer->last, *rows = at + sizeof record + SHMEMI_SCATTER_PITCH_BYTES;
    if (!buffer->used || buffer->used + SHMEMI_SCATTER_PITCH_BYTES + shmemi_scatter_padded(nbytes) > batch->capacity)
        return false;
    memcpy(&record, at, sizeof record);
    memcpy(&pitch, at + sizeof record, sizeof pitch);
    if (!record.more_rows)
        pitch = offset - record.offset;
    if (record.region != put->view->region || record.nbytes != nbytes || record.more_rows == UINT16_MAX ||
        pitch < nbytes || pitch > SIZE_MAX / UINT16_MAX / 2 ||
        offset != record.offset + (record.more_rows + (uint64_t)1) * pitch)
        return false;
    if (!record.more_rows++) {
        memmove(rows, at + sizeof record, nbytes);
        memcpy(at + sizeof record, &pitch, sizeof pitch);
    }
    memcpy(at, &record, sizeof record);
    *bytes_p = rows + record.more_rows * nbytes;
    buffer->used = buffer->last + sizeof record + SHMEMI_SCATTER_PITCH_BYTES +
                   shmemi_scatter_padded((record.more_rows + (size_t)1) * nbytes);
    return true;
}

static char *add_record(struct buffer *buffer, const struct shmemi_transfer *put)
{
    const struct shmemi_scatter_record record = {put->offset, put->view->region, (uint16_t)put->shape.width, 0};
    char *at = buffer->bytes + buffer->used;
    memcpy(at, &record, sizeof record);
    buffer->last = buffer->used;
    buffer->used += sizeof record + shmemi_scatter_padded(put->shape.width);
    buffer->pe = put->view->pe;
    buffer->link = put->view->link;
    return at + sizeof record;
}

/* The source may be reused on return. */
static int add(struct shmemi_put_batch *batch, const struct shmemi_transfer *put)
{
    struct buffer *buffer = batch->place[put->view->pe % SHMEMI_BATCH_PLACES];
    char *bytes;
    int rc = 0;
    if (!buffer || buffer->pe != put->view->pe || !add_row(batch, buffer, put, &bytes)) {
        rc = find_room(batch, put->context, put->view->pe,
                       sizeof(struct shmemi_scatter_record) + shmemi_scatter_padded(put->shape.width), &buffer);
        if (rc)
            return rc;
        bytes = add_record(buffer, put);
    }
    memcpy(bytes, (const void *)put->mine.address, put->shape.width);
    return rc;
}

/* Is this put one of many that follow each other quickly? */
static bool is_in_burst(struct shmemi_collector *collector, const struct shmemi_context *context)
{
    if (collector->is_burst || shmemi_context_is_in_session(context))
        return true;
    const uint64_t now = shmemi_clock();
    if (now - collector->last_put > SHMEMI_BATCH_GAP_NS)
        collector->n_puts = 0;
    collector->last_put = now;
    collector->is_burst = ++collector->n_puts > SHMEMI_BATCH_BEGINS_AFTER;
    return collector->is_burst;
}

int shmemi_put_batch_take(struct shmemi_collector *collector, const struct shmemi_transfer *transfer)
{
    if (!transfer->is_put || transfer->mine.memory != &shmemi_memory_host ||
        transfer->shape.width > SHMEMI_BATCHED_PUT_MAX || !is_in_burst(collector, transfer->context))
        return -EAGAIN;
    shmemi_put_batch_open(collector, SIZE_MAX);
    return collector->batch ? add(collector->batch, transfer) : -EAGAIN;
}
