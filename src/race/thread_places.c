/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads: their components, which serve other threads when they have ended.
 */
#include "race/clocks.h"
#include "race/private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAIT_MILLISECONDS = 10000 };

_Thread_local struct race_thread *race_here __attribute__((tls_model("initial-exec")));
static _Thread_local const struct race_clock *born_with __attribute__((tls_model("initial-exec")));

/* Those of this process that have ended, the last one first, by next_ended. */
static struct race_thread *ended;
static race_lock ended_lock;
uint32_t *race_clocks[RACE_THREADS_MAX];
static atomic_uint n_taken; /* slots that this process has */

unsigned race_take_components(unsigned n)
{
    unsigned first = atomic_fetch_add(&race_area->n_components, n);
    if (first + n >= RACE_COMPONENTS_MAX)
        race_fatal("more threads, contexts and signals than --race can tell apart; run with fewer PEs or threads");
    return first;
}

/* A number among the threads of the job; false: all are taken. */
static bool take_slot(unsigned *slot)
{
    *slot = atomic_load(&race_area->n_threads);
    while (*slot < RACE_THREADS_MAX)
        if (atomic_compare_exchange_weak(&race_area->n_threads, slot, *slot + 1)) {
            atomic_fetch_add(&n_taken, 1);
            return true;
        }
    return false;
}

/* Give a thread a component, and a clock that knows nothing. owner: the component of the system's thread that it runs in;
 * 0: its own. */
static void begin_thread(struct race_thread *thread, unsigned slot, uint16_t owner)
{
    uint32_t *time = calloc(RACE_COMPONENTS_MAX, sizeof *time);
    if (!time)
        race_fatal("out of memory for a thread's clock");
    *thread = (struct race_thread){.component = (uint16_t)race_take_components(1), .time = time, .now = 1};
    time[thread->component] = 1;
    race_clocks[slot] = time;
    race_area->component[thread->component] = (struct race_component){.kind = RACE_THREAD,
                                                                      .thread = thread->component,
                                                                      .owner = owner ? owner : thread->component,
                                                                      .slot = (uint16_t)slot,
                                                                      .target = (uint16_t)race.pe};
}

static void __attribute__((noreturn)) too_many(void)
{
    race_fatal("more than %d threads at a time, or tasks inside of one another: too many for --race", RACE_THREADS_MAX);
}

/* ---- threads that have ended ------------------------------------------------------------------------------------- */

/* Whether all that a thread and its strands have done happened before what begins with that clock. */
static bool knows_all_of(const struct race_clock *born, const struct race_thread *over)
{
    for (; over; over = over->spare)
        if (!born || over->component >= born->n || born->time[over->component] < over->used)
            return false;
    return true;
}

/* Whether this process has its part of the slots, or few components are left. */
static bool is_scarce(void)
{
    return atomic_load(&n_taken) >= (unsigned)(RACE_THREADS_MAX / race.n_pes) ||
           race_n_components() > RACE_COMPONENTS_MAX / 2;
}

/* One whose place a new thread can take: what comes later on a component counts as ordered after what was before. Where
 * places are scarce, that holds for the one that ended first, whether or not it is so: a race of it may be missed. */
static struct race_thread *take_ended(const struct race_clock *born)
{
    race_lock_take(&ended_lock);
    struct race_thread **link = &ended, **oldest = NULL;
    while (*link && !knows_all_of(born, *link)) {
        oldest = link;
        link = &(*link)->next_ended;
    }
    if (!*link && oldest && is_scarce())
        link = oldest;
    struct race_thread *over = *link;
    if (over)
        *link = over->next_ended;
    race_lock_give(&ended_lock);
    return over;
}

static struct race_thread *new_thread(unsigned slot)
{
    struct race_thread *thread = malloc(sizeof *thread);
    if (!thread)
        race_fatal("out of memory for a thread");
    begin_thread(thread, slot, 0);
    return thread;
}

/* Where all places are taken, wait for a thread to end. */
static struct race_thread *find_place(const struct race_clock *born)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    for (int waited = 0; waited < WAIT_MILLISECONDS; waited++) {
        unsigned slot;
        struct race_thread *over = take_ended(born);
        if (over)
            return over;
        if (take_slot(&slot))
            return new_thread(slot);
        (void)nanosleep(&millisecond, NULL);
    }
    too_many();
}

static struct race_thread *begin_again(struct race_thread *thread)
{
    memset(thread->time, 0, race_n_components() * sizeof thread->time[0]);
    thread->time[thread->component] = thread->now;
    return thread;
}

struct race_thread *race_new_thread(void)
{
    return begin_again(find_place(NULL));
}

static struct race_thread *enter_thread(const struct race_clock *born)
{
    struct race_thread *thread = begin_again(find_place(born));
    if (born)
        race_join(thread->time, born->time, born->n);
    race_advance(thread);
    race_private_enter_thread();
    return thread;
}

void race_thread_begins(const struct race_clock *born)
{
    born_with = born;
}

void race_thread_ends(void)
{
    static struct race_thread nothing_is_checked = {.inside = 1};
    struct race_thread *over = race_here;
    race_here = &nothing_is_checked;
    born_with = NULL;
    if (!over || over->inside)
        return;
    race_lock_take(&ended_lock);
    over->next_ended = ended;
    ended = over;
    race_lock_give(&ended_lock);
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

/* ---- strands ----------------------------------------------------------------------------------------------------- */

/* Strands that are over serve again; those of a thread stay with it. */
void race_strand_begin(struct race_thread *thread, const struct race_clock *known, struct race_strand *saved)
{
    const uint16_t owner = race_area->component[thread->component].owner;
    struct race_thread *spare = thread->spare, next;
    unsigned slot;
    saved->thread = *thread;
    if (spare) {
        next = *spare;
        memset(next.time, 0, race_n_components() * sizeof next.time[0]);
        free(spare);
    } else if (take_slot(&slot)) {
        begin_thread(&next, slot, owner);
    } else {
        too_many();
    }
    next.inside = thread->inside;
    next.n_strands = thread->n_strands + 1;
    next.frame = thread->frame;
    *thread = next;
    if (known)
        race_join(thread->time, known->time, known->n);
    if (thread->time[thread->component] < thread->now)
        thread->time[thread->component] = thread->now;
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
