/* SPDX-License-Identifier: BSD-3-Clause */
#include "instrument/measure.h"

#include "base/log.h"
#include "base/settings.h"
#include "instrument/trace.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

struct shmemi_sight shmemi_sight;

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

const char *shmemi_transfer_name(enum shmemi_transfer transfer)
{
    return transfer_names[transfer];
}

const char *shmemi_activity_name(enum shmemi_activity activity)
{
    return activity_names[activity];
}

/* A driver that measures, and the one behind it. */
struct measuring {
    struct shmemi_driver face;
    const struct shmemi_driver *real;
};
static struct measuring measuring[SHMEMI_SIGHT_ROUTES_MAX];

static void tally(struct shmemi_tally *tally, uint64_t bytes, uint64_t ns)
{
    atomic_fetch_add_explicit(&tally->count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&tally->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&tally->ns, ns, memory_order_relaxed);
}

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

static const struct measuring *behind(const struct shmemi_view *view)
{
    return (const struct measuring *)((const char *)view->driver - offsetof(struct measuring, face));
}

/* Has the program asked for it, and not a collective, a lock or the runtime on its behalf? */
static bool is_of_program(void)
{
    for (const struct shmemi_call *call = shmemi_present_call; call; call = call->outer)
        if (call->activity != SHMEMI_AT_TRANSFER && call->activity != SHMEMI_AT_DEEP &&
            call->activity != SHMEMI_AT_DETAIL)
            return false;
    return true;
}

static void note(enum shmemi_transfer transfer, const struct shmemi_view *view, size_t offset, size_t nbytes,
                 uint64_t begin)
{
    uint64_t end = shmemi_clock();
    const struct measuring *driver = behind(view);
    const char *routine = shmemi_present_routine();
    if (!is_of_program())
        transfer = SHMEMI_TRANSFER_INTERNAL;
    else if (transfer == SHMEMI_TRANSFER_AMO && routine && strstr(routine, "signal"))
        transfer = SHMEMI_TRANSFER_SIGNAL;
    tally(&shmemi_sight.transfer[driver - measuring][transfer], nbytes, end - begin);
    shmemi_trace_transfer(&(struct shmemi_trace_transfer){
        .name = routine ? routine : transfer_names[transfer],
        .category = transfer_names[transfer],
        .route = driver->real->name,
        .pe = view->pe,
        .region = view->region,
        .offset = offset,
        .nbytes = nbytes,
        .begin = begin,
        .end = end,
    });
}

void shmemi_sight_enqueued(const struct shmemi_view *view, size_t offset, size_t nbytes, uint64_t begin)
{
    if (begin)
        note(SHMEMI_TRANSFER_ON_STREAM, view, offset, nbytes, begin);
}

/* MEASURE(slot, transfer, bytes, parameters, arguments): parameters and arguments follow context, view and offset. */
#define UNPACK(...) __VA_ARGS__
#define MEASURE(slot, transfer, nbytes, parameters, arguments)                                                         \
    static int measure_##slot(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,           \
                              UNPACK parameters)                                                                       \
    {                                                                                                                  \
        uint64_t begin = shmemi_clock();                                                                               \
        int rc = behind(view)->real->slot(context, view, offset, UNPACK arguments);                                    \
        note(SHMEMI_TRANSFER_##transfer, view, offset, nbytes, begin);                                                 \
        return rc;                                                                                                     \
    }

MEASURE(put, PUT, size, (const struct shmemi_place *source, size_t size), (source, size))
MEASURE(get, GET, size, (const struct shmemi_place *dest, size_t size), (dest, size))
MEASURE(put_nbi, PUT_NBI, size, (const struct shmemi_place *source, size_t size), (source, size))
MEASURE(get_nbi, GET_NBI, size, (const struct shmemi_place *dest, size_t size), (dest, size))
MEASURE(put_strided, IPUT, shape->width * shape->rows,
        (const struct shmemi_place *source, const struct shmemi_shape *shape), (source, shape))
MEASURE(put_strided_nbi, IPUT, shape->width * shape->rows,
        (const struct shmemi_place *source, const struct shmemi_shape *shape), (source, shape))
MEASURE(get_strided, IGET, shape->width * shape->rows,
        (const struct shmemi_place *dest, const struct shmemi_shape *shape), (dest, shape))
MEASURE(amo, AMO, amo->size, (const struct shmemi_amo *amo, void *fetch_p), (amo, fetch_p))
MEASURE(amo_nbi, AMO_NBI, amo->size, (const struct shmemi_amo *amo, void *fetch_p), (amo, fetch_p))

/* A put and a signal; the time is the put's. */
static int measure_put_signal(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                              const struct shmemi_place *source, size_t nbytes, const struct shmemi_word_update *signal,
                              bool is_blocking)
{
    uint64_t begin = shmemi_clock();
    int rc = behind(view)->real->collecting->put_signal(context, view, offset, source, nbytes, signal, is_blocking);
    if (rc == -ENOTSUP)
        return rc;
    note(is_blocking ? SHMEMI_TRANSFER_PUT : SHMEMI_TRANSFER_PUT_NBI, view, offset, nbytes, begin);
    note(SHMEMI_TRANSFER_AMO, signal->view, signal->offset, signal->amo.size, shmemi_clock());
    return rc;
}

/* A single put or get would be measured before it has been carried out: it takes the usual way. */
static int refuse(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                  const struct shmemi_place *mine, size_t nbytes)
{
    (void)context, (void)view, (void)offset, (void)mine, (void)nbytes;
    return -EAGAIN;
}

static const struct shmemi_collecting measured_collecting = {refuse, refuse, measure_put_signal};

/* What is not measured goes to the real driver at once. */
const struct shmemi_driver *shmemi_sight_driver(const struct shmemi_driver *real, unsigned number)
{
    if (!shmemi_sight.is_on || number >= SHMEMI_SIGHT_ROUTES_MAX)
        return real;
    struct shmemi_driver *face = &measuring[number].face;
    *face = *real;
    face->put = measure_put;
    face->get = measure_get;
    face->put_nbi = measure_put_nbi;
    face->get_nbi = measure_get_nbi;
    face->put_strided = measure_put_strided;
    face->put_strided_nbi = measure_put_strided_nbi;
    face->get_strided = measure_get_strided;
    face->amo = measure_amo;
    face->amo_nbi = measure_amo_nbi;
    face->collecting = real->collecting ? &measured_collecting : NULL;
    measuring[number].real = real;
    return face;
}

/* ---- What is no transfer ----------------------------------------------------------------------------------------- */

void shmemi_sight_note_call(const struct shmemi_call *call)
{
    uint64_t end = shmemi_clock();
    if (!call->begin)
        return;       /* it began before the measuring did */
    if (!call->outer) /* else it is a part of another */
        tally(&shmemi_sight.activity[call->activity], 0, end - call->begin);
    shmemi_trace_span(call->routine ? call->routine : activity_names[call->activity], activity_names[call->activity],
                      call->begin, end);
}

void shmemi_sight_served(const char *operation, uint64_t begin, int origin, uint32_t region, uint64_t offset,
                         uint64_t nbytes)
{
    uint64_t end = shmemi_clock();
    tally(&shmemi_sight.served, nbytes, end - begin);
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

static void note_device_copy(const struct shmemi_device_copy *copy)
{
    shmemi_trace_copy(copy->memory->name, copy->device, copy->queue, copy->what, copy->nbytes, copy->begin, copy->end);
}

/* ---- Begin and end ----------------------------------------------------------------------------------------------- */

int shmemi_sight_open(void)
{
    bool traces = shmemi_settings.trace[0];
    memset(&shmemi_sight, 0, sizeof shmemi_sight);
    memset(measuring, 0, sizeof measuring);
    shmemi_watch_open();
    shmemi_sight.is_on = traces || shmemi_settings.stats;
    shmemi_log_last_words = traces ? shmemi_trace_last : NULL;
    shmemi_copy_observer = traces ? note_device_copy : NULL;
    return traces ? shmemi_trace_open() : 0;
}

/* The service thread may be counting already. */
static void clear(struct shmemi_tally *tally)
{
    atomic_store_explicit(&tally->count, 0, memory_order_relaxed);
    atomic_store_explicit(&tally->bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&tally->ns, 0, memory_order_relaxed);
}

void shmemi_sight_start(void)
{
    for (int route = 0; route < SHMEMI_SIGHT_ROUTES_MAX; route++)
        for (int transfer = 0; transfer < SHMEMI_TRANSFERS; transfer++)
            clear(&shmemi_sight.transfer[route][transfer]);
    for (int activity = 0; activity < SHMEMI_ACTIVITIES; activity++)
        clear(&shmemi_sight.activity[activity]);
    clear(&shmemi_sight.served);
    if (shmemi_settings.trace[0])
        shmemi_trace_start();
}

void shmemi_sight_close(void)
{
    shmemi_watch_close();
    shmemi_log_last_words = NULL;
    shmemi_copy_observer = NULL;
    shmemi_sight.is_on = false;
}
