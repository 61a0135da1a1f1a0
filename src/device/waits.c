/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waits of kernels. A kernel that has waited for a second writes what it waits for into page-locked memory
 * (shmem/mapshmem/device_wait.h), and again all the time until the wait has ended. The watchdog's thread reports it: the
 * program's own threads may be in CUDA, where the library does not see them.
 */
#define _GNU_SOURCE
#include "device/device.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/tuning.h"
#include "instrument/watch.h"
#include "instrument/watchdog.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct shmemi_device_wait) == 64, "each block writes a cache line of its own");

enum { PAGE = 4096, PLACES = SHMEMI_DEVICE_WAITS };
static const size_t places_bytes = PLACES * sizeof(struct shmemi_device_wait);

/* The places of a user, and what has been said about them. */
struct watched {
    struct shmemi_place user;
    struct shmemi_device_wait *places;
    struct {
        uint64_t since, spoken;
    } told[PLACES];
    struct watched *next;
};
static _Atomic(struct watched *) all; /* newest first; none is removed before the end */

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

static const char *const comparisons[] = {"==", "!=", ">", ">=", "<", "<="}; /* from SHMEM_CMP_EQ = 1 on */

/* The word as a signed number, for the report: a small negative one is more likely than a very large one. */
static int64_t number(uint64_t value, unsigned size)
{
    return size == 4 ? (int32_t)value : (int64_t)value;
}

static void describe_kernel_wait(const struct shmemi_device_wait *wait, char *text, size_t size)
{
    const unsigned cmp = (unsigned)wait->cmp - 1;
    text[0] = '\0';
    if (wait->region == SHMEMI_REGION_HEAP)
        shmemi_append(text, size, "block %u, at offset %llu of the heap, ", wait->block, wait->offset);
    else
        shmemi_append(text, size, "block %u, at offset %llu of object %u, ", wait->block, wait->offset, wait->region);
    if (wait->n_words > 1)
        shmemi_append(text, size, "for one of %u words of %u bytes, the first is %" PRId64, wait->n_words, wait->size,
                      number(wait->seen, wait->size));
    else
        shmemi_append(text, size, "for a word of %u bytes, which is %" PRId64, wait->size,
                      number(wait->seen, wait->size));
    shmemi_append(text, size, ", to be %s %" PRId64, cmp < 6 ? comparisons[cmp] : "?", number(wait->value, wait->size));
    if (wait->from >= 0)
        shmemi_append(text, size, "; PE %d writes it", wait->from);
}

/* Blocks that share a place may write it at the same time: what is said then is of both. */
static void look_at(struct watched *watched, int i)
{
    char text[256];
    const uint64_t since = __atomic_load_n(&watched->places[i].since, __ATOMIC_ACQUIRE);
    const uint64_t now = __atomic_load_n(&watched->places[i].now, __ATOMIC_RELAXED);
    if (since != watched->told[i].since)
        watched->told[i].spoken = 0;
    watched->told[i].since = since;
    if (!since || now < since || !shmemi_watch_is_due(now - since, &watched->told[i].spoken))
        return;
    describe_kernel_wait(&watched->places[i], text, sizeof text);
    shmemi_watch_speak(now - since, "a kernel", text);
}

/* By the watchdog's thread. */
static bool look(uint64_t now)
{
    (void)now; /* kernels write how long they have waited */
    for (struct watched *watched = atomic_load(&all); watched; watched = watched->next)
        for (int i = 0; i < PLACES; i++)
            look_at(watched, i);
    return true;
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static void free_watched(struct watched *watched)
{
    if (watched->user.memory && watched->places)
        watched->user.memory->pinning->unpin(watched->places, places_bytes);
    free(watched->places);
    free(watched);
}

static struct watched *find(const struct shmemi_place *user)
{
    struct watched *watched = atomic_load(&all);
    while (watched && (watched->user.memory != user->memory || watched->user.object != user->object))
        watched = watched->next;
    return watched;
}

static int add(const struct shmemi_place *user, struct watched **watched_p)
{
    struct watched *watched = calloc(1, sizeof *watched);
    if (!watched || !(watched->places = aligned_alloc(PAGE, places_bytes))) {
        free(watched);
        return shmemi_device_out_of_memory();
    }
    memset(watched->places, 0, places_bytes);
    watched->next = atomic_load(&all);
    int rc = user->memory ? user->memory->pinning->pin(watched->places, places_bytes) : 0;
    if (rc) {
        free_watched(watched);
        return rc;
    }
    watched->user = *user; /* from now on it is page-locked */
    *watched_p = watched;
    atomic_store(&all, watched);
    shmemi_watchdog_call(look);
    return 0;
}

int shmemi_device_waits(const struct shmemi_place *user, struct shmemi_device_wait **waits_p)
{
    struct watched *watched = find(user);
    *waits_p = NULL;
    if (!shmemi_watches_streams)
        return 0;
    int rc = watched ? 0 : add(user, &watched);
    if (!rc)
        *waits_p = watched->places;
    return rc;
}

void shmemi_device_waits_close(void)
{
    shmemi_watchdog_stop();
    struct watched *watched = atomic_exchange(&all, NULL);
    while (watched) {
        struct watched *next = watched->next;
        free_watched(watched);
        watched = next;
    }
}
