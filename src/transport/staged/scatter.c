/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The owner's end of batches of small puts: takes one apart and stores its rows.
 */
#include "transport/staged/scatter.h"

#include "base/copy_bytes.h"
#include "base/log.h"
#include "base/sanitizer.h"
#include "base/thread/cores.h"
#include "base/tuning.h"
#include "gpu/list.h"
#include "transport/staged/owner.h"

#include <errno.h>
#include <string.h>

/* A record as it lies in a payload. */
struct batch_entry {
    struct shmemi_scatter_record record;
    uint64_t pitch;
    size_t extent; /* from the first byte to the last */
    const char *bytes;
};

/* The next record of a payload. False at its end, and at a record that is cut off or makes no sense. */
static bool next_entry(const char *payload, size_t size, size_t *position, struct batch_entry *entry)
{
    struct shmemi_scatter_record *record = &entry->record;
    size_t at = *position + sizeof *record;
    if (size - *position < sizeof *record)
        return false;
    memcpy(record, payload + *position, sizeof *record);
    entry->pitch = record->nbytes;
    if (record->more_rows && size - at < SHMEMI_SCATTER_PITCH_BYTES)
        return false;
    if (record->more_rows) {
        memcpy(&entry->pitch, payload + at, sizeof entry->pitch);
        at += SHMEMI_SCATTER_PITCH_BYTES;
    }
    const size_t bytes = shmemi_scatter_padded((record->more_rows + (size_t)1) * record->nbytes);
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
    struct batch_entry entry;
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
static int store_by_list(struct landing *landing, const struct shmemi_place *place, const struct batch_entry *entry)
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

static int store_by_channel(struct landing *landing, const struct shmemi_place *place, const struct batch_entry *entry)
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

static int store_rows(const struct shmemi_place *place, const struct batch_entry *entry)
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
enum scatter_way { BY_CPU, BY_CHANNEL, BY_LIST, BY_COPY };

static enum scatter_way way_of(const struct shmemi_place *place, bool is_single)
{
    const bool by_copies = atomic_load_explicit(&shmemi_memory_kernels_wait, memory_order_relaxed);
    if (place->memory == &shmemi_memory_host)
        return is_single ? BY_CPU : BY_COPY;
    if (by_copies && place->memory->channels && place->object)
        return BY_CHANNEL;
    return is_single && !by_copies && place->memory->lists ? BY_LIST : BY_COPY;
}

static int store_dense(struct landing *landing, const struct shmemi_place *place, const struct batch_entry *entry)
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
static bool are_better_apart(const struct shmemi_place *place, const struct batch_entry *entry)
{
    const enum scatter_way way = way_of(place, true);
    return entry->record.more_rows < SHMEMI_SCATTER_ROWS_APART && (way == BY_CHANNEL || way == BY_LIST);
}

static int store_apart(struct landing *landing, const struct shmemi_place *place, const struct batch_entry *entry)
{
    struct batch_entry row = *entry;
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

static int store_in(struct landing *landing, const struct shmemi_place *place, const struct batch_entry *entry)
{
    if (!entry->record.more_rows || entry->pitch == entry->record.nbytes)
        return store_dense(landing, place, entry);
    return are_better_apart(place, entry) ? store_apart(landing, place, entry) : store_rows(place, entry);
}

static int store(const struct batch_entry *entry, struct landing *landing)
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

int shmemi_scatter(const struct shmemi_request *request, const void *payload)
{
    struct batch_entry entry;
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
