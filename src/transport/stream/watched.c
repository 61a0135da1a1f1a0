/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operations that are watched.
 */
#include "transport/stream/watched.h"

#include "bootstrap/job.h"
#include "instrument/watch.h"
#include "instrument/watchdog.h"
#include "transport/drivers/exchange.h"
#include "transport/stream/agent.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* In this PE's heap, for each place: the number of the last operation there to which the stream has come, and of the last
 * one after which it has gone on. */
struct watched_marks {
    uint64_t come, over;
};

static_assert(SHMEMI_WATCHED_OFFSET + SHMEMI_WATCHED_MOST * sizeof(struct watched_marks) <= SHMEMI_EXCHANGE_BYTES,
              "the words must fit");

struct watched_entry {
    union {
        struct shmemi_watched watched;
        _Alignas(8) unsigned char bytes[SHMEMI_WATCHED_BYTES];
    };
    uint64_t number;          /* 0: the place is free */
    bool is_enqueued;         /* before that, the enqueueing thread has it */
    bool is_marked, by_agent; /* who writes the words: the stream, the agent */
    bool has_come;
    uint64_t since, spoken; /* the time at which it was enqueued, or seen to be reached by the stream */
};

static struct {
    pthread_mutex_t lock;
    unsigned n, next; /* places that are taken; where the search for a free one begins */
    uint64_t number;
    struct watched_entry entry[SHMEMI_WATCHED_MOST];
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t offset_of(const struct watched_entry *entry)
{
    return SHMEMI_WATCHED_OFFSET + (size_t)(entry - all.entry) * sizeof(struct watched_marks);
}

static struct watched_marks *words_of(const struct watched_entry *entry)
{
    char *heap = shmemi_view_host(shmemi_exchange_view(shmemi_job.pe));
    return (struct watched_marks *)(heap + offset_of(entry));
}

/* Numbers only grow, also when another operation has the place. */
static bool has_gone_on(const struct watched_entry *place, uint64_t number)
{
    return __atomic_load_n(&words_of(place)->over, __ATOMIC_ACQUIRE) >= number;
}

static bool is_over(const struct watched_entry *entry)
{
    return has_gone_on(entry, entry->number);
}

static bool has_come(const struct watched_entry *entry)
{
    return __atomic_load_n(&words_of(entry)->come, __ATOMIC_ACQUIRE) == entry->number;
}

/* With the lock held. */
static void free_entry(struct watched_entry *entry)
{
    entry->number = 0;
    all.n--;
}

/* ---- The watchdog's look -------------------------------------------------------------------------------------------------- */

/* Describing it may take a while: it may be over meanwhile. */
static void report(const struct watched_entry *place, const struct watched_entry *entry, uint64_t waited)
{
    char text[512] = "";
    if (!entry->watched.describe(&entry->watched, entry->has_come, text, sizeof text))
        return;
    if (!has_gone_on(place, entry->number))
        shmemi_watch_speak(waited, entry->watched.routine, text);
}

/* With the lock held, which it lets go while it reports. */
static void look_at(struct watched_entry *entry, uint64_t now)
{
    if (!entry->number || !entry->is_enqueued)
        return;
    if (is_over(entry)) {
        free_entry(entry);
        return;
    }
    if (!entry->has_come && has_come(entry)) {
        entry->has_come = true;
        entry->since = now;
        entry->spoken = 0;
    }
    const uint64_t waited = now - entry->since;
    if (now < entry->since || !shmemi_watch_is_due(waited, &entry->spoken)) /* enqueued since this look began */
        return;
    const struct watched_entry copy = *entry;
    pthread_mutex_unlock(&all.lock);
    report(entry, &copy, waited);
    pthread_mutex_lock(&all.lock);
}

static bool look(uint64_t now)
{
    pthread_mutex_lock(&all.lock);
    for (int i = 0; i < SHMEMI_WATCHED_MOST; i++)
        look_at(&all.entry[i], now);
    const bool is_left = all.n;
    pthread_mutex_unlock(&all.lock);
    return is_left;
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

/* The watchdog frees places when it looks; others may be free as well. With the lock held. */
static struct watched_entry *find_place(void)
{
    for (unsigned i = 0; i < SHMEMI_WATCHED_MOST; i++) {
        struct watched_entry *entry = &all.entry[(all.next + i) % SHMEMI_WATCHED_MOST];
        if (entry->number && entry->is_enqueued && is_over(entry))
            free_entry(entry);
        if (entry->number)
            continue;
        all.next = (all.next + i + 1) % SHMEMI_WATCHED_MOST;
        return entry;
    }
    return NULL;
}

/* NULL: it is not watched. */
static struct watched_entry *add(const struct shmemi_watched *watched, size_t size)
{
    pthread_mutex_lock(&all.lock);
    struct watched_entry *entry = find_place();
    if (entry) {
        *entry = (struct watched_entry){.number = ++all.number, .since = shmemi_clock()};
        memcpy(entry->bytes, watched, size);
        if (!all.n++ && !shmemi_watchdog_call(look, "streams")) {
            free_entry(entry);
            entry = NULL;
        }
    }
    pthread_mutex_unlock(&all.lock);
    return entry;
}

/* Let the stream write a word; false if it cannot. */
static bool mark(const struct shmemi_stream *stream, const struct watched_entry *entry, size_t word)
{
    const struct shmemi_stream_signal set = {
        .view = shmemi_exchange_view(shmemi_job.pe),
        .offset = offset_of(entry) + word,
        .value = entry->number,
        .step = SHMEMI_STEP_SET,
    };
    return !shmemi_stream_steps(stream, &set, 1);
}

void shmemi_watched_begin(struct shmemi_stream *stream, const struct shmemi_watched *watched, size_t size)
{
    if (!shmemi_watches_streams)
        return;
    struct watched_entry *entry = shmemi_stream_is_recording(stream) ? NULL : add(watched, size);
    stream->watched = entry;
    if (entry)
        entry->is_marked = mark(stream, entry, offsetof(struct watched_marks, come));
}

void shmemi_watched_end(struct shmemi_stream *stream, int rc)
{
    struct watched_entry *entry = stream->watched;
    if (!entry)
        return;
    stream->watched = NULL;
    const bool ends =
        !rc && (entry->by_agent || (entry->is_marked && mark(stream, entry, offsetof(struct watched_marks, over))));
    pthread_mutex_lock(&all.lock);
    if (ends)
        entry->is_enqueued = true;
    else
        free_entry(entry);
    pthread_mutex_unlock(&all.lock);
}

void shmemi_watched_by_agent(void *watched)
{
    struct watched_entry *entry = watched;
    entry->by_agent = true;
}

void shmemi_watched_has_come(void *watched)
{
    struct watched_entry *entry = watched;
    __atomic_store_n(&words_of(entry)->come, entry->number, __ATOMIC_RELEASE);
}

void shmemi_watched_is_over(void *watched)
{
    struct watched_entry *entry = watched;
    __atomic_store_n(&words_of(entry)->over, entry->number, __ATOMIC_RELEASE);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

void shmemi_watched_close(void)
{
    shmemi_watchdog_stop();
    memset(all.entry, 0, sizeof all.entry);
    all.n = all.next = 0;
}
