/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which sink takes a transfer, and delivery.
 */
#include "transport/collect/hold_back.h"

#include "base/likely.h"
#include "transport/collect/gpu_list.h"
#include "transport/collect/held.h"
#include "transport/collect/sinks.h"

#include <errno.h>
#include <stdlib.h>

/* ---- Rows and batches: with the context's `puts.lock` held ------------------------------------------------------- */

/* Everything leaves, and what comes next is no part of these bursts. */
static int send_puts(struct shmemi_context *context)
{
    struct shmemi_collector *collector = atomic_load_explicit(&context->collector, memory_order_acquire);
    int rc = shmemi_row_burst_send(collector, context), rc_batch = shmemi_put_batch_send(collector, context);
    return rc ? rc : rc_batch;
}

/* Several threads may need it at once. NULL: this context holds none back. */
static __attribute__((noinline)) struct shmemi_collector *make_collector(struct shmemi_context *context)
{
    struct shmemi_collector *none = NULL, *collector = context->may_gather ? calloc(1, sizeof *collector) : NULL;
    if (!collector || atomic_compare_exchange_strong(&context->collector, &none, collector))
        return collector;
    free(collector);
    return none;
}

static inline struct shmemi_collector *collector_of(struct shmemi_context *context)
{
    struct shmemi_collector *collector = atomic_load_explicit(&context->collector, memory_order_acquire);
    return shmemi_likely(collector != NULL) ? collector : make_collector(context);
}

static inline int take_puts(const struct shmemi_transfer *transfer, unsigned sinks)
{
    struct shmemi_context *context = transfer->context;
    struct shmemi_collector *collector = collector_of(context);
    int rc = -EAGAIN;
    if (!collector)
        return rc;
    shmemi_biased_lock(&context->puts.lock);
    if (sinks & SHMEMI_SINK_BATCH)
        rc = shmemi_put_batch_take(collector, transfer);
    if (rc == -EAGAIN && sinks & SHMEMI_SINK_ROWS)
        rc = shmemi_row_burst_take(collector, transfer);
    if (!rc)
        shmemi_held_begin(context, &context->puts, send_puts);
    shmemi_biased_unlock(&context->puts.lock);
    return rc;
}

/* ---- All sinks --------------------------------------------------------------------------------------------------- */

/* Lists take what is small on GPU memory, so that rows are what is too long for them. */
int shmemi_hold_back(const struct shmemi_transfer *transfer)
{
    const struct shmemi_driver *driver = transfer->view->driver;
    unsigned sinks = driver->sinks;
    int rc = -EAGAIN;
    if (transfer->context->by_engines && driver->copies_itself)
        return rc; /* a list would end in a kernel of this PE */
    if (sinks & SHMEMI_SINK_BATCH_IN_SESSION && shmemi_context_is_in_session(transfer->context))
        sinks |= SHMEMI_SINK_BATCH;
    if (sinks & SHMEMI_SINK_LIST)
        rc = shmemi_gpu_list_take(transfer);
    if (driver->is_left_to_owner && driver->is_left_to_owner(transfer))
        sinks &= ~(unsigned)SHMEMI_SINK_ROWS; /* which would wait for the turn of this process */
    if (rc == -EAGAIN && sinks & (SHMEMI_SINK_BATCH | SHMEMI_SINK_ROWS))
        rc = take_puts(transfer, sinks);
    return rc;
}

int shmemi_collect_deliver_puts(struct shmemi_context *context)
{
    atomic_store_explicit(&context->lists.n_alone, 0, memory_order_relaxed);
    if (!atomic_load_explicit(&context->collector, memory_order_acquire))
        return 0;
    shmemi_biased_lock(&context->puts.lock);
    shmemi_held_end(&context->puts);
    int rc = send_puts(context), failed = shmemi_held_take_failure(&context->puts);
    shmemi_biased_unlock(&context->puts.lock);
    return rc ? rc : failed;
}

int shmemi_collect_deliver(struct shmemi_context *context)
{
    /* lists come last, since rows may end in one */
    int rc = shmemi_collect_deliver_puts(context), rc_lists = shmemi_gpu_list_flush(context);
    return rc ? rc : rc_lists;
}

int shmemi_collect_session_begin(struct shmemi_context *context, size_t expected)
{
    struct shmemi_collector *collector = collector_of(context);
    atomic_store_explicit(&context->in_session, true, memory_order_relaxed);
    if (!collector)
        return 0;
    shmemi_biased_lock(&context->puts.lock);
    shmemi_put_batch_open(collector, expected);
    shmemi_biased_unlock(&context->puts.lock);
    return 0;
}

int shmemi_collect_session_end(struct shmemi_context *context)
{
    atomic_store_explicit(&context->in_session, false, memory_order_relaxed);
    return shmemi_collect_deliver(context);
}

void shmemi_collect_close(struct shmemi_context *context)
{
    struct shmemi_collector *collector = atomic_exchange(&context->collector, NULL);
    if (!collector)
        return;
    shmemi_biased_lock(&context->puts.lock); /* whoever was at work on it has left */
    shmemi_held_end(&context->puts);
    shmemi_biased_unlock(&context->puts.lock);
    shmemi_put_batch_close(collector);
    free(collector);
}
