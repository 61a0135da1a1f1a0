/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sight: what the library did and how long it took, for SHMEM_TRACE and SHMEM_STATS.
 *
 * When one of them is set, every view gets a driver that measures and calls the real one, and view->mapped stays empty,
 * which is what the short ways of the API look at: each transfer then passes here. When none is set nothing of this
 * file is on the way of a transfer, not even a question.
 */
#ifndef SHMEMI_SIGHT_H
#define SHMEMI_SIGHT_H

#include "transport/driver.h"
#include "instrument/watch.h"

#include <stdatomic.h>

enum shmemi_transfer {
#define TRANSFER(operation, name) SHMEMI_TRANSFER_##operation,
#define ACTIVITY(activity, name)
#include "instrument/measure.def"
#undef TRANSFER
#undef ACTIVITY
    SHMEMI_TRANSFERS,
};

enum { SHMEMI_SIGHT_ROUTES_MAX = 16 };

struct shmemi_tally {
    _Atomic uint64_t count, bytes, ns;
};

struct shmemi_sight {
    bool is_on;
    struct shmemi_tally transfer[SHMEMI_SIGHT_ROUTES_MAX][SHMEMI_TRANSFERS];
    struct shmemi_tally activity[SHMEMI_ACTIVITIES];
    struct shmemi_tally served; /* requests of other PEs */
};
extern struct shmemi_sight shmemi_sight;

/* Begin to count and to trace if the settings say so; before views are attached. Events are written once the zero of
 * time is known: shmemi_sight_start, after the first barrier. 0 or -errno, logged. */
int shmemi_sight_open(void);
void shmemi_sight_start(void);
void shmemi_sight_close(void);

/* The measuring driver in front of the driver with this number in the table. */
const struct shmemi_driver *shmemi_sight_driver(const struct shmemi_driver *real, unsigned number);

/* The names of the table: of a transfer, of an activity. */
const char *shmemi_transfer_name(enum shmemi_transfer transfer);
const char *shmemi_activity_name(enum shmemi_activity activity);

/* A transfer has been enqueued in a stream of the program; begin: 0 when nothing is measured. */
static inline uint64_t shmemi_sight_begin(void)
{
    return __builtin_expect(shmemi_sight.is_on, 0) ? shmemi_clock() : 0;
}
void shmemi_sight_enqueued(const struct shmemi_view *view, size_t offset, size_t nbytes, uint64_t begin);

/* A request of another PE has been carried out; begin: when it came. */
void shmemi_sight_served(const char *operation, uint64_t begin, int origin, uint32_t region, uint64_t offset,
                         uint64_t nbytes);

void shmemi_sight_note_call(const struct shmemi_call *call);

/* Begin and end of a call that has a line of its own: one test each when nothing is measured. */
static inline __attribute__((always_inline)) void shmemi_span_begin(struct shmemi_call *call)
{
    shmemi_call_begin(call);
    if (__builtin_expect(shmemi_sight.is_on, 0))
        call->begin = shmemi_clock();
}

static inline __attribute__((always_inline)) void shmemi_span_end(const struct shmemi_call *call)
{
    shmemi_call_end(call);
    if (__builtin_expect(shmemi_sight.is_on, 0))
        shmemi_sight_note_call(call);
}

#endif
