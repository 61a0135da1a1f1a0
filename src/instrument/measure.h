/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measuring: how often each operation was called, and how long it took, for SHMEM_TRACE and SHMEM_STATS.
 *
 * Transfers are counted where they are handed to a driver (transport/drivers/issue.h): one test each, and none on the short
 * ways of the API, which are closed while something is measured.
 */
#ifndef SHMEMI_MEASURE_H
#define SHMEMI_MEASURE_H

#include "base/likely.h"
#include "instrument/trace.h"
#include "instrument/watch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum shmemi_counted {
#define TRANSFER(operation, name) SHMEMI_TRANSFER_##operation,
#define ACTIVITY(activity, name)
#include "instrument/measure.def"
#undef TRANSFER
#undef ACTIVITY
    SHMEMI_TRANSFERS,
};

/* What kernels ask of their agent; the transfers that it makes for them are counted as well. */
enum shmemi_from_kernel {
    SHMEMI_KERNEL_PUT,
    SHMEMI_KERNEL_GET,
    SHMEMI_KERNEL_AMO,
    SHMEMI_KERNEL_SIGNAL,
    SHMEMI_KERNEL_BUSY, /* the agent itself, from the first operation that it finds to the completion of all */
    SHMEMI_FROM_KERNELS,
};

enum { SHMEMI_MEASURED_ROUTES_MAX = 16 };

struct shmemi_tally {
    uint64_t count, bytes, ns;
};

/* All counts of a PE, which PEs combine as an array of words. */
struct shmemi_tallies {
    struct shmemi_tally transfer[SHMEMI_MEASURED_ROUTES_MAX][SHMEMI_TRANSFERS];
    struct shmemi_tally activity[SHMEMI_ACTIVITIES];
    struct shmemi_tally served; /* requests of other PEs */
    struct shmemi_tally from_kernel[SHMEMI_FROM_KERNELS];
};

struct shmemi_measure {
    bool is_on;
    struct shmemi_tallies tallies; /* any thread adds to them, by atomic operations */
};
extern struct shmemi_measure shmemi_measure;

/* Begin to count and to trace if the settings say so; called before views are attached. Events are recorded once the
 * start of the timeline is known: shmemi_measure_start sets it, after the first barrier. 0 or -errno, logged. */
int shmemi_measure_open(void);
void shmemi_measure_start(_Atomic uint64_t *zero);
void shmemi_measure_close(void);
/* The counts so far. */
void shmemi_measure_read(struct shmemi_tallies *tallies);

/* The names in the printed table of a transfer and of an activity. */
const char *shmemi_transfer_name(enum shmemi_counted transfer);
const char *shmemi_activity_name(enum shmemi_activity activity);
const char *shmemi_from_kernel_name(enum shmemi_from_kernel what);

/* Count a transfer by a route (the number of a driver) that began at event->begin and has just ended. Fills in the
 * name, category and end of the event. */
void shmemi_measure_transfer(unsigned route, enum shmemi_counted transfer, struct shmemi_trace_transfer *event);

/* Count a request of another PE, which arrived at `begin` and has been carried out. */
void shmemi_measure_served(const char *operation, uint64_t begin, int origin, uint32_t region, uint64_t offset,
                           uint64_t nbytes);

/* Count an operation that a kernel has asked for, found at event->begin and complete now. Its PE, region, offset and nbytes
 * are set. Of the agent itself only the time is told. */
void shmemi_measure_from_kernel(enum shmemi_from_kernel what, struct shmemi_trace_transfer *event);

/* Count a call that began at call->begin and has just ended. */
void shmemi_measure_call(const struct shmemi_call *call);

/* Begin and end of a call that has a line of its own in the statistics: one test each when nothing is measured. */
static inline __attribute__((always_inline)) void shmemi_span_begin(struct shmemi_call *call)
{
    shmemi_call_begin(call);
    if (shmemi_unlikely(shmemi_measure.is_on))
        call->begin = shmemi_clock();
}

static inline __attribute__((always_inline)) void shmemi_span_end(const struct shmemi_call *call)
{
    shmemi_call_end(call);
    if (shmemi_unlikely(shmemi_measure.is_on))
        shmemi_measure_call(call);
}

#endif
