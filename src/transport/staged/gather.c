/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What contexts hold back: how a burst is recognised, and when it leaves. batch.c has the batches, waiting.c lets what is
 * held back leave without the program.
 */
#include "transport/staged/gather.h"

#include "base/likely.h"
#include "base/log.h"
#include "instrument/measure.h"
#include "transport/staged/batch.h"
#include "transport/staged/waiting.h"

#include <errno.h>
#include <stdlib.h>

enum {
    PITCH_MAX = 1 << 30,    /* bytes from one transfer of a run to the next */
    BATCH_BEGINS_AFTER = 4, /* puts, ...                                                         */
    BURST_GAP_NS = 20000,   /* ... each so soon after the one before, with no wait in between */
};

/* Transfers alike, the last of them, and how many of those are held back. */
struct run {
    const struct shmemi_view *view;
    struct shmemi_place mine; /* of the first that is held back */
    size_t offset;
    size_t nbytes;                 /* of each */
    size_t rows;                   /* held back */
    size_t peer_pitch, mine_pitch; /* from one to the next */
    size_t last_offset;            /* of the last, held back or not */
    uintptr_t last_address;
    size_t n_alike; /* so many followed each other at these distances */
    bool is_put;
};

/* Under the context's gather_lock. */
struct shmemi_gather {
    struct shmemi_waiting waiting; /* the first member */
    struct shmemi_context *context;
    struct run run;
    struct shmemi_batch *batch; /* NULL: none yet */
    bool is_burst;              /* of puts for the batch */
    unsigned n_puts;
    uint64_t last_put; /* time */
};

/* ---- Leaving, with the context locked ---------------------------------------------------------------------------- */

static struct shmemi_shape shape_of(const struct run *run)
{
    if (run->mine_pitch == run->nbytes && run->peer_pitch == run->nbytes)
        return shmemi_shape_linear(run->nbytes * run->rows);
    return (struct shmemi_shape){
        .width = run->nbytes,
        .rows = run->rows,
        .dest_pitch = run->is_put ? run->peer_pitch : run->mine_pitch,
        .source_pitch = run->is_put ? run->mine_pitch : run->peer_pitch,
    };
}

static int transfer(struct shmemi_context *context, const struct run *run, const struct shmemi_shape *shape)
{
    const struct shmemi_driver *driver = run->view->driver;
    if (shape->rows > 1)
        return (run->is_put ? driver->put_strided_nbi : driver->get_strided_nbi)(context, run->view, run->offset,
                                                                                 &run->mine, shape);
    return (run->is_put ? driver->put_nbi : driver->get_nbi)(context, run->view, run->offset, &run->mine, shape->width);
}

static int send_run(struct shmemi_gather *gather)
{
    struct run *run = &gather->run;
    if (!run->rows)
        return 0;
    const struct shmemi_shape shape = shape_of(run);
    run->rows = 0;
    return transfer(gather->context, run, &shape);
}

/* Everything leaves, and what comes next is no part of these bursts. */
static int send_all(struct shmemi_gather *gather)
{
    int rc = send_run(gather), rc_batch = shmemi_batch_send_all(gather->batch, gather->context);
    gather->run.view = NULL;
    gather->is_burst = false;
    gather->n_puts = 0;
    return rc ? rc : rc_batch;
}

static int send_without_program(struct shmemi_waiting *waiting)
{
    return send_all((struct shmemi_gather *)waiting);
}

static int flush(struct shmemi_context *context)
{
    struct shmemi_gather *gather = atomic_load_explicit(&context->gather, memory_order_acquire);
    if (!gather)
        return 0;
    shmemi_biased_lock(&gather->context->gather_lock);
    shmemi_waiting_end(&gather->waiting);
    int rc = send_all(gather), failed = gather->waiting.failed;
    gather->waiting.failed = 0;
    shmemi_biased_unlock(&gather->context->gather_lock);
    return rc ? rc : failed;
}

/* ---- Contexts ---------------------------------------------------------------------------------------------------- */

/* Several threads may need it at once. NULL: this context holds nothing back. */
static __attribute__((noinline)) struct shmemi_gather *make_gather(struct shmemi_context *context)
{
    struct shmemi_gather *none = NULL, *gather = context->may_gather ? calloc(1, sizeof *gather) : NULL;
    if (!gather)
        return NULL;
    gather->context = context;
    gather->waiting = (struct shmemi_waiting){.context = context, .send = send_without_program};
    if (atomic_compare_exchange_strong(&context->gather, &none, gather))
        return gather;
    free(gather);
    return none;
}

static inline struct shmemi_gather *gather_of(struct shmemi_context *context)
{
    struct shmemi_gather *gather = atomic_load_explicit(&context->gather, memory_order_acquire);
    return shmemi_likely(gather != NULL) ? gather : make_gather(context);
}

static int begin(struct shmemi_context *context, size_t expected)
{
    struct shmemi_gather *gather = gather_of(context);
    if (!gather)
        return 0;
    shmemi_biased_lock(&gather->context->gather_lock);
    if (!gather->batch)
        gather->batch = shmemi_batch_open(expected);
    shmemi_biased_unlock(&gather->context->gather_lock);
    atomic_store_explicit(&context->in_session, true, memory_order_relaxed);
    return 0;
}

static int end(struct shmemi_context *context)
{
    atomic_store_explicit(&context->in_session, false, memory_order_relaxed);
    return flush(context);
}

static void close(struct shmemi_context *context)
{
    struct shmemi_gather *gather = atomic_exchange(&context->gather, NULL);
    if (!gather)
        return;
    shmemi_biased_lock(&gather->context->gather_lock); /* whoever was at work on it has left */
    shmemi_waiting_end(&gather->waiting);
    shmemi_biased_unlock(&gather->context->gather_lock);
    shmemi_batch_close(gather->batch);
    free(gather);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static inline bool is_alike(const struct run *run, const struct shmemi_view *view, const struct shmemi_place *mine,
                            size_t nbytes, bool is_put)
{
    return run->view == view && run->nbytes == nbytes && run->is_put == is_put && run->mine.object == mine->object &&
           run->mine.memory == mine->memory;
}

/* A transfer that does not go on with the run: it may be the first or second of another. */
static int begin_run(struct shmemi_gather *gather, const struct shmemi_view *view, size_t offset,
                     const struct shmemi_place *mine, size_t nbytes, bool is_put)
{
    struct run *run = &gather->run;
    const size_t peer_pitch = offset - run->last_offset, mine_pitch = mine->address - run->last_address;
    const bool is_second = is_alike(run, view, mine, nbytes, is_put) && peer_pitch >= nbytes && mine_pitch >= nbytes &&
                           peer_pitch <= PITCH_MAX && mine_pitch <= PITCH_MAX;
    int rc = send_run(gather);
    *run = (struct run){.view = view, .mine = *mine, .nbytes = nbytes, .is_put = is_put};
    if (is_second) {
        run->peer_pitch = peer_pitch;
        run->mine_pitch = mine_pitch;
        run->n_alike = 1;
    }
    return rc;
}

/* Hold back a transfer that goes on with the run. */
static int hold(struct shmemi_gather *gather, size_t offset, const struct shmemi_place *mine, size_t most)
{
    struct run *run = &gather->run;
    if (!run->rows++) {
        run->mine = *mine;
        run->offset = offset;
        shmemi_waiting_begin(&gather->waiting);
    }
    return run->rows * run->nbytes >= most ? send_run(gather) : 0;
}

static bool goes_on(const struct run *run, const struct shmemi_view *view, size_t offset,
                    const struct shmemi_place *mine, size_t nbytes, bool is_put)
{
    return run->n_alike && is_alike(run, view, mine, nbytes, is_put) && offset - run->last_offset == run->peer_pitch &&
           mine->address - run->last_address == run->mine_pitch;
}

static int add_to_run(struct shmemi_gather *gather, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *mine, size_t nbytes, bool is_put,
                      const struct shmemi_run_limits *limits)
{
    struct run *run = &gather->run;
    int rc = 0;
    if (goes_on(run, view, offset, mine, nbytes, is_put))
        run->n_alike++;
    else
        rc = begin_run(gather, view, offset, mine, nbytes, is_put);
    run->last_offset = offset;
    run->last_address = mine->address;
    if (rc)
        return rc;
    return run->n_alike > limits->begins_after ? hold(gather, offset, mine, limits->most) : -EAGAIN;
}

int shmemi_gather_run(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *mine, size_t nbytes, bool is_put,
                      const struct shmemi_run_limits *limits)
{
    struct shmemi_gather *gather = nbytes <= SHMEMI_GATHERED_MAX ? gather_of(context) : NULL;
    if (!gather)
        return -EAGAIN;
    shmemi_biased_lock(&gather->context->gather_lock);
    int rc = add_to_run(gather, view, offset, mine, nbytes, is_put, limits);
    shmemi_biased_unlock(&gather->context->gather_lock);
    return rc;
}

const struct shmemi_gathering shmemi_gather_gathering = {begin, flush, end, close};

/* ---- Batches ----------------------------------------------------------------------------------------------------- */

/* Is this put one of many that follow each other quickly? */
static bool is_in_burst(struct shmemi_gather *gather)
{
    if (gather->is_burst || shmemi_gather_is_session(gather->context))
        return true;
    const uint64_t now = shmemi_clock();
    if (now - gather->last_put > BURST_GAP_NS)
        gather->n_puts = 0;
    gather->last_put = now;
    gather->is_burst = ++gather->n_puts > BATCH_BEGINS_AFTER;
    return gather->is_burst;
}

static int add_to_batch(struct shmemi_gather *gather, const struct shmemi_view *view, size_t offset, const void *source,
                        size_t nbytes)
{
    if (!is_in_burst(gather))
        return -EAGAIN;
    if (!gather->batch)
        gather->batch = shmemi_batch_open(SIZE_MAX);
    if (!gather->batch)
        return -EAGAIN;
    shmemi_waiting_begin(&gather->waiting);
    return shmemi_batch_add(gather->batch, gather->context, view, offset, source, nbytes);
}

int shmemi_gather_bytes(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                        const void *source, size_t nbytes)
{
    struct shmemi_gather *gather = nbytes <= SHMEMI_BATCHED_PUT_MAX ? gather_of(context) : NULL;
    if (!gather)
        return -EAGAIN;
    shmemi_biased_lock(&gather->context->gather_lock);
    int rc = add_to_batch(gather, view, offset, source, nbytes);
    shmemi_biased_unlock(&gather->context->gather_lock);
    return rc;
}
