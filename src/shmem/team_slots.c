/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots: the workspaces that teams reserve and free, and the highest operation number used in each.
 */
#include "shmem/team.h"

#include <string.h>

enum { BITMAP_WORDS = SHMEMI_TEAMS_MAX / 64 };

static struct {
    pthread_mutex_t lock; /* threads may work on different teams */
    uint64_t free[BITMAP_WORDS];
    uint64_t number[SHMEMI_TEAMS_MAX]; /* highest operation number used in each slot */
} slots = {.lock = PTHREAD_MUTEX_INITIALIZER};

static_assert(BITMAP_WORDS + 1 <= SHMEMI_AGREE_WORDS_MAX, "the bitmap and the result must fit into one agreement");

void shmemi_team_slots_open(void)
{
    memset(slots.number, 0, sizeof slots.number);
    memset(slots.free, 0xff, sizeof slots.free);
}

void shmemi_team_release_slot(unsigned slot)
{
    pthread_mutex_lock(&slots.lock);
    slots.free[slot / 64] |= (uint64_t)1 << slot % 64;
    pthread_mutex_unlock(&slots.lock);
}

/* Candidates among the slots that are free on all members. The search begins at a different slot for each parent and
 * attempt, so that threads that split different teams at the same time seldom choose the same slot. */
static unsigned choose_slots(const struct shmemi_team *parent, const uint64_t *bitmap, unsigned attempt, unsigned n,
                             unsigned *chosen)
{
    unsigned found = 0;
    for (unsigned i = 0; i < SHMEMI_TEAMS_MAX && found < n; i++) {
        unsigned slot = (parent->slot * 37 + attempt * 5 + i) % SHMEMI_TEAMS_MAX;
        if (bitmap[slot / 64] >> slot % 64 & 1)
            chosen[found++] = slot;
    }
    return found;
}

/* Take all the slots on this PE, or none if another thread has taken one. */
static bool take_slots(unsigned n, const unsigned *chosen)
{
    unsigned taken = 0;
    while (taken < n && shmemi_team_reserve_slot(chosen[taken]))
        taken++;
    for (unsigned i = 0; taken < n && i < taken; i++)
        shmemi_team_release_slot(chosen[i]);
    return taken == n;
}

/* One attempt: 0; -EAGAIN if a slot has been taken meanwhile on some member; -ENOSPC if there are too few. */
static int try_to_reserve(struct shmemi_team *parent, unsigned attempt, unsigned n, unsigned *chosen)
{
    uint64_t bitmap[BITMAP_WORDS];
    pthread_mutex_lock(&slots.lock);
    memcpy(bitmap, slots.free, sizeof bitmap);
    pthread_mutex_unlock(&slots.lock);
    int rc = shmemi_collective_agree(parent, SHMEMI_AGREE_AND, bitmap, BITMAP_WORDS);
    if (rc)
        return rc;
    if (choose_slots(parent, bitmap, attempt, n, chosen) < n)
        return -ENOSPC;
    bool taken_here = take_slots(n, chosen);
    uint64_t taken = taken_here;
    rc = shmemi_collective_agree(parent, SHMEMI_AGREE_AND, &taken, 1);
    if (!rc && taken)
        return 0;
    for (unsigned i = 0; taken_here && i < n; i++)
        shmemi_team_release_slot(chosen[i]);
    return rc ? rc : -EAGAIN;
}

int shmemi_team_reserve_slots(struct shmemi_team *parent, unsigned n, unsigned *chosen)
{
    int rc = -EAGAIN;
    for (unsigned attempt = 0; rc == -EAGAIN; attempt++)
        rc = try_to_reserve(parent, attempt, n, chosen);
    if (rc == -ENOSPC && parent->my_pe == 0)
        shmemi_warn("no more teams: a PE can be a member of %d at a time", SHMEMI_TEAMS_MAX);
    return rc;
}

void shmemi_team_free_slots(uint64_t *bitmap, uint64_t *number_p)
{
    pthread_mutex_lock(&slots.lock);
    memcpy(bitmap, slots.free, sizeof slots.free);
    *number_p = 0;
    for (int slot = 0; slot < SHMEMI_TEAMS_MAX; slot++)
        if (slots.number[slot] > *number_p)
            *number_p = slots.number[slot];
    pthread_mutex_unlock(&slots.lock);
}

bool shmemi_team_reserve_slot(unsigned slot)
{
    uint64_t bit = (uint64_t)1 << slot % 64;
    pthread_mutex_lock(&slots.lock);
    bool was_free = slots.free[slot / 64] & bit;
    slots.free[slot / 64] &= ~bit;
    pthread_mutex_unlock(&slots.lock);
    return was_free;
}

uint64_t shmemi_team_slot_number(unsigned slot)
{
    pthread_mutex_lock(&slots.lock);
    uint64_t number = slots.number[slot];
    pthread_mutex_unlock(&slots.lock);
    return number;
}

void shmemi_team_slot_raise_number(unsigned slot, uint64_t number)
{
    pthread_mutex_lock(&slots.lock);
    if (number > slots.number[slot])
        slots.number[slot] = number;
    pthread_mutex_unlock(&slots.lock);
}
