/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The clocks of threads; what fence, quiet and the words that threads wait for tell them.
 */
#include "race/clocks.h"

#include <stdlib.h>
#include <string.h>

static inline void raise_to(uint32_t *time, uint32_t other)
{
    if (*time < other)
        *time = other;
}

void race_join(uint32_t *time, const uint32_t *other, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        raise_to(&time[i], other[i]);
}

void race_advance(struct race_thread *thread)
{
    thread->now = ++thread->time[thread->component];
}

struct race_clock *race_publish(struct race_thread *thread)
{
    const unsigned n = thread ? race_n_components() : 0;
    struct race_clock *clock = thread ? malloc(sizeof *clock + n * sizeof clock->time[0]) : NULL;
    if (!clock)
        return NULL;
    clock->n = n;
    memcpy(clock->time, thread->time, n * sizeof clock->time[0]);
    race_advance(thread);
    return clock;
}

void race_publish_to(struct race_thread *thread, uint32_t *time)
{
    race_join(time, thread->time, race_n_components());
    race_advance(thread);
}

void race_learn(struct race_thread *thread, const struct race_clock *clock)
{
    if (!thread || !clock)
        return;
    race_join(thread->time, clock->time, clock->n);
    race_advance(thread);
}

void race_learn_times(struct race_thread *thread, const uint32_t *time)
{
    race_join(thread->time, time, race_n_components());
    race_advance(thread);
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

enum { NO_CONTEXT = UINT32_MAX };

static void describe_lane(const struct race_lane *lane)
{
    const uint16_t number = (uint16_t)(lane - race_area->lane);
    race_area->component[lane->base] =
        (struct race_component){.kind = RACE_FENCED, .thread = lane->thread, .lane = number};
    race_area->component[race_passed_component(lane)] =
        (struct race_component){.kind = RACE_PASSED, .thread = lane->thread, .lane = number};
    for (int pe = 0; pe < race.n_pes; pe++) {
        struct race_component component = {
            .kind = RACE_LOCAL, .thread = lane->thread, .lane = number, .target = (uint16_t)pe};
        race_area->component[race_local_component(lane, pe)] = component;
        component.kind = RACE_PUTS;
        race_area->component[race_puts_component(lane, pe)] = component;
    }
}

static struct race_lane *make_lane(const struct race_thread *thread, uint32_t context)
{
    unsigned number = atomic_load(&race_area->n_lanes);
    struct race_lane *lane = &race_area->lane[number];
    if (number >= RACE_LANES_MAX)
        race_fatal("too many threads with contexts for --race");
    *lane = (struct race_lane){context, (uint16_t)race.pe, thread->component,
                               (uint16_t)race_take_components(2 * (unsigned)race.n_pes + 2)};
    describe_lane(lane);
    atomic_store(&race_area->n_lanes, number + 1);
    return lane;
}

static struct race_lane *find_lane(const struct race_thread *thread, uint32_t context)
{
    const unsigned n = atomic_load(&race_area->n_lanes);
    for (unsigned i = 0; i < n; i++) {
        struct race_lane *lane = &race_area->lane[i];
        if (lane->thread == thread->component && lane->pe == race.pe && lane->context == context)
            return lane;
    }
    return NULL;
}

struct race_lane *race_lane_of(struct race_thread *thread, uint32_t context)
{
    if (thread->lane && thread->lane->context == context)
        return thread->lane;
    struct race_lane *lane = find_lane(thread, context);
    if (!lane && (lane = find_lane(thread, NO_CONTEXT)))
        lane->context = context;
    if (!lane) {
        race_lock_take(&race_area->lanes_lock);
        lane = make_lane(thread, context);
        race_lock_give(&race_area->lanes_lock);
    }
    thread->lane = lane;
    return lane;
}

void race_forget_context(uint32_t context)
{
    const unsigned n = atomic_load(&race_area->n_lanes);
    for (unsigned i = 0; i < n; i++)
        if (race_area->lane[i].pe == race.pe && race_area->lane[i].context == context)
            race_area->lane[i].context = NO_CONTEXT;
}

/* ---- fence and quiet --------------------------------------------------------------------------------------------- */

void race_fence(struct race_thread *thread, uint32_t context)
{
    const unsigned n = atomic_load(&race_area->n_lanes);
    for (unsigned i = 0; i < n; i++) {
        const struct race_lane *lane = &race_area->lane[i];
        if (lane->pe == race.pe && lane->context == context)
            raise_to(&thread->time[lane->base], thread->time[lane->thread]);
    }
    race_advance(thread);
}

/* pe: whose operations are complete; -1: all. */
static void complete(struct race_thread *thread, uint32_t context, int pe)
{
    const unsigned n = race_n_components();
    for (unsigned i = 0; i < n; i++) {
        const struct race_component *component = &race_area->component[i];
        const struct race_lane *lane = &race_area->lane[component->lane];
        const bool is_asked = pe < 0 || (component->kind > RACE_PASSED && component->target == pe);
        if (component->kind != RACE_THREAD && is_asked && lane->pe == race.pe && lane->context == context)
            raise_to(&thread->time[i], thread->time[component->thread]);
    }
    race_advance(thread);
}

void race_quiet(struct race_thread *thread, uint32_t context)
{
    complete(thread, context, -1);
}

void race_quiet_pe(struct race_thread *thread, uint32_t context, int pe)
{
    if (pe >= 0)
        complete(thread, context, pe);
}

void race_pass_barrier(struct race_thread *thread)
{
    const unsigned n = atomic_load(&race_area->n_lanes);
    for (unsigned i = 0; i < n; i++) {
        const struct race_lane *lane = &race_area->lane[i];
        if (lane->pe == race.pe)
            raise_to(&thread->time[race_passed_component(lane)], thread->time[lane->thread]);
    }
    race_quiet(thread, 0);
}

/* ---- what is learned from words ---------------------------------------------------------------------------------- */

static struct race_kept *kept_at(const struct race_component *thread, race_time when)
{
    return &race_area->history[thread->slot][when % RACE_HISTORY];
}

void race_keep(struct race_thread *thread)
{
    if (thread->kept == thread->now)
        return;
    const struct race_component *self = &race_area->component[thread->component];
    struct race_kept *kept = kept_at(self, thread->now);
    race_lock_take(&race_area->history_lock[self->slot]);
    kept->when = thread->now;
    memcpy(kept->time, thread->time, race_n_components() * sizeof kept->time[0]);
    race_lock_give(&race_area->history_lock[self->slot]);
    thread->kept = thread->now;
}

/* What was before a fence of the writer, on the context of its write, is in the PE's memory before the write is. */
static void learn_fences(struct race_thread *thread, const uint32_t *known, const struct race_component *writer, int pe)
{
    const struct race_lane *lane = writer->kind == RACE_THREAD ? NULL : &race_area->lane[writer->lane];
    const int from = lane ? lane->pe : writer->target;
    const unsigned n = race_n_components();
    for (unsigned i = 0; i < n; i++) {
        const struct race_component *other = &race_area->component[i];
        const struct race_lane *its = &race_area->lane[other->lane];
        if ((other->kind == RACE_PUTS || other->kind == RACE_SIGNALLED) && other->target == pe && its->pe == from &&
            (!lane || its->context == lane->context))
            raise_to(&thread->time[i], known[its->base]);
    }
}

/* Where the clock of that time is no longer kept, a later one of the thread has taken its place, which knows more. */
void race_learn_write(struct race_thread *thread, uint64_t key, int pe)
{
    const uint16_t number = (uint16_t)(key >> 16);
    const race_time when = (race_time)(key >> 32);
    const struct race_component *component = &race_area->component[number];
    const struct race_component *writer = &race_area->component[component->thread];
    struct race_kept *kept = kept_at(writer, when);
    race_lock_take(&race_area->history_lock[writer->slot]);
    if (kept->when >= when) {
        race_join(thread->time, kept->time, race_n_components());
        learn_fences(thread, kept->time, component, pe);
    }
    race_lock_give(&race_area->history_lock[writer->slot]);
    if (component->kind == RACE_SIGNALLED)
        raise_to(&thread->time[number], when);
    thread->now = thread->time[thread->component];
}

static struct race_arrival *arrival_of(uint64_t word, uint64_t key)
{
    uint64_t mix = (word * 0x9e3779b97f4a7c15u) ^ (key * 0xc2b2ae3d27d4eb4fu);
    return &race_area->arrival[(mix >> 40) % RACE_ARRIVALS];
}

void race_note_arrival(const struct race_thread *thread, uint64_t word, uint64_t key)
{
    race_lock_take(&race_area->arrivals_lock);
    *arrival_of(word, key) = (struct race_arrival){word, key, thread->component, thread->now};
    race_lock_give(&race_area->arrivals_lock);
}

bool race_has_arrived(const struct race_access *access, uint64_t key, uint64_t word)
{
    if (race_area->component[(uint16_t)(key >> 16)].kind == RACE_LOCAL)
        return false;
    race_lock_take(&race_area->arrivals_lock);
    const struct race_arrival arrival = *arrival_of(word, key);
    race_lock_give(&race_area->arrivals_lock);
    return arrival.word == word && arrival.key == key && access->known[arrival.component] >= arrival.when;
}

bool race_knows(const struct race_access *access, uint64_t key)
{
    const uint16_t number = (uint16_t)(key >> 16);
    const race_time when = (race_time)(key >> 32);
    if (access->known[number] >= when)
        return true;
    const struct race_component *component = &race_area->component[number];
    const struct race_lane *lane = &race_area->lane[component->lane];
    const bool may_be_fenced = component->kind == RACE_PUTS || component->kind == RACE_SIGNALLED;
    return access->lane && may_be_fenced && component->target == access->pe && lane->pe == access->lane->pe &&
           lane->context == access->lane->context && access->known[lane->base] >= when;
}

bool race_is_before_by_barrier(const struct race_access *access, uint64_t key)
{
    const struct race_component *component = &race_area->component[(uint16_t)(key >> 16)];
    const struct race_lane *lane = &race_area->lane[component->lane];
    return component->kind != RACE_THREAD && lane->context && lane->context < RACE_STREAM_CONTEXTS &&
           access->known[race_passed_component(lane)] >= (race_time)(key >> 32);
}
