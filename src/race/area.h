/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The area that the PEs share. PE 0 makes it, as memory without a name; pages that nobody touches cost nothing.
 */
#ifndef RACE_AREA_H
#define RACE_AREA_H

#include "race/race.h"

enum {
    RACE_PES_MAX = 256,
    RACE_COMPONENTS_MAX = 16384,
    RACE_LANES_MAX = 4096,
    RACE_ROUTINES_MAX = 4096,
    RACE_ROUTINE_BYTES = 48,
    RACE_STRIPES = 65536, /* locks of the shadow */
    RACE_HISTORY = 512,   /* clocks that a thread keeps */
    RACE_THREADS_MAX = 1024,
    RACE_MEETINGS = 1024, /* barriers and collectives that are under way at a time */
    RACE_LOCKS = 1024,
    RACE_ARRIVALS = 65536,
    RACE_REPORTS = 8192, /* pairs of places that have been reported */
    RACE_SPILLED = 1 << 20,
    RACE_SPILLED_HEADS = 64 * RACE_STRIPES,
    RACE_CELLS = 2, /* of a word */
    RACE_WORD = 8,
};

enum race_kind { RACE_THREAD, RACE_FENCED, RACE_PASSED, RACE_LOCAL, RACE_PUTS, RACE_SIGNALLED };

struct race_component {
    uint8_t kind;
    uint16_t thread; /* the component of the thread whose time is used */
    uint16_t slot;   /* of a thread: its number among all threads */
    uint16_t owner;  /* of a thread: the component of the system's thread that it runs in */
    uint16_t lane, target;
    bool is_stream; /* of a thread: a stream or queue, none of the system's */
};

/* An access in the shadow. key: time, component, bytes (a bit each) and flags; 0: none. place: pc and routine. */
struct race_cell {
    _Atomic uint64_t key;
    uint64_t place;
};

struct race_word {
    struct race_cell cell[RACE_CELLS];
};

/* A cell for which a word has no room. */
struct race_spilled {
    uint64_t word; /* its number in the whole shadow, and so in the job; 0: free */
    struct race_cell cell;
    uint32_t next;
};

typedef atomic_uint race_lock;

struct race_meeting {
    uint64_t team, number;
    uint32_t readers; /* that have not been here; 0: free */
    uint32_t time[RACE_COMPONENTS_MAX];
};

/* A lock of the program, by its place. */
struct race_lock_object {
    uint64_t place; /* 0: free */
    uint32_t time[RACE_COMPONENTS_MAX];
};

/* A write that who waited for it has seen arrive: it has happened before what comes after that. */
struct race_arrival {
    uint64_t word, key;
    uint16_t component;
    race_time when;
};

struct race_kept {
    race_time when;
    uint32_t time[RACE_COMPONENTS_MAX];
};

struct race_pe {
    uint32_t pid;
    uintptr_t program; /* where its executable lies */
};

struct race_area {
    uint64_t token; /* by which those who are invited know it */
    atomic_uint n_components, n_threads, n_lanes, n_routines, n_spilled, n_reports, n_lost, has_given_up;
    struct race_pe pe[RACE_PES_MAX];
    struct race_component component[RACE_COMPONENTS_MAX];
    struct race_lane lane[RACE_LANES_MAX];
    char routine[RACE_ROUTINES_MAX][RACE_ROUTINE_BYTES];
    race_lock stripe[RACE_STRIPES];
    race_lock lanes_lock, meetings_lock, locks_lock, arrivals_lock, reports_lock, routines_lock;
    race_lock history_lock[RACE_THREADS_MAX];
    uint64_t reported[RACE_REPORTS];
    struct race_arrival arrival[RACE_ARRIVALS];
    uint32_t spilled_head[RACE_SPILLED_HEADS];
    uint32_t spilled_free[RACE_STRIPES]; /* the first of those that words of the stripe have given back */
    struct race_spilled spilled[RACE_SPILLED];
    struct race_meeting meeting[RACE_MEETINGS];
    struct race_lock_object lock[RACE_LOCKS];
    struct race_kept history[RACE_THREADS_MAX][RACE_HISTORY];
};

extern struct race_area *race_area;

/* Make the area, or open that of PE 0. Collective, after pshmem_init; ends the job when it cannot be shared. */
void race_area_open(void);

/* The shadow of a PE's memory: of its window from the base on, and of its static data. offset is a multiple of 8. */
struct race_word *race_window_word(int pe, size_t offset);
struct race_word *race_static_word(int pe, size_t offset);
/* The number of a word in the job, and what it stands for: bytes of a PE's window or static data. False for a word of
 * private memory, whose number has this bit. */
static const uint64_t race_private_number = UINT64_C(1) << 63;
uint64_t race_word_number(const struct race_word *word);
bool race_place_of_number(uint64_t number, int *pe, bool *is_static, size_t *offset);

/* A name for a routine: the same number for all PEs. */
uint16_t race_routine(const char *name);

void race_lock_take(race_lock *lock);
static inline void race_lock_give(race_lock *lock)
{
    atomic_store_explicit(lock, 0, memory_order_release);
}
/* Around what the mode does under a lock. Libraries that watch memory (UCX) lock while it is allocated here: that is not
 * looked at. */
static inline void race_lock_enter(struct race_thread *thread, race_lock *lock)
{
    thread->inside++;
    race_lock_take(lock);
}
static inline void race_lock_leave(struct race_thread *thread, race_lock *lock)
{
    race_lock_give(lock);
    thread->inside--;
}

/* Report what makes the check impossible, and end the job. */
void race_fatal(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
