/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times of copies on the GPU, by the host's clock. The driver only gives the time between two events, so each context has
 * an event whose host time is known, its origin. Such differences are floats in milliseconds: if the origin was too old
 * they would be coarse, so it is replaced as soon as no copy refers to it.
 */
#include "gpu/device/timing.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { UNDER_WAY_MAX = 4096, ORIGINS_MAX = 32 };

/* The origin of times of a context (see above). */
struct origin {
    struct shmemi_gpu_context *context;
    void *stream; /* a separate one, so that the event does not wait for copies */
    void *event;
    uint64_t at;      /* host time of the event */
    unsigned n_users; /* timings under way */
};

struct shmemi_gpu_timing {
    struct shmemi_gpu_timing *next;
    struct origin *origin;
    void *stream;
    void *begin, *end;
    uint64_t enqueued_at; /* host time; the copy cannot have begun before */
    uint64_t nbytes;
    const char *what;
};

static struct {
    pthread_mutex_t lock;
    struct origin origin[ORIGINS_MAX];
    unsigned n_origins;
    struct shmemi_gpu_timing *oldest, *newest; /* timings whose copies are enqueued */
    struct shmemi_gpu_timing *unused;
    unsigned n_under_way;
    void *queue[64]; /* the stream of each queue number in reports */
    unsigned n_queues;
} timings = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Origins ----------------------------------------------------------------------------------------------------- */

/* The event happens between two readings of the clock, a few microseconds apart. */
static bool set_origin(struct origin *origin)
{
    uint64_t before = shmemi_clock();
    if (shmemi_gpu.event_record(origin->event, origin->stream) || shmemi_gpu.event_synchronize(origin->event))
        return false;
    uint64_t after = shmemi_clock();
    origin->at = before + (after - before) / 2;
    return true;
}

static struct origin *make_origin(struct shmemi_gpu_context *context)
{
    struct origin *origin = &timings.origin[timings.n_origins];
    if (timings.n_origins == ORIGINS_MAX)
        return NULL;
    *origin = (struct origin){.context = context};
    if (shmemi_gpu.stream_create(&origin->stream, SHMEMI_GPU_STREAM_NON_BLOCKING))
        return NULL;
    if (shmemi_gpu.event_create(&origin->event, 0))
        goto err_stream;
    /* the first use of an event and a stream takes longer than later ones */
    if (!set_origin(origin) || !set_origin(origin))
        goto err_event;
    timings.n_origins++;
    return origin;

err_event:
    shmemi_gpu.event_destroy(origin->event);
err_stream:
    shmemi_gpu.stream_destroy(origin->stream);
    return NULL;
}

static struct origin *origin_of(struct shmemi_gpu_context *context)
{
    struct origin *origin = timings.origin, *end = origin + timings.n_origins;
    while (origin < end && origin->context != context)
        origin++;
    if (origin == end)
        return make_origin(context);
    if (!origin->n_users && shmemi_clock() - origin->at > SHMEMI_TIMING_ORIGIN_NS && !set_origin(origin))
        return NULL;
    return origin;
}

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

static unsigned queue_number(void *stream)
{
    const unsigned most = sizeof timings.queue / sizeof timings.queue[0];
    unsigned number = 0;
    while (number < timings.n_queues && timings.queue[number] != stream)
        number++;
    if (number == timings.n_queues && timings.n_queues < most)
        timings.queue[timings.n_queues++] = stream;
    return number < most ? number : most - 1;
}

static void observe(const struct shmemi_gpu_timing *timing)
{
    float since_origin, duration;
    if (shmemi_gpu.event_elapsed(&since_origin, timing->origin->event, timing->begin) ||
        shmemi_gpu.event_elapsed(&duration, timing->begin, timing->end))
        return;
    double begin = (double)timing->origin->at + (double)since_origin * 1e6;
    if (begin < (double)timing->enqueued_at)
        begin = (double)timing->enqueued_at; /* the origin is known to a few microseconds only */
    struct shmemi_device_copy copy = {
        .memory = shmemi_gpu.memory,
        .device = timing->origin->context->device,
        .queue = queue_number(timing->stream),
        .what = timing->what,
        .nbytes = timing->nbytes,
        .begin = (uint64_t)begin,
        .end = (uint64_t)(begin + (double)duration * 1e6),
    };
    shmemi_copy_observer(&copy);
}

static void retire(struct shmemi_gpu_timing *timing)
{
    timing->origin->n_users--;
    timing->next = timings.unused;
    timings.unused = timing;
}

/* Report the copies that are complete, in the order in which they were enqueued: one that another stream completes
 * early is reported later. With the lock held. */
static void report(bool wait)
{
    bool pushed;
    struct shmemi_gpu_timing *timing;
    while ((timing = timings.oldest)) {
        if (shmemi_gpu_enter(timing->origin->context, &pushed))
            return;
        int result = wait ? shmemi_gpu.event_synchronize(timing->end) : shmemi_gpu.event_query(timing->end);
        if (!result && shmemi_copy_observer)
            observe(timing);
        shmemi_gpu_leave(pushed);
        if (result && shmemi_gpu.errno_of(result) == -EAGAIN)
            return;
        timings.oldest = timing->next;
        if (!timings.oldest)
            timings.newest = NULL;
        timings.n_under_way--;
        retire(timing);
    }
}

void shmemi_gpu_timings_report(void)
{
    pthread_mutex_lock(&timings.lock);
    report(false);
    pthread_mutex_unlock(&timings.lock);
}

/* ---- Timing a copy ----------------------------------------------------------------------------------------------- */

/* Events belong to a context: only one with the same origin can be used again. */
static struct shmemi_gpu_timing *take_unused(const struct origin *origin)
{
    struct shmemi_gpu_timing **link = &timings.unused, *timing;
    while (*link && (*link)->origin != origin)
        link = &(*link)->next;
    timing = *link;
    if (timing)
        *link = timing->next;
    return timing;
}

static struct shmemi_gpu_timing *make_timing(struct origin *origin)
{
    struct shmemi_gpu_timing *timing = calloc(1, sizeof *timing);
    if (!timing)
        return NULL;
    timing->origin = origin;
    if (shmemi_gpu.event_create(&timing->begin, 0))
        goto err_free;
    if (shmemi_gpu.event_create(&timing->end, 0))
        goto err_begin;
    return timing;

err_begin:
    shmemi_gpu.event_destroy(timing->begin);
err_free:
    free(timing);
    return NULL;
}

static struct shmemi_gpu_timing *take(struct shmemi_gpu_context *context)
{
    struct origin *origin = origin_of(context);
    if (!origin)
        return NULL;
    struct shmemi_gpu_timing *timing = take_unused(origin);
    if (!timing)
        timing = make_timing(origin);
    if (timing)
        origin->n_users++;
    return timing;
}

struct shmemi_gpu_timing *shmemi_gpu_timing_begin(struct shmemi_gpu_context *context, void *stream)
{
    pthread_mutex_lock(&timings.lock);
    report(timings.n_under_way >= UNDER_WAY_MAX);
    struct shmemi_gpu_timing *timing = take(context);
    if (timing) {
        timing->stream = stream;
        timing->enqueued_at = shmemi_clock();
        if (shmemi_gpu.event_record(timing->begin, stream)) {
            retire(timing);
            timing = NULL;
        }
    }
    pthread_mutex_unlock(&timings.lock);
    return timing;
}

void shmemi_gpu_timing_end(struct shmemi_gpu_timing *timing, int rc, const char *what, uint64_t nbytes)
{
    if (!timing)
        return;
    pthread_mutex_lock(&timings.lock);
    if (rc || shmemi_gpu.event_record(timing->end, timing->stream)) {
        retire(timing);
    } else {
        timing->what = what;
        timing->nbytes = nbytes;
        timing->next = NULL;
        if (timings.newest)
            timings.newest->next = timing;
        else
            timings.oldest = timing;
        timings.newest = timing;
        timings.n_under_way++;
    }
    pthread_mutex_unlock(&timings.lock);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

static void destroy_events(void)
{
    bool pushed;
    while (timings.unused) {
        struct shmemi_gpu_timing *timing = timings.unused;
        timings.unused = timing->next;
        if (!shmemi_gpu_enter(timing->origin->context, &pushed)) {
            shmemi_gpu.event_destroy(timing->begin);
            shmemi_gpu.event_destroy(timing->end);
            shmemi_gpu_leave(pushed);
        }
        free(timing);
    }
}

static void destroy_origins(void)
{
    bool pushed;
    for (unsigned i = 0; i < timings.n_origins; i++) {
        if (shmemi_gpu_enter(timings.origin[i].context, &pushed))
            continue;
        shmemi_gpu.event_destroy(timings.origin[i].event);
        shmemi_gpu.stream_destroy(timings.origin[i].stream);
        shmemi_gpu_leave(pushed);
    }
}

void shmemi_gpu_timings_close(void)
{
    pthread_mutex_lock(&timings.lock);
    report(true);
    destroy_events();
    destroy_origins();
    timings.oldest = timings.newest = NULL; /* any left belong to contexts that the program has destroyed */
    timings.n_under_way = timings.n_origins = timings.n_queues = 0;
    pthread_mutex_unlock(&timings.lock);
}
