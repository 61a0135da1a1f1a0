/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads and their clocks; what fence, quiet and the words that threads wait for tell them.
 */
#include "race/clocks.h"
#include "race/private.h"

#include <stdlib.h>
#include <string.h>

_Thread_local struct race_thread *race_here __attribute__((tls_model("initial-exec")));
static _Thread_local const struct race_clock *born_with __attribute__((tls_model("initial-exec")));

uint32_t *race_clocks[RACE_THREADS_MAX];

static inline void raise_to(uint32_t *time, uint32_t other)
{
    if (*time < other)
        *time = other;
}

static unsigned n_components(void)
{
    return atomic_load_explicit(&race_area->n_components, memory_order_acquire);
}

static void join(uint32_t *time, const uint32_t *other, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        raise_to(&time[i], other[i]);
}

unsigned race_take_components(unsigned n)
{
    unsigned first = atomic_fetch_add(&race_area->n_components, n);
    if (first + n >= RACE_COMPONENTS_MAX)
        race_fatal("more threads, contexts and signals than --race can tell apart; run with fewer PEs or threads");
    return first;
}

/* Give a thread a component, and a clock that knows nothing. owner: the component of the system's thread that it runs in;
 * 0: its own. */
static void begin_thread(struct race_thread *thread, uint16_t owner)
{
    uint32_t *time = calloc(RACE_COMPONENTS_MAX, sizeof *time);
    unsigned slot = atomic_fetch_add(&race_area->n_threads, 1);
    if (!time || slot >= RACE_THREADS_MAX)
        race_fatal(slot < RACE_THREADS_MAX ? "out of memory for a thread's clock" : "too many threads for --race");
    thread->component = (uint16_t)race_take_components(1);
    thread->time = time;
    thread->now = time[thread->component] = 1;
    thread->kept = 0;
    thread->lane = NULL;
    race_clocks[slot] = time;
    race_area->component[thread->component] = (struct race_component){.kind = RACE_THREAD,
                                                                      .thread = thread->component,
                                                                      .owner = owner ? owner : thread->component,
                                                                      .slot = (uint16_t)slot,
                                                                      .target = (uint16_t)race.pe};
}

struct race_thread *race_new_thread(void)
{
    struct race_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        race_fatal("out of memory for a thread");
    begin_thread(thread, 0);
    return thread;
}

static struct race_thread *enter_thread(const struct race_clock *born)
{
    struct race_thread *thread = race_new_thread();
    if (born)
        join(thread->time, born->time, born->n);
    race_private_enter_thread();
    return thread;
}

/* Strands that are over serve again; those of a thread stay with it. */
void race_strand_begin(struct race_thread *thread, const struct race_clock *known, struct race_strand *saved)
{
    const uint16_t owner = race_area->component[thread->component].owner;
    saved->thread = *thread;
    thread->n_strands++;
    if (thread->spare) {
        struct race_thread *spare = thread->spare;
        *thread = (struct race_thread){.component = spare->component,
                                       .now = spare->now,
                                       .time = spare->time,
                                       .lane = spare->lane,
                                       .inside = thread->inside,
                                       .n_strands = thread->n_strands,
                                       .frame = thread->frame,
                                       .spare = spare->spare};
        memset(thread->time, 0, n_components() * sizeof thread->time[0]);
        free(spare);
    } else {
        begin_thread(thread, owner);
        thread->now = 0;
    }
    if (known)
        join(thread->time, known->time, known->n);
    raise_to(&thread->time[thread->component], thread->now);
    race_advance(thread);
}

void race_strand_end(struct race_thread *thread, const struct race_strand *saved)
{
    struct race_thread *over = malloc(sizeof *over);
    struct race_thread *spares = thread->spare;
    if (over)
        *over = *thread;
    *thread = saved->thread;
    thread->spare = over ? over : spares;
    if (over)
        over->spare = spares;
}

void race_thread_begins(const struct race_clock *born)
{
    born_with = born;
}

struct race_thread *race_this_thread(void)
{
    if (!race.window_size)
        return NULL;
    if (!race_here)
        race_here = enter_thread(born_with);
    if (race_here->inside)
        return NULL;
    if (race_here->stream_news != atomic_load_explicit(&race_stream_news, memory_order_relaxed))
        race_learn_news(race_here);
    return race_here;
}

void race_advance(struct race_thread *thread)
{
    thread->now = ++thread->time[thread->component];
}

struct race_clock *race_publish(struct race_thread *thread)
{
    const unsigned n = thread ? n_components() : 0;
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
    join(time, thread->time, n_components());
    race_advance(thread);
}

void race_learn(struct race_thread *thread, const struct race_clock *clock)
{
    if (!thread || !clock)
        return;
    join(thread->time, clock->time, clock->n);
    race_advance(thread);
}

void race_learn_times(struct race_thread *thread, const uint32_t *time)
{
    join(thread->time, time, n_components());
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
    const unsigned n = n_components();
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
    memcpy(kept->time, thread->time, n_components() * sizeof kept->time[0]);
    race_lock_give(&race_area->history_lock[self->slot]);
    thread->kept = thread->now;
}

/* What was before a fence of the writer, on the context of its write, is in the PE's memory before the write is. */
static void learn_fences(struct race_thread *thread, const uint32_t *known, const struct race_component *writer, int pe)
{
    const struct race_lane *lane = writer->kind == RACE_THREAD ? NULL : &race_area->lane[writer->lane];
    const int from = lane ? lane->pe : writer->target;
    const unsigned n = n_components();
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
        join(thread->time, kept->time, n_components());
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

static bool has_arrived(const struct race_access *access, uint64_t key, uint64_t word)
{
    race_lock_take(&race_area->arrivals_lock);
    const struct race_arrival arrival = *arrival_of(word, key);
    race_lock_give(&race_area->arrivals_lock);
    return arrival.word == word && arrival.key == key && access->known[arrival.component] >= arrival.when;
}

bool race_is_before(const struct race_access *access, uint64_t key, uint64_t word)
{
    const uint16_t number = (uint16_t)(key >> 16);
    const race_time when = (race_time)(key >> 32);
    if (access->known[number] >= when)
        return true;
    const struct race_component *component = &race_area->component[number];
    const struct race_lane *lane = &race_area->lane[component->lane];
    const bool may_be_fenced = component->kind == RACE_PUTS || component->kind == RACE_SIGNALLED;
    if (access->lane && may_be_fenced && component->target == access->pe && lane->pe == access->lane->pe &&
        lane->context == access->lane->context && access->known[lane->base] >= when)
        return true;
    return component->kind != RACE_LOCAL && has_arrived(access, key, word);
}

bool race_is_before_by_barrier(const struct race_access *access, uint64_t key)
{
    const struct race_component *component = &race_area->component[(uint16_t)(key >> 16)];
    const struct race_lane *lane = &race_area->lane[component->lane];
    return component->kind != RACE_THREAD && lane->context && lane->context < RACE_STREAM_CONTEXTS &&
           access->known[race_passed_component(lane)] >= (race_time)(key >> 32);
}
