/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What each user of kernels has: a ring, and places where its kernels write what they wait for.
 */
#include "device/ring.h"

#include "base/log.h"
#include "base/system/pages.h"
#include "instrument/watchdog.h"
#include "transport/collect/hold_back.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Atomic(struct shmemi_device_agent *) shmemi_device_agents;

static const size_t entries_bytes = SHMEMI_DEVICE_ENTRIES * sizeof(struct shmemi_device_entry);
static const size_t slots_bytes = (size_t)SHMEMI_DEVICE_ENTRIES * SHMEMI_DEVICE_SLOT_BYTES;
static const size_t small_bytes = SHMEMI_DEVICE_SMALL_MOST * sizeof(struct shmemi_device_small);
static const size_t pieces_bytes = (size_t)SHMEMI_DEVICE_ENTRIES * SHMEMI_DEVICE_SMALL_BYTES;

static size_t block_bytes(void)
{
    return entries_bytes + slots_bytes + small_bytes + pieces_bytes + sizeof(struct shmemi_device_progress);
}

/* Page-locked, and all 0. */
static int make_block(struct shmemi_device_agent *agent)
{
    void *block = shmemi_pages_allocate(block_bytes());
    if (!block) {
        shmemi_error("no memory for %zu bytes, through which kernels reach other PEs", block_bytes());
        return -ENOMEM;
    }
    int rc = agent->user.memory ? agent->user.memory->pinning->pin(block, block_bytes()) : 0;
    if (rc) {
        free(block);
        return rc;
    }
    agent->block = block;
    agent->entries = block;
    agent->slots = (char *)block + entries_bytes;
    agent->small = (struct shmemi_device_small *)(void *)(agent->slots + slots_bytes);
    agent->bytes = (char *)agent->small + small_bytes;
    agent->progress = (struct shmemi_device_progress *)(void *)(agent->bytes + pieces_bytes);
    return 0;
}

static void free_block(struct shmemi_device_agent *agent)
{
    shmemi_collect_close(&agent->context);
    if (agent->user.memory && agent->block)
        agent->user.memory->pinning->unpin(agent->block, block_bytes());
    free(agent->block);
    agent->block = NULL;
}

/* Tell kernels where the entries are: no view lets them use the ring yet. */
static int write_ring(const struct shmemi_device_agent *agent)
{
    const struct shmemi_device_ring ring = {
        .entries = agent->entries,
        .slots = agent->slots,
        .freed.at = &agent->progress->freed,
        .done.at = &agent->progress->done,
        .n_entries = SHMEMI_DEVICE_ENTRIES,
        .slot_bytes = SHMEMI_DEVICE_SLOT_BYTES,
    };
    return shmemi_device_write(&agent->user, agent->for_kernels, &ring, sizeof ring);
}

static int begin_serving(struct shmemi_device_agent *agent)
{
    int rc = make_block(agent);
    rc = rc ? rc : write_ring(agent);
    rc = rc ? rc : shmemi_collect_session_begin(&agent->context, SIZE_MAX);
    rc = rc ? rc : shmemi_device_agent_serve(agent);
    if (rc)
        free_block(agent);
    return rc;
}

static struct shmemi_device_agent *find_agent(const struct shmemi_place *user)
{
    struct shmemi_device_agent *agent = atomic_load(&shmemi_device_agents);
    while (agent && (agent->user.memory != user->memory || agent->user.object != user->object))
        agent = agent->next;
    return agent;
}

static int add_agent(const struct shmemi_place *user, struct shmemi_device_agent **agent_p)
{
    const struct shmemi_device_ring idle = {0};
    void *copy = NULL;
    int rc = shmemi_device_copy_of(user, &idle, sizeof idle, &copy);
    if (rc)
        return rc;
    struct shmemi_device_agent *agent = aligned_alloc(SHMEMI_CACHE_LINE, (sizeof *agent + SHMEMI_CACHE_LINE - 1) /
                                                                             SHMEMI_CACHE_LINE * SHMEMI_CACHE_LINE);
    if (!agent) {
        shmemi_device_free(user, copy);
        return shmemi_device_out_of_memory();
    }
    memset(agent, 0, sizeof *agent);
    agent->user = *user;
    agent->for_kernels = copy;
    agent->context.by_engines = true;
    agent->context.may_gather = true;
    rc = shmemi_device_waits_open(agent);
    if (rc) {
        shmemi_device_free(user, copy);
        free(agent);
        return rc;
    }
    agent->next = atomic_load(&shmemi_device_agents);
    atomic_store(&shmemi_device_agents, agent);
    *agent_p = agent;
    return 0;
}

int shmemi_device_ring(const struct shmemi_place *user, bool is_served, const struct shmemi_device_agent **agent_p)
{
    struct shmemi_device_agent *agent = find_agent(user);
    int rc = agent ? 0 : add_agent(user, &agent);
    if (!rc && is_served && !agent->block)
        rc = begin_serving(agent);
    *agent_p = agent;
    return rc;
}

void shmemi_device_rings_close(void)
{
    shmemi_device_agents_stop();
    shmemi_watchdog_stop(); /* no kernel waits any more */
    struct shmemi_device_agent *agent = atomic_exchange(&shmemi_device_agents, NULL);
    while (agent) {
        struct shmemi_device_agent *next = agent->next;
        free_block(agent);
        shmemi_device_waits_close(agent);
        shmemi_device_free(&agent->user, agent->for_kernels);
        free(agent);
        agent = next;
    }
}
