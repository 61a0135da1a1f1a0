/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The checking mode that finds data races (oshcc --race, oshrun --race): a library of its own, in front of libmapshmem.
 *
 * How it works. The compiler's hooks of -fsanitize=thread (hooks.c) tell of every load and store, wrappers of the
 * public routines (calls/) of every remote access and of everything that orders. All PEs share an area of memory (area.h)
 * with a shadow of every PE's symmetric memory: for each 8 bytes the last accesses, each as a component and a time.
 *
 * Time. A component is something whose own events are in order: a thread; or what a thread has issued on a context, for
 * which there are several, since it completes later than the thread goes on:
 *
 *     PUTS       to one PE: puts and atomic operations without a result. quiet completes them, fence puts those before it
 *                before those after it
 *     SIGNALLED  to one PE and with one signal: the data of put_signal, which are there when the signal is
 *     LOCAL      with one PE: what only quiet completes: nbi gets and fetches, and buffers that nbi operations read or write
 *     FENCED     no events: up to when PUTS were before a fence, for those that come after it
 *     PASSED     no events: up to when a context other than the default one was used before a barrier, which does not
 *                complete it: such a race is told as a note only
 *
 * The time of an event is that of the thread that issues it, which goes on by one whenever the thread learns something or
 * lets others learn. A clock says for every component up to which time its events have happened before. A thread learns
 * by quiet (its own PUTS and LOCAL up to now), in a barrier or collective (what those knew on which the result depends),
 * by a lock, or when it waits for a word: what who wrote the word knew when it wrote it. The shadow has this writer, and
 * each thread keeps its clocks at the times of its remote writes (history in clocks.c). So nothing is sent anywhere, and
 * one-sided operations stay one-sided.
 *
 * A race is two accesses to a byte, of which one is a write, not both are atomic with each other, and neither has
 * happened before the other. The later one finds it, whatever the order in which they really took place. */
#ifndef RACE_H
#define RACE_H

#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t race_time;

/* Flags of an access, of 8 bits. */
enum {
    RACE_WRITE = 1,
    RACE_ATOMIC = 2,
    RACE_FLOATING = 4, /* of atomic ones: the type */
    RACE_SHARED = 8,   /* and the domain: contexts of SHMEM_TEAM_SHARED's teams [3.2] */
    RACE_KINDS = RACE_ATOMIC | RACE_FLOATING | RACE_SHARED,
};

/* A thread of this PE that the mode knows. */
struct race_thread {
    uint16_t component;
    race_time now;                  /* time[component] */
    race_time kept;                 /* the time of the newest clock in its history */
    race_time used;                 /* the time of its last access */
    uint32_t *time;                 /* its clock: RACE_COMPONENTS_MAX times */
    unsigned inside;                /* calls of the library that have not returned: what they do is not the program's */
    struct race_lane *lane;         /* the one used last */
    unsigned stream_news;           /* what it has heard of race_stream_news */
    unsigned n_strands;             /* that are under way in it, one inside of the other (clocks.h) */
    uintptr_t frame;                /* the stack below is that of the strands */
    struct race_thread *spare;      /* strands that are over, one after the other */
    struct race_thread *next_ended; /* thread_places.c */
    struct openmp_team *idle_teams; /* openmp.c: those that it has begun and that have ended */
};

/* What a thread has issued on a context, for the whole job; lives in the area. */
struct race_lane {
    uint32_t context; /* 0: the default context */
    uint16_t pe, thread;
    uint16_t base; /* component of FENCED; then PASSED, LOCAL for PE 0, 1, ..., PUTS to PE 0, 1, ... */
};

/* Where the events of an access happen, and what has happened before it. */
struct race_access {
    const uint32_t *known;        /* a clock */
    const struct race_lane *lane; /* of PUTS and SIGNALLED, which know by fences as well; else NULL */
    uint16_t component;
    uint16_t pe; /* whose memory */
    race_time when;
    uint8_t flags;
    bool is_own_frame; /* memory of the stack that only strands of one thread use */
    uint16_t routine;  /* 0: a load or store of the program */
    uintptr_t pc;
};

/* This process. */
struct race_process {
    uintptr_t window_base, static_base;
    size_t window_size, static_size; /* 0 before initialisation and after the end */
    size_t heap_size;                /* of the window */
    uintptr_t program_base, program_size;
    struct race_word *window, *static_words; /* the shadow of this PE's own memory */
    bool watches_private; /* memory that is not symmetric: nbi buffers, or there are several threads */
    bool has_threads;
    bool has_peers; /* the program has asked for addresses of other PEs' memory (shmem_ptr) */
    int pe, n_pes;
};

/* A place in the shadow: byte first of a word. */
struct race_place {
    struct race_word *word;
    unsigned first;
    int pe;
};

extern struct race_process race;
extern _Thread_local struct race_thread *race_here __attribute__((tls_model("initial-exec")));

/* How often what streams have completed, and who waits for them by ways that are not seen, has become more (streams/). */
extern atomic_uint race_stream_news;
void race_learn_news(struct race_thread *thread);

/* access.c: the calling thread has loaded or stored size bytes at address. */
void race_touch(uintptr_t address, size_t size, uint8_t flags, uintptr_t pc);
/* Where a symmetric address of this PE lies in a PE's shadow; false: it is not symmetric. */
bool race_locate(struct race_place *place, uintptr_t address, int pe);
/* Where an address lies through which the program reaches symmetric memory by itself, this PE's or another's. */
bool race_locate_mapped(struct race_place *place, uintptr_t address);
/* An access to memory of this process, symmetric or not. */
void race_touch_as(uintptr_t address, size_t size, struct race_access *access);
/* The program may reach a PE's memory at these addresses: that of the symmetric address. */
void race_add_peer(uintptr_t mapped, uintptr_t address, int pe);

/* The thread that calls; NULL when it is inside of the library, or nothing is checked now. */
struct race_thread *race_this_thread(void);

#endif
