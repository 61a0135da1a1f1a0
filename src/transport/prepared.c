/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ranges lie in an array by address. No two overlap, so the only one that can hold an address is the last that
 * begins at or before it.
 */
#include "transport/prepared.h"

#include "base/log.h"
#include "gpu/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct range {
    char *start;
    size_t size;
    unsigned count; /* releases still to come */
    bool is_ready;  /* the library had prepared it already: nothing was registered for it */
    void *handle;   /* the network's, or NULL */
};

atomic_size_t shmemi_prepared_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *ranges;
static size_t n_ranges, room;

static const struct shmemi_registrar *network; /* NULL: none */

void shmemi_prepared_open(const struct shmemi_registrar *registrar)
{
    network = registrar;
}

/* Number of ranges that begin at or before an address. */
static size_t position(const void *address)
{
    size_t low = 0, high = n_ranges;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((uintptr_t)ranges[middle].start <= (uintptr_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A range that shares a byte with the given ones; NULL if there is none. */
static struct range *overlapping(const char *start, size_t size)
{
    size_t next = position(start);
    if (next > 0 && (uintptr_t)start - (uintptr_t)ranges[next - 1].start < ranges[next - 1].size)
        return &ranges[next - 1];
    if (next < n_ranges && (uintptr_t)ranges[next].start - (uintptr_t)start < size)
        return &ranges[next];
    return NULL;
}

static int make_room(void)
{
    if (n_ranges < room)
        return 0;
    size_t more = room ? 2 * room : 16;
    struct range *larger = realloc(ranges, more * sizeof *ranges);
    if (!larger) {
        shmemi_error("shmemx_prepare: out of memory for the list of prepared memory");
        return -ENOMEM;
    }
    ranges = larger;
    room = more;
    return 0;
}

static void insert(const struct range *range)
{
    size_t at = position(range->start);
    memmove(&ranges[at + 1], &ranges[at], (n_ranges - at) * sizeof *ranges);
    ranges[at] = *range;
    atomic_store(&shmemi_prepared_count, ++n_ranges);
}

static void remove_range(struct range *range)
{
    struct range old = *range;
    memmove(range, range + 1, (size_t)(&ranges[n_ranges] - range - 1) * sizeof *ranges);
    atomic_store(&shmemi_prepared_count, --n_ranges);
    if (old.is_ready)
        return;
    if (old.handle)
        network->unregister_memory(old.handle);
    shmemi_memory_unpin(old.start, old.size);
}

static int count_again(struct range *range, const char *start, size_t size)
{
    if (range->start == start && range->size == size) {
        range->count++;
        return 0;
    }
    shmemi_error("shmemx_prepare: %p + %zu bytes overlaps %p + %zu bytes, which is prepared: release that first, or "
                 "prepare exactly the same range",
                 (const void *)start, size, (void *)range->start, range->size);
    return -EEXIST;
}

static int add(char *start, size_t size, bool is_ready)
{
    struct range range = {.start = start, .size = size, .count = 1, .is_ready = is_ready};
    int rc = make_room();
    if (rc)
        return rc;
    if (!is_ready) {
        shmemi_memory_pin(start, size);
        range.handle = network ? network->register_memory(start, size) : NULL;
    }
    insert(&range);
    return 0;
}

int shmemi_prepare(void *address, size_t size, bool is_ready)
{
    pthread_mutex_lock(&lock);
    struct range *range = overlapping(address, size);
    int rc = range ? count_again(range, address, size) : add(address, size, is_ready);
    pthread_mutex_unlock(&lock);
    return rc;
}

int shmemi_release(void *address)
{
    pthread_mutex_lock(&lock);
    size_t next = position(address);
    struct range *range = next && ranges[next - 1].start == address ? &ranges[next - 1] : NULL;
    if (range && --range->count == 0)
        remove_range(range);
    pthread_mutex_unlock(&lock);
    if (range)
        return 0;
    shmemi_error("shmemx_release: no prepared memory begins at %p", address);
    return -EINVAL;
}

void shmemi_prepared_pin(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_ranges; i++)
        if (!ranges[i].is_ready)
            shmemi_memory_pin(ranges[i].start, ranges[i].size);
    pthread_mutex_unlock(&lock);
}

void shmemi_prepared_close(void)
{
    pthread_mutex_lock(&lock);
    if (n_ranges)
        shmemi_debug("%zu ranges of prepared memory have not been released", n_ranges);
    while (n_ranges)
        remove_range(&ranges[n_ranges - 1]);
    free(ranges);
    ranges = NULL;
    room = 0;
    pthread_mutex_unlock(&lock);
}

/* The range that holds all of these bytes, or NULL. With the lock held. */
static const struct range *range_around(const void *address, size_t nbytes)
{
    size_t next = position(address);
    const struct range *range = next ? &ranges[next - 1] : NULL;
    size_t offset = range ? (uintptr_t)address - (uintptr_t)range->start : 0;
    return range && offset <= range->size && nbytes <= range->size - offset ? range : NULL;
}

void *shmemi_prepared_find(const void *address, size_t nbytes)
{
    pthread_mutex_lock(&lock);
    const struct range *range = range_around(address, nbytes);
    void *handle = range ? range->handle : NULL;
    pthread_mutex_unlock(&lock);
    return handle;
}

struct shmemi_prepared_state shmemi_prepared_state(const void *address, size_t size)
{
    struct shmemi_prepared_state state = {.is_locked = shmemi_memory_is_pinned(address, size)};
    pthread_mutex_lock(&lock);
    const struct range *range = range_around(address, size);
    state.is_prepared = range != NULL;
    state.is_registered = range && (range->is_ready ? network != NULL : range->handle != NULL);
    pthread_mutex_unlock(&lock);
    return state;
}
