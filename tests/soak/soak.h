/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the soak share. A run is a sequence of phases. In each, every PE starts some threads that put, get
 * and update in lanes of their own on all PEs (lanes.c), while its first thread takes part in collective operations
 * that all PEs draw from the same numbers (together.c). Between two phases the process is measured (watch.c).
 */
#ifndef SOAK_H
#define SOAK_H

#include "tests/api/check.h"
#include "support/device.h"

#include <pthread.h>
#include <shmemx.h>

enum {
    PES_MAX = 16,
    THREADS_MAX = 4,
    LANE = 8192, /* bytes */
    LANE_WORDS = 8,
    DEEP = 8192, /* bytes for an image of a deep copy */
    LETTER = 512,
    HEAP = 0,
    AREAS_MAX = 4, /* the heap, static data, mapped CUDA memory, mapped OpenCL memory */
};

/* ---- Random numbers ---------------------------------------------------------------------------------------------- */

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return random->state * 0x2545f4914f6cdd1d >> 16;
}

static inline size_t random_below(struct random *random, size_t bound)
{
    return (size_t)(random_next(random) % bound);
}

/* A sequence of its own for each (phase, stream) of a seed. */
static inline struct random random_start(uint64_t seed, int phase, int stream)
{
    struct random random = {(seed + 1) * 0x9e3779b97f4a7c15 + (uint64_t)phase * 0x100000001b3 + (uint64_t)stream + 1};
    for (int i = 0; i < 8; i++)
        random_next(&random);
    return random;
}

/* ---- Symmetric memory -------------------------------------------------------------------------------------------- */

/* What one thread of one PE alone writes. */
struct lane {
    unsigned char bytes[LANE];
    uint64_t words[LANE_WORDS];
    uint64_t signal;
};

/* One PE's memory in an area. All threads of all PEs add to the counter. */
struct memory {
    struct lane lanes[PES_MAX * THREADS_MAX];
    uint64_t counter;
};

struct area {
    const char *name;
    struct memory *memory; /* a symmetric address */
    struct buffer *object; /* behind mapped memory, else NULL */
    struct device *device;
};

/* What the thread of the same number on the PE before sends in an exchange, and the next one's answer. */
struct mailbox {
    unsigned char letter[LETTER];
    uint64_t arrived, answered;
};

/* Written between phases only. */
struct soak {
    uint64_t seed;
    int phase, n_threads;
    int me, n; /* PEs */
    struct area areas[AREAS_MAX];
    int n_areas;
    struct mailbox *mailboxes; /* symmetric, one for each thread */
    unsigned char *images;     /* symmetric, DEEP for each thread of each PE */
};

extern struct soak soak;

/* ---- Lanes: what the threads do ---------------------------------------------------------------------------------- */

/* The first for the whole run, the others around each phase. finish checks the counters; it is collective. */
void lanes_prepare(void);
void lanes_start(void);
void lanes_finish(void);
/* The area's lanes are zero again, on all PEs: so are their models. */
void lanes_forget(int area);
unsigned long lanes_operations(void);

/* A list is put to a PE as a deep copy, brought back and compared. */
void deep_prepare(void);
void deep_round_trip(struct random *random, int number, int pe);

/* ---- Together: what the first thread does ------------------------------------------------------------------------ */

void together_prepare(void);
void together_run(void);
unsigned long together_operations(void);

/* Allocate and map the areas again, or open them the first time; collective, while no thread runs. */
void areas_prepare(void);
void areas_renew(struct random *random);

/* ---- Watch ------------------------------------------------------------------------------------------------------- */

/* How long the run is to be; a sample is taken when one is due, by seconds since the start or by count. In one that is
 * too brief, caches still fill after its first third: memory may grow, but not run away. */
void watch_start(double total, bool is_too_brief);
void watch_look(double done);
/* Print this PE's first and last figures and how they grew. False: something grew more than it may, or memory more than
 * that and so many KiB. */
bool watch_verdict(const char *unit, long expected);

#endif
