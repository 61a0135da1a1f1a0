/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waits of kernels. A kernel that has waited for a second writes what it waits for into page-locked memory
 * (shmem/mapshmem/device_wait.h), and again all the time until the wait has ended. The watchdog's thread reports it: the
 * program's own threads may be in CUDA, where the library does not see them.
 */
#define _GNU_SOURCE
#include "device/ring.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/system/pages.h"
#include "base/tuning.h"
#include "instrument/watch.h"
#include "instrument/watchdog.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct shmemi_device_wait) == 64, "kernels have places of 64 bytes");

static const size_t places_bytes = SHMEMI_DEVICE_WAITS * sizeof(struct shmemi_device_wait);

static const char *const comparisons[] = {"==", "!=", ">", ">=", "<", "<="}; /* from SHMEM_CMP_EQ = 1 on */

/* The word as a signed number, for the report: a small negative one is more likely than a very large one. */
static int64_t number(uint64_t value, unsigned size)
{
    if (size == 2)
        return (int16_t)value;
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
static void look_at(struct shmemi_device_agent *agent, int i)
{
    char text[256];
    const uint64_t since = __atomic_load_n(&agent->waits[i].since, __ATOMIC_ACQUIRE);
    const uint64_t now = __atomic_load_n(&agent->waits[i].now, __ATOMIC_RELAXED);
    if (since != agent->told[i].since)
        agent->told[i].spoken = 0;
    agent->told[i].since = since;
    if (!since || now < since || !shmemi_watch_is_due(now - since, &agent->told[i].spoken))
        return;
    describe_kernel_wait(&agent->waits[i], text, sizeof text);
    shmemi_watch_speak(now - since, "a kernel", text);
}

/* By the watchdog's thread. */
static bool look(uint64_t now)
{
    (void)now; /* kernels write how long they have waited */
    for (struct shmemi_device_agent *agent = atomic_load(&shmemi_device_agents); agent; agent = agent->next)
        for (int i = 0; i < SHMEMI_DEVICE_WAITS; i++)
            look_at(agent, i);
    return true;
}

int shmemi_device_waits_open(struct shmemi_device_agent *agent)
{
    if (!shmemi_watches_streams)
        return 0;
    struct shmemi_device_wait *waits = shmemi_pages_allocate(places_bytes);
    if (!waits)
        return shmemi_device_out_of_memory();
    int rc = agent->user.memory ? agent->user.memory->pinning->pin(waits, places_bytes) : 0;
    if (rc) {
        free(waits);
        return rc;
    }
    agent->waits = waits;
    shmemi_watchdog_call(look, "kernels");
    return 0;
}

void shmemi_device_waits_close(struct shmemi_device_agent *agent)
{
    if (agent->user.memory && agent->waits)
        agent->user.memory->pinning->unpin(agent->waits, places_bytes);
    free(agent->waits);
}
