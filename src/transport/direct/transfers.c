/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers to and from GPU memory that this process has an address for: one copy by the memory kind, without the
 * owner. Nonblocking ones are started and collected at quiet; small ones go into lists, and so do blocking puts from
 * host memory.
 */
#include "transport/direct/direct.h"

#include "transport/collect/gpu_list.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum {
    COPIES_PER_MARK = 32,
    IN_FLIGHT_MAX = 256, /* copies of a context, and marks */
};

/* A copy under way with an event of its own, or a mark: one event recorded after several copies. With an event after
 * each copy, bursts took up to 2.7 times as long as copies without events. */
struct shmemi_copy {
    struct shmemi_copy *next; /* of the same context */
    uint64_t number;          /* from 1, counted per context */
    struct shmemi_event event;
};

/* Protects the copies of all contexts; held for a few instructions and the test of an event, never during a wait. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- Copies under way -------------------------------------------------------------------------------------------- */

/* With the lock held. */
static void append(struct shmemi_context *context, struct shmemi_copy *copy)
{
    copy->next = NULL;
    copy->number = ++context->copies.started;
    if (context->copies.newest)
        context->copies.newest->next = copy;
    else
        context->copies.oldest = copy;
    context->copies.newest = copy;
}

static void note_failure(struct shmemi_context *context, int rc)
{
    if (rc && !context->copies.failed)
        context->copies.failed = rc;
}

/* Set a mark after the copies that have none. With the lock held. Quiet reports failures. */
static void mark(struct shmemi_context *context)
{
    const struct shmemi_burst *burst = &context->copies.unmarked;
    struct shmemi_event event;
    if (!context->copies.n_unmarked)
        return;
    context->copies.n_unmarked = 0;
    int rc = burst->memory->bursts->mark(burst, &event);
    struct shmemi_copy *copy = rc ? NULL : malloc(sizeof *copy);
    if (copy) {
        copy->event = event;
        append(context, copy);
    } else if (!rc) {
        rc = burst->memory->event_wait(&event);
    }
    note_failure(context, rc);
}

/* Does the copy belong to another burst than the unmarked ones? Then those need a mark first. */
static bool is_other_burst(const struct shmemi_context *context, const struct shmemi_burst *burst)
{
    const struct shmemi_burst *last = &context->copies.unmarked;
    return last->memory != burst->memory || last->object != burst->object || last->handle != burst->handle;
}

/* Count a copy that has been started. Returns the number of the last mark, or copy with an event, before it. */
static uint64_t count_unmarked(struct shmemi_context *context, const struct shmemi_burst *burst)
{
    pthread_mutex_lock(&lock);
    if (is_other_burst(context, burst))
        mark(context);
    context->copies.unmarked = *burst;
    if (++context->copies.n_unmarked == COPIES_PER_MARK)
        mark(context);
    uint64_t number = context->copies.started;
    pthread_mutex_unlock(&lock);
    return number;
}

/* Set a mark if copies have none. Returns the number of the last mark or copy. */
static uint64_t mark_all(struct shmemi_context *context)
{
    pthread_mutex_lock(&lock);
    mark(context);
    uint64_t number = context->copies.started;
    pthread_mutex_unlock(&lock);
    return number;
}

/* Take the oldest copy off the context if it is complete; false: it is not. With the lock held. */
static bool collect_oldest(struct shmemi_context *context)
{
    struct shmemi_copy *copy = context->copies.oldest;
    int rc = copy->event.memory->event_test(&copy->event);
    if (rc == -EAGAIN)
        return false;
    note_failure(context, rc);
    context->copies.oldest = copy->next;
    if (!copy->next)
        context->copies.newest = NULL;
    free(copy);
    return true;
}

static bool are_complete(struct shmemi_context *context, uint64_t number)
{
    pthread_mutex_lock(&lock);
    while (context->copies.oldest && context->copies.oldest->number <= number && collect_oldest(context))
        continue;
    bool complete = !context->copies.oldest || context->copies.oldest->number > number;
    pthread_mutex_unlock(&lock);
    return complete;
}

/* Wait for the copies up to this number. */
static void complete(struct shmemi_context *context, uint64_t number)
{
    unsigned spins = 0;
    while (!are_complete(context, number))
        shmemi_progress(&spins);
}

/* Can the kind of memory start the copy alone? The other side must be host memory or of the same kind. */
static bool can_start(const struct shmemi_place *dest, const struct shmemi_place *source)
{
    return dest->memory == source->memory || dest->memory == &shmemi_memory_host ||
           source->memory == &shmemi_memory_host;
}

/* Start a copy with an event of its own. *number_p is its number, or 0 when it was done at once or has failed. */
static int start_with_event(struct shmemi_context *context, const struct shmemi_place *dest,
                            const struct shmemi_place *source, const struct shmemi_shape *shape, uint64_t *number_p)
{
    const struct shmemi_memory *memory = dest->memory == &shmemi_memory_host ? source->memory : dest->memory;
    struct shmemi_copy *copy = malloc(sizeof *copy);
    *number_p = 0;
    if (!copy)
        return shmemi_memory_copy(dest, source, shape);
    int rc = memory->copy_start(dest, source, shape, &copy->event);
    if (rc) {
        free(copy);
        return rc;
    }
    pthread_mutex_lock(&lock);
    mark(context);
    append(context, copy);
    *number_p = copy->number;
    pthread_mutex_unlock(&lock);
    return 0;
}

static int start(struct shmemi_context *context, const struct shmemi_place *dest, const struct shmemi_place *source,
                 const struct shmemi_shape *shape)
{
    if (!can_start(dest, source))
        return shmemi_memory_copy(dest, source, shape);
    const struct shmemi_memory *memory = dest->memory == &shmemi_memory_host ? source->memory : dest->memory;
    struct shmemi_burst burst;
    uint64_t number;
    int rc = memory->bursts ? memory->bursts->copy(dest, source, shape, &burst) : -ENOTSUP;
    if (!rc)
        number = count_unmarked(context, &burst);
    else if (rc == -ENOTSUP)
        rc = start_with_event(context, dest, source, shape, &number);
    if (rc)
        return rc;
    shmemi_pending_issue(&context->pending, SHMEMI_PENDING_DIRECT);
    if (number > IN_FLIGHT_MAX)
        complete(context, number - IN_FLIGHT_MAX);
    return 0;
}

/* Contiguous bytes, by a list if they are few. */
static int start_or_collect(const struct shmemi_transfer *transfer)
{
    const struct shmemi_ends ends = shmemi_transfer_ends(transfer);
    struct shmemi_context *context = transfer->context;
    int rc =
        context->by_engines ? -EAGAIN : shmemi_gpu_list_copy(context, &ends.dest, &ends.source, transfer->shape.width);
    return rc == -EAGAIN ? start(context, &ends.dest, &ends.source, &transfer->shape) : rc;
}

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

/* A list's buffer is page-locked, so that the copy into it is faster than into most other memory. */
static int copy_by_list(const struct shmemi_transfer *transfer)
{
    const struct shmemi_ends ends = shmemi_transfer_ends(transfer);
    return (transfer->is_put ? shmemi_gpu_list_copy : shmemi_gpu_list_copy_now)(transfer->context, &ends.dest,
                                                                                &ends.source, transfer->shape.width);
}

/* Before what is not itself a list, the context's collected list is started, on this thread's stream. */
int shmemi_direct_transfer(const struct shmemi_transfer *transfer)
{
    const struct shmemi_ends ends = shmemi_transfer_ends(transfer);
    const bool is_contiguous = transfer->shape.rows == 1;
    if (is_contiguous && !transfer->is_blocking)
        return start_or_collect(transfer);
    int rc = is_contiguous && shmemi_transfer_is_host(transfer) ? copy_by_list(transfer) : -EAGAIN;
    if (rc != -EAGAIN)
        return rc;
    rc = shmemi_gpu_list_flush(transfer->context);
    if (rc)
        return rc;
    return transfer->is_blocking ? shmemi_memory_copy(&ends.dest, &ends.source, &transfer->shape)
                                 : start(transfer->context, &ends.dest, &ends.source, &transfer->shape);
}

/* ---- Completion -------------------------------------------------------------------------------------------------- */

static int quiet(struct shmemi_context *context)
{
    int rc_lists = shmemi_gpu_list_flush(context);
    complete(context, mark_all(context));
    int rc_late = shmemi_gpu_list_complete(context); /* whatever has failed, those under way are over */
    pthread_mutex_lock(&lock);
    int rc = context->copies.failed;
    context->copies.failed = 0;
    pthread_mutex_unlock(&lock);
    return rc ? rc : rc_lists ? rc_lists : rc_late;
}

/* Quiet reports failures. */
static int poll(struct shmemi_context *context)
{
    return are_complete(context, mark_all(context)) && shmemi_gpu_list_is_finished(context) ? 0 : -EAGAIN;
}

const struct shmemi_completion shmemi_completion_direct = {
    .fence_completes = true,
    .fence = quiet,
    .quiet = quiet,
    .poll = poll,
};

/* ---- Put with signal --------------------------------------------------------------------------------------------- */

/* A copy and a list that the same thread starts for the same object are carried out in that order. */
static int start_then_update(const struct shmemi_transfer *put, const struct shmemi_place *word,
                             const struct shmemi_amo *amo)
{
    const struct shmemi_ends ends = shmemi_transfer_ends(put);
    struct shmemi_context *context = put->context;
    int rc = shmemi_gpu_list_copy_then_amo(context, &ends.dest, &ends.source, put->shape.width, word, amo);
    if (rc != -EAGAIN)
        return rc;
    bool is_ordered = ends.dest.object == word->object && (shmemi_transfer_is_host(put) || put->mine.object);
    if (!is_ordered)
        return -ENOTSUP;
    rc = start_or_collect(put);
    if (rc)
        return rc;
    rc = shmemi_gpu_list_copy_then_amo(context, NULL, NULL, 0, word, amo);
    if (rc != -EAGAIN)
        return rc;
    rc = quiet(context);
    return rc ? rc : shmemi_gpu_list_amo(context, word, amo, NULL);
}

int shmemi_direct_put_signal(const struct shmemi_transfer *put, const struct shmemi_word_update *signal)
{
    const struct shmemi_place word = shmemi_view_place(signal->view, signal->offset);
    if (!signal->view->by_atomic_unit || put->context->by_engines)
        return -ENOTSUP;
    int rc = start_then_update(put, &word, &signal->amo);
    if (rc || !put->is_blocking)
        return rc;
    return quiet(put->context); /* the source is free then */
}
