/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The outbox is a ring: room is taken at its end, and is free again when all room taken before has been given back as
 * well. A header precedes each room.
 */
#include "transport/stream/outbox.h"

#include "base/system/cache_line.h"
#include "base/log.h"

#include <pthread.h>
#include <stdlib.h>

enum { RING_BYTES = 16 << 20, RING_ALIGNMENT = 1 << 21, UNIT = SHMEMI_CACHE_LINE };

struct header {
    _Alignas(UNIT) size_t length; /* of header and room */
    bool is_free;
};

static struct {
    pthread_mutex_t lock;
    char *ring;
    const struct shmemi_memory *memory; /* for which it is page-locked */
    uint64_t begin, end;                /* of what is in use: they grow until nothing is */
} outbox = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct header *header_at(uint64_t position)
{
    return (struct header *)(outbox.ring + position % RING_BYTES);
}

/* The ring serves one kind of memory. */
static bool open_ring(const struct shmemi_memory *memory, bool may_wait)
{
    if (outbox.ring || !memory->pinning || (!may_wait && !memory->pinning->is_independent))
        return outbox.memory == memory;
    outbox.ring = aligned_alloc(RING_ALIGNMENT, RING_BYTES);
    if (!outbox.ring)
        return false;
    outbox.memory = memory;
    memory->pinning->pin(outbox.ring, RING_BYTES);
    return true;
}

static struct header *append(size_t length, bool is_free)
{
    struct header *header = header_at(outbox.end);
    *header = (struct header){.length = length, .is_free = is_free};
    outbox.end += length;
    return header;
}

/* Room does not go round the end of the ring: what is left there is skipped. */
static void *take(size_t length)
{
    size_t left = RING_BYTES - outbox.end % RING_BYTES, skipped = left < length ? left : 0;
    if (outbox.end - outbox.begin + skipped + length > RING_BYTES)
        return NULL;
    if (skipped)
        append(skipped, true);
    return append(length, false) + 1;
}

void shmemi_outbox_prepare(const struct shmemi_memory *memory)
{
    if (!memory->pinning || memory->pinning->is_independent)
        return;
    pthread_mutex_lock(&outbox.lock);
    open_ring(memory, true);
    pthread_mutex_unlock(&outbox.lock);
}

void *shmemi_outbox_take(const struct shmemi_memory *memory, size_t nbytes)
{
    size_t length = sizeof(struct header) + (nbytes + UNIT - 1) / UNIT * UNIT;
    pthread_mutex_lock(&outbox.lock);
    void *room = open_ring(memory, false) ? take(length) : NULL;
    pthread_mutex_unlock(&outbox.lock);
    return room;
}

void shmemi_outbox_give(void *room)
{
    pthread_mutex_lock(&outbox.lock);
    ((struct header *)room - 1)->is_free = true;
    while (outbox.begin < outbox.end && header_at(outbox.begin)->is_free)
        outbox.begin += header_at(outbox.begin)->length;
    if (outbox.begin == outbox.end)
        outbox.begin = outbox.end = 0; /* so that few pages are touched where little is under way */
    pthread_mutex_unlock(&outbox.lock);
}

void shmemi_outbox_close(void)
{
    if (outbox.ring)
        outbox.memory->pinning->unpin(outbox.ring, RING_BYTES);
    free(outbox.ring);
    outbox.ring = NULL;
    outbox.memory = NULL;
    outbox.begin = outbox.end = 0;
}
