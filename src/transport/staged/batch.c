/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches of small puts: a table of buffers, each for one PE. If another PE's buffer is in its place, that one is sent
 * first, so the memory of a context is bounded whatever the size of the job.
 *
 * Puts of the same length to places at equal distances share a record: its bytes are rows, which the owner copies all at
 * once.
 */
#include "transport/staged/batch.h"

#include "base/copy_bytes.h"
#include "base/log.h"
#include "base/sanitizer.h"
#include "base/thread/cores.h"
#include "gpu/list.h"
#include "transport/staged/owner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLACES = 64,
    BUFFER_BYTES = 16 << 10,
    RECORD_ALIGNMENT = 8,
    PITCH_BYTES = sizeof(uint64_t),
};

/* Precedes the bytes of a put, which are padded to the alignment. If there are more rows, their distance (8 bytes) lies
 * between the record and the bytes, and the rows follow each other without gaps. */
struct record {
    uint64_t offset;
    uint32_t region;
    uint16_t nbytes;    /* of a row */
    uint16_t more_rows; /* after the first */
};

struct buffer {
    int pe;
    const struct shmemi_link *link; /* to that PE */
    size_t used;
    size_t last; /* where the last record is */
    char bytes[];
};

struct shmemi_batch {
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

struct shmemi_batch *shmemi_batch_open(size_t expected)
{
    struct shmemi_batch *batch = calloc(1, sizeof *batch);
    if (batch)
        batch->capacity = capacity_for(expected);
    else
        shmemi_warn("out of memory for a batch: puts go one by one");
    return batch;
}

static int send_buffer(struct shmemi_context *context, struct buffer *buffer)
{
    const struct shmemi_view view = {.pe = buffer->pe, .link = buffer->link};
    size_t used = buffer->used;
    buffer->used = 0;
    return used ? shmemi_staged_scatter(context, &view, buffer->bytes, used) : 0;
}

int shmemi_batch_send_all(struct shmemi_batch *batch, struct shmemi_context *context)
{
    int rc = 0;
    for (int i = 0; batch && i < PLACES && !rc; i++)
        if (batch->place[i])
            rc = send_buffer(context, batch->place[i]);
    return rc;
}

void shmemi_batch_close(struct shmemi_batch *batch)
{
    for (int i = 0; batch && i < PLACES; i++)
        free(batch->place[i]);
    free(batch);
}

/* The buffer of a PE, with room for a record; a full buffer, or another PE's in its place, is sent first. */
static int find_room(struct shmemi_batch *batch, struct shmemi_context *context, int pe, size_t needed,
                     struct buffer **buffer_p)
{
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

/* Is this put the next row of the last record? Then *bytes_p is where its bytes go. */
static bool add_row(const struct shmemi_batch *batch, struct buffer *buffer, uint32_t region, size_t offset,
                    size_t nbytes, char **bytes_p)
{
    struct record record;
    uint64_t pitch;
    char *at = buffer->bytes + buffer->last, *rows = at + sizeof record + PITCH_BYTES;
    if (!buffer->used || buffer->used + PITCH_BYTES + padded(nbytes) > batch->capacity)
        return false;
    memcpy(&record, at, sizeof record);
    memcpy(&pitch, at + sizeof record, sizeof pitch);
    if (!record.more_rows)
        pitch = offset - record.offset;
    if (record.region != region || record.nbytes != nbytes || record.more_rows == UINT16_MAX || pitch < nbytes ||
        pitch > SIZE_MAX / UINT16_MAX / 2 || offset != record.offset + (record.more_rows + (uint64_t)1) * pitch)
        return false;
    if (!record.more_rows++) {
        memmove(rows, at + sizeof record, nbytes);
        memcpy(at + sizeof record, &pitch, sizeof pitch);
    }
    memcpy(at, &record, sizeof record);
    *bytes_p = rows + record.more_rows * nbytes;
    buffer->used = buffer->last + sizeof record + PITCH_BYTES + padded((record.more_rows + (size_t)1) * nbytes);
    return true;
}

static char *add_record(struct buffer *buffer, const struct shmemi_view *view, size_t offset, size_t nbytes)
{
    const struct record record = {offset, view->region, (uint16_t)nbytes, 0};
    char *at = buffer->bytes + buffer->used;
    memcpy(at, &record, sizeof record);
    buffer->last = buffer->used;
    buffer->used += sizeof record + padded(nbytes);
    buffer->pe = view->pe;
    buffer->link = view->link;
    return at + sizeof record;
}

int shmemi_batch_add(struct shmemi_batch *batch, struct shmemi_context *context, const struct shmemi_view *view,
                     size_t offset, const void *source, size_t nbytes)
{
    struct buffer *buffer = batch->place[view->pe % PLACES];
    char *bytes;
    int rc = 0;
    if (!buffer || buffer->pe != view->pe || !add_row(batch, buffer, view->region, offset, nbytes, &bytes)) {
        rc = find_room(batch, context, view->pe, sizeof(struct record) + padded(nbytes), &buffer);
        if (rc)
            return rc;
        bytes = add_record(buffer, view, offset, nbytes);
    }
    memcpy(bytes, source, nbytes);
    return rc;
}

/* ---- The owner's end --------------------------------------------------------------------------------------------- */

/* A record as it lies in a payload. */
struct entry {
    struct record record;
    uint64_t pitch;
    size_t extent; /* from the first byte to the last */
    const char *bytes;
};

/* The next record of a payload. False at its end, and at a record that is cut off or makes no sense. */
static bool next_entry(const char *payload, size_t size, size_t *position, struct entry *entry)
{
    struct record *record = &entry->record;
    size_t at = *position + sizeof *record;
    if (size - *position < sizeof *record)
        return false;
    memcpy(record, payload + *position, sizeof *record);
    entry->pitch = record->nbytes;
    if (record->more_rows && size - at < PITCH_BYTES)
        return false;
    if (record->more_rows) {
        memcpy(&entry->pitch, payload + at, sizeof entry->pitch);
        at += PITCH_BYTES;
    }
    const size_t bytes = padded((record->more_rows + (size_t)1) * record->nbytes);
    if (record->nbytes > SHMEMI_BATCHED_PUT_MAX || size - at < bytes || entry->pitch < record->nbytes ||
        __builtin_mul_overflow(entry->pitch, (size_t)record->more_rows, &entry->extent) ||
        __builtin_add_overflow(entry->extent, (size_t)record->nbytes, &entry->extent))
        return false;
    entry->bytes = payload + at;
    *position = at + bytes;
    return true;
}

static int check(const char *payload, size_t size)
{
    struct entry entry;
    struct shmemi_place place;
    size_t position = 0;
    while (next_entry(payload, size, &position, &entry)) {
        if (shmemi_owner_resolver->resolve(entry.record.region, entry.record.offset, entry.extent, &place))
            return -EINVAL;
        shmemi_owner_resolver->release();
    }
    return position == size ? 0 : -EINVAL;
}

/* How single rows reach the memory of one device: by a list, or where kernels may fill the device by copies in a row. */
struct landing {
    struct shmemi_list *list;
    struct shmemi_channel channel; /* memory is NULL: there is none */
};

static int finish_list(struct shmemi_list *list)
{
    if (!list)
        return 0;
    int rc = list->memory->lists->start(list);
    while (!rc && (rc = list->memory->lists->test(list)) == -EAGAIN) {
        rc = 0;
        shmemi_yield();
    }
    list->memory->lists->give(list);
    return rc;
}

static int finish_channel(struct shmemi_channel *channel)
{
    if (!channel->memory)
        return 0;
    int rc = channel->memory->channels->wait(channel);
    channel->memory->channels->close(channel);
    channel->memory = NULL;
    return rc;
}

/* Wait until everything has landed. */
static int finish(struct landing *landing)
{
    struct shmemi_list *list = landing->list;
    landing->list = NULL;
    int rc = finish_list(list), rc_channel = finish_channel(&landing->channel);
    return rc ? rc : rc_channel;
}

/* A single row goes into a list where the kind has lists: a copy of its own would take as long as the whole list.
 * -EAGAIN: there is no list. */
static int store_by_list(struct landing *landing, const struct shmemi_place *place, const struct entry *entry)
{
    const size_t nbytes = entry->record.nbytes;
    int rc = 0;
    if (landing->list && (landing->list->object != place->object || !shmemi_list_has_room(landing->list, nbytes)))
        rc = finish(landing);
    if (!rc && !landing->list)
        landing->list = place->memory->lists->take(place);
    if (rc || !landing->list)
        return rc ? rc : -EAGAIN;
    shmemi_list_put(landing->list, place->address, entry->bytes, nbytes);
    return 0;
}

static int store_by_channel(struct landing *landing, const struct shmemi_place *place, const struct entry *entry)
{
    struct shmemi_channel *channel = &landing->channel;
    const struct shmemi_place source = shmemi_place_host(entry->bytes);
    int rc = 0;
    if (channel->memory && channel->object != place->object)
        rc = finish_channel(channel);
    if (!rc && !channel->memory)
        rc = place->memory->channels->open(place, channel);
    if (rc)
        return rc;
    if (!entry->record.more_rows && channel->memory->channels->store)
        rc = channel->memory->channels->store(channel, place, entry->bytes, entry->record.nbytes);
    else
        rc = -ENOTSUP;
    if (rc != -ENOTSUP)
        return rc;
    return channel->memory->channels->copy(channel, place, &source,
                                           (entry->record.more_rows + (size_t)1) * entry->record.nbytes);
}

static int store_rows(const struct shmemi_place *place, const struct entry *entry)
{
    const struct shmemi_place source = shmemi_place_host(entry->bytes);
    const size_t nbytes = entry->record.nbytes;
    const struct shmemi_shape shape = {.width = nbytes,
                                       .rows = entry->record.more_rows + (size_t)1,
                                       .dest_pitch = entry->pitch,
                                       .source_pitch = nbytes};
    return shmemi_memory_copy(place, &source, &shape);
}

/* How a single row, or rows without gaps, are stored. */
enum way { BY_CPU, BY_CHANNEL, BY_LIST, BY_COPY };

static enum way way_of(const struct shmemi_place *place, bool is_single)
{
    const bool by_copies = atomic_load_explicit(&shmemi_memory_kernels_wait, memory_order_relaxed);
    if (place->memory == &shmemi_memory_host)
        return is_single ? BY_CPU : BY_COPY;
    if (by_copies && place->memory->channels && place->object)
        return BY_CHANNEL;
    return is_single && !by_copies && place->memory->lists ? BY_LIST : BY_COPY;
}

static int store_dense(struct landing *landing, const struct shmemi_place *place, const struct entry *entry)
{
    int rc = -EAGAIN;
    switch (way_of(place, !entry->record.more_rows)) {
    case BY_CPU:
        shmemi_copy_bytes((void *)place->address, entry->bytes, entry->record.nbytes);
        return 0;
    case BY_CHANNEL:
        return store_by_channel(landing, place, entry);
    case BY_LIST:
        rc = store_by_list(landing, place, entry);
        break;
    case BY_COPY:
        break;
    }
    return rc == -EAGAIN ? store_rows(place, entry) : rc;
}

/* A copy of rows with gaps takes as long as several single ones that share a wait. Two puts to any places make such rows,
 * too. */
static bool are_better_apart(const struct shmemi_place *place, const struct entry *entry)
{
    enum { ROWS_MOST = 16 };
    const enum way way = way_of(place, true);
    return entry->record.more_rows < ROWS_MOST && (way == BY_CHANNEL || way == BY_LIST);
}

static int store_apart(struct landing *landing, const struct shmemi_place *place, const struct entry *entry)
{
    struct entry row = *entry;
    struct shmemi_place there = *place;
    int rc = 0;
    row.record.more_rows = 0;
    for (size_t i = 0; i <= entry->record.more_rows && !rc; i++) {
        there.address = place->address + i * entry->pitch;
        row.bytes = entry->bytes + i * entry->record.nbytes;
        rc = store_dense(landing, &there, &row);
    }
    return rc;
}

static int store_in(struct landing *landing, const struct shmemi_place *place, const struct entry *entry)
{
    if (!entry->record.more_rows || entry->pitch == entry->record.nbytes)
        return store_dense(landing, place, entry);
    return are_better_apart(place, entry) ? store_apart(landing, place, entry) : store_rows(place, entry);
}

static int store(const struct entry *entry, struct landing *landing)
{
    struct shmemi_place place;
    int rc = shmemi_owner_resolver->resolve(entry->record.region, entry->record.offset, entry->extent, &place);
    if (rc)
        return rc;
    shmemi_access_for_peer_begin();
    rc = store_in(landing, &place, entry);
    shmemi_access_for_peer_end();
    shmemi_owner_resolver->release();
    return rc;
}

int shmemi_batch_scatter(const struct shmemi_request *request, const void *payload)
{
    struct entry entry;
    struct landing landing = {0};
    size_t position = 0;
    int rc = check(payload, request->width);
    if (rc) {
        shmemi_error("PE %u sent a batch of puts that leads outside of this PE's symmetric memory", request->origin);
        return rc;
    }
    while (!rc && next_entry(payload, request->width, &position, &entry))
        rc = store(&entry, &landing);
    int rc_landing = finish(&landing);
    return rc ? rc : rc_landing;
}
