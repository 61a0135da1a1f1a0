/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Barriers, collectives and locks: what the members of a team, and the holders of a lock, tell each other.
 */
#include "race/clocks.h"

#include <sched.h>
#include <string.h>

/* The meeting with that number, or a new one; NULL when all are in use. */
static struct race_meeting *find_meeting(uint64_t team, uint64_t number, bool makes)
{
    struct race_meeting *unused = NULL;
    for (int i = 0; i < RACE_MEETINGS; i++) {
        struct race_meeting *meeting = &race_area->meeting[i];
        if (meeting->readers && meeting->team == team && meeting->number == number)
            return meeting;
        if (!meeting->readers && !unused)
            unused = meeting;
        if (!meeting->team && unused)
            break; /* none further on has ever been used */
    }
    if (!makes || !unused)
        return NULL;
    unused->team = team;
    unused->number = number;
    return unused;
}

void race_enter(struct race_thread *thread, uint64_t team, uint64_t number, unsigned readers)
{
    struct race_meeting *meeting;
    if (!readers)
        return;
    while (race_lock_take(&race_area->meetings_lock), !(meeting = find_meeting(team, number, true))) {
        race_lock_give(&race_area->meetings_lock);
        sched_yield(); /* this PE is far ahead of others, who do not depend on what it does later */
    }
    if (!meeting->readers)
        memset(meeting->time, 0, atomic_load(&race_area->n_components) * sizeof meeting->time[0]);
    meeting->readers = meeting->readers ? meeting->readers : readers;
    race_publish_to(thread, meeting->time);
    race_lock_give(&race_area->meetings_lock);
}

void race_leave(struct race_thread *thread, uint64_t team, uint64_t number)
{
    race_lock_take(&race_area->meetings_lock);
    struct race_meeting *meeting = find_meeting(team, number, false);
    if (meeting) {
        race_learn_times(thread, meeting->time);
        meeting->readers--;
    }
    race_lock_give(&race_area->meetings_lock);
}

static struct race_lock_object *find_lock(uint64_t place)
{
    for (int i = 0; i < RACE_LOCKS; i++) {
        struct race_lock_object *lock = &race_area->lock[i];
        if (lock->place == place || !lock->place) {
            lock->place = place;
            return lock;
        }
    }
    race_fatal("more than %d locks for --race", RACE_LOCKS);
}

void race_lock_release(struct race_thread *thread, uint64_t place)
{
    race_lock_take(&race_area->locks_lock);
    race_publish_to(thread, find_lock(place)->time);
    race_lock_give(&race_area->locks_lock);
}

void race_lock_acquire(struct race_thread *thread, uint64_t place)
{
    race_lock_take(&race_area->locks_lock);
    race_learn_times(thread, find_lock(place)->time);
    race_lock_give(&race_area->locks_lock);
}
