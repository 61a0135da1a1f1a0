/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads, components and their clocks: what has happened before what.
 */
#ifndef RACE_CLOCKS_H
#define RACE_CLOCKS_H

#include "race/area.h"

/* How many components there are. */
static inline unsigned race_n_components(void)
{
    return atomic_load_explicit(&race_area->n_components, memory_order_acquire);
}

/* A copy of a clock, as long as the components that there were. */
struct race_clock {
    unsigned n;
    uint32_t time[];
};

/* Raise the first n times of a clock to those of another. */
void race_join(uint32_t *time, const uint32_t *other, unsigned n);

/* thread_places.c. What the calling thread knows when it is first seen; the clock stays until it ends. From its end on nothing
 * that it does is looked at, and another thread may take its place. */
void race_thread_begins(const struct race_clock *born);
void race_thread_ends(void);

/* A piece of the program that runs in a thread but is not ordered with what the thread has done before, such as a task or
 * a section of OpenMP: until race_strand_end the thread is another one, which knows what the clock says. The state of the
 * thread is kept in saved. */
struct race_strand {
    struct race_thread thread;
};
void race_strand_begin(struct race_thread *thread, const struct race_clock *known, struct race_strand *saved);
void race_strand_end(struct race_thread *thread, const struct race_strand *saved);

/* A copy of what a thread knows now, after which its time goes on. NULL for no thread, or without memory. */
struct race_clock *race_publish(struct race_thread *thread);
/* Join what the thread knows to a clock of RACE_COMPONENTS_MAX times, or that of a clock to what it knows. Its time goes
 * on. */
void race_publish_to(struct race_thread *thread, uint32_t *time);
void race_learn(struct race_thread *thread, const struct race_clock *clock);
void race_learn_times(struct race_thread *thread, const uint32_t *time);
void race_advance(struct race_thread *thread);

/* The clocks of this process's threads, by their slots. */
extern uint32_t *race_clocks[RACE_THREADS_MAX];
/* A thread that knows nothing, and is not yet that of any thread of the system. */
struct race_thread *race_new_thread(void);

/* n new components in a row; ends the job when there are no more. */
unsigned race_take_components(unsigned n);

/* Contexts with this number and above stand for streams. */
enum { RACE_STREAM_CONTEXTS = 1 << 20 };

/* The thread's lane on a context, and a component of it. */
struct race_lane *race_lane_of(struct race_thread *thread, uint32_t context);
static inline uint16_t race_passed_component(const struct race_lane *lane)
{
    return (uint16_t)(lane->base + 1);
}
static inline uint16_t race_local_component(const struct race_lane *lane, int pe)
{
    return (uint16_t)(lane->base + 2 + pe);
}
static inline uint16_t race_puts_component(const struct race_lane *lane, int pe)
{
    return (uint16_t)(lane->base + 2 + race.n_pes + pe);
}
/* That of the data that come with the signal in that word. */
uint16_t race_signalled_component(const struct race_lane *lane, int pe, uint64_t signal);

void race_fence(struct race_thread *thread, uint32_t context);
void race_quiet(struct race_thread *thread, uint32_t context);
void race_quiet_pe(struct race_thread *thread, uint32_t context, int pe);
/* A barrier: quiet of the default context, and a note of what it does not complete. */
void race_pass_barrier(struct race_thread *thread);
/* The context is gone, and its lanes may serve another. */
void race_forget_context(uint32_t context);

/* Keep the thread's clock for those who will see what it writes now. */
void race_keep(struct race_thread *thread);
/* The thread has seen a write, by its key, to a word of a PE: it learns what its writer knew. */
void race_learn_write(struct race_thread *thread, uint64_t key, int pe);

/* Whether what a key stands for has happened before an access: by the clocks, or since it was seen to arrive in that
 * word. */
bool race_knows(const struct race_access *access, uint64_t key);
bool race_has_arrived(const struct race_access *access, uint64_t key, uint64_t word);
/* Whether it would be if barriers completed what was issued on other contexts than the default one. */
bool race_is_before_by_barrier(const struct race_access *access, uint64_t key);
/* The thread has seen it arrive. */
void race_note_arrival(const struct race_thread *thread, uint64_t word, uint64_t key);

/* meetings.c: barriers, collectives and locks. A PE whose result others depend on enters; who depends on it leaves.
 * readers: how many will leave. */
void race_enter(struct race_thread *thread, uint64_t team, uint64_t number, unsigned readers);
void race_leave(struct race_thread *thread, uint64_t team, uint64_t number);
void race_lock_release(struct race_thread *thread, uint64_t place);
void race_lock_acquire(struct race_thread *thread, uint64_t place);

#endif
