/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counting what the library does, for SHMEM_STATS and SHMEM_TRACE.
 */
#include "instrument/measure.h"

#include "base/log.h"
#include "base/settings.h"
#include "gpu/memory.h"

#include <string.h>

struct shmemi_measure shmemi_measure;

static const char *const transfer_names[] = {
#define TRANSFER(operation, name) name,
#define ACTIVITY(activity, name)
#include "instrument/measure.def"
#undef TRANSFER
#undef ACTIVITY
};

static const char *const activity_names[] = {
#define TRANSFER(operation, name)
#define ACTIVITY(activity, name) [SHMEMI_AT_##activity] = name,
#include "instrument/measure.def"
#undef TRANSFER
#undef ACTIVITY
};

static const char *const from_kernel_names[] = {
    [SHMEMI_KERNEL_PUT] = "put",       [SHMEMI_KERNEL_GET] = "get",    [SHMEMI_KERNEL_AMO] = "atomic",
    [SHMEMI_KERNEL_SIGNAL] = "signal", [SHMEMI_KERNEL_BUSY] = "agent",
};

const char *shmemi_from_kernel_name(enum shmemi_from_kernel what)
{
    return from_kernel_names[what];
}

const char *shmemi_transfer_name(enum shmemi_counted transfer)
{
    return transfer_names[transfer];
}

const char *shmemi_activity_name(enum shmemi_activity activity)
{
    return activity_names[activity];
}

static void tally(struct shmemi_tally *tally, uint64_t bytes, uint64_t ns)
{
    __atomic_fetch_add(&tally->count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&tally->bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&tally->ns, ns, __ATOMIC_RELAXED);
}

/* Did the program itself call this operation, rather than a collective, a lock or the runtime? */
static bool is_of_program(void)
{
    for (const struct shmemi_call *call = shmemi_present_call; call; call = call->outer)
        if (call->activity != SHMEMI_AT_TRANSFER && call->activity != SHMEMI_AT_DEEP &&
            call->activity != SHMEMI_AT_DETAIL)
            return false;
    return true;
}

void shmemi_measure_transfer(unsigned route, enum shmemi_counted transfer, struct shmemi_trace_transfer *event)
{
    const char *routine = shmemi_present_routine();
    event->end = shmemi_clock();
    if (!is_of_program())
        transfer = SHMEMI_TRANSFER_INTERNAL;
    else if (transfer == SHMEMI_TRANSFER_AMO && routine && strstr(routine, "signal"))
        transfer = SHMEMI_TRANSFER_SIGNAL;
    tally(&shmemi_measure.tallies.transfer[route][transfer], event->nbytes, event->end - event->begin);
    event->name = routine ? routine : transfer_names[transfer];
    event->category = transfer_names[transfer];
    shmemi_trace_transfer(event);
}

void shmemi_measure_call(const struct shmemi_call *call)
{
    uint64_t end = shmemi_clock();
    if (!call->begin)
        return;       /* it began before measuring did */
    if (!call->outer) /* otherwise it is part of another call, which is counted */
        tally(&shmemi_measure.tallies.activity[call->activity], 0, end - call->begin);
    shmemi_trace_span(call->routine ? call->routine : activity_names[call->activity], activity_names[call->activity],
                      call->begin, end);
}

void shmemi_measure_served(const char *operation, uint64_t begin, int origin, uint32_t region, uint64_t offset,
                           uint64_t nbytes)
{
    uint64_t end = shmemi_clock();
    tally(&shmemi_measure.tallies.served, nbytes, end - begin);
    shmemi_trace_served(&(struct shmemi_trace_transfer){
        .name = operation,
        .category = "request",
        .route = "service",
        .pe = origin,
        .region = region,
        .offset = offset,
        .nbytes = nbytes,
        .begin = begin,
        .end = end,
    });
}

void shmemi_measure_from_kernel(enum shmemi_from_kernel what, struct shmemi_trace_transfer *event)
{
    event->end = shmemi_clock();
    tally(&shmemi_measure.tallies.from_kernel[what], event->nbytes, event->end - event->begin);
    if (what == SHMEMI_KERNEL_BUSY) {
        shmemi_trace_span("for kernels", "kernel", event->begin, event->end);
        return;
    }
    event->name = from_kernel_names[what];
    event->category = "kernel";
    event->route = "kernels";
    shmemi_trace_transfer(event);
}

static void note_device_copy(const struct shmemi_device_copy *copy)
{
    shmemi_trace_copy(copy->memory->name, copy->device, copy->queue, copy->what, copy->nbytes, copy->begin, copy->end);
}

/* ---- Begin and end ----------------------------------------------------------------------------------------------- */

int shmemi_measure_open(void)
{
    bool traces = shmemi_settings.trace[0];
    memset(&shmemi_measure, 0, sizeof shmemi_measure);
    shmemi_watch_open();
    shmemi_measure.is_on = traces || shmemi_settings.stats;
    if (traces)
        shmemi_log_last_words = shmemi_trace_last;
    shmemi_copy_observer = traces ? note_device_copy : NULL;
    return traces ? shmemi_trace_open() : 0;
}

enum { WORDS = sizeof(struct shmemi_tallies) / sizeof(uint64_t) };

void shmemi_measure_read(struct shmemi_tallies *tallies)
{
    const uint64_t *from = (const uint64_t *)&shmemi_measure.tallies;
    uint64_t *to = (uint64_t *)tallies;
    for (size_t i = 0; i < WORDS; i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

/* The service thread may be counting already. */
void shmemi_measure_start(_Atomic uint64_t *zero)
{
    uint64_t *words = (uint64_t *)&shmemi_measure.tallies;
    for (size_t i = 0; i < WORDS; i++)
        __atomic_store_n(&words[i], 0, __ATOMIC_RELAXED);
    if (shmemi_settings.trace[0])
        shmemi_trace_start(zero);
}

void shmemi_measure_close(void)
{
    shmemi_watch_close();
    shmemi_log_last_words = NULL;
    shmemi_copy_observer = NULL;
    shmemi_measure.is_on = false;
}
