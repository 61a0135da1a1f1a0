/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations in streams: those that the stream can carry out itself, and those that it waits for while the agent does
 * them.
 */
#include "transport/stream/stream.h"

#include "base/log.h"
#include "base/tuning.h"
#include "transport/drivers/exchange.h"
#include "bootstrap/job.h"
#include "transport/op/operation.h"
#include "transport/stream/agent.h"
#include "transport/stream/outbox.h"
#include "transport/stream/watched.h"
#include "transport/drivers/table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static atomic_bool is_used[SHMEMI_MEMTYPES];

/* Before the first operation in a stream or queue of this kind: threads of the library copy while one of the program
 * waits in the driver for a stream that waits for these copies. */
static void begin_use(const struct shmemi_memory *memory)
{
    if (memory->streams->commands && memory->streams->commands->make_ready())
        shmemi_warn("operations in streams of %s may wait for each other", memory->title);
    shmemi_transport_prepare_gpu(memory);
    if (shmemi_job.n_nodes > 1 && memory->streams->turn_begin_with_copy)
        shmemi_outbox_prepare(memory);
}

int shmemi_stream_open(int type, void *handle, struct shmemi_stream *stream_p, char *reason, size_t reason_size)
{
    const struct shmemi_memory *memory = shmemi_memory_of_type(type);
    if (!memory || !memory->streams) {
        snprintf(reason, reason_size, "there is no %s on this machine, or in this build",
                 shmemi_memory_type_name(type));
        return -ENODEV;
    }
    *stream_p = (struct shmemi_stream){.memory = memory, .handle = handle};
    int rc = memory->streams->open(stream_p, reason, reason_size);
    if (!rc && !atomic_load_explicit(&is_used[type], memory_order_relaxed) && !atomic_exchange(&is_used[type], true))
        begin_use(memory);
    return rc;
}

bool shmemi_stream_is_recording(const struct shmemi_stream *stream)
{
    const struct shmemi_streams *streams = stream->memory->streams;
    return streams->commands && streams->commands->is_recording(stream);
}

int shmemi_stream_refuse_recording(const struct shmemi_stream *stream)
{
    if (!shmemi_stream_is_recording(stream))
        return 0;
    shmemi_error("stream %p is being captured into a graph, which this operation cannot be part of: a thread of the "
                 "library takes part in it",
                 stream->handle);
    return -EBUSY;
}

/* ---- What the stream does alone ---------------------------------------------------------------------------------- */

bool shmemi_stream_lock_pages(const struct shmemi_stream *stream, const struct shmemi_view *view)
{
    static atomic_bool failed;
    char *base = shmemi_view_host(view);
    if (!stream->memory->pinning || !base || view->region != SHMEMI_REGION_HEAP || atomic_load(&failed))
        return false;
    int rc = stream->memory->pinning->pin(base, view->size);
    if (rc)
        atomic_store(&failed, true);
    return !rc;
}

static int enqueue_copy(const struct shmemi_stream *stream, const struct shmemi_transfer *transfer)
{
    const struct shmemi_stream_commands *commands = stream->memory->streams->commands;
    const struct shmemi_ends ends = shmemi_transfer_ends(transfer);
    return transfer->shape.rows > 1 ? commands->copy_shape(stream, &ends.dest, &ends.source, &transfer->shape)
                                    : commands->copy(stream, &ends.dest, &ends.source, transfer->shape.width);
}

static int copy_directly(const struct shmemi_stream *stream, const struct shmemi_transfer *transfer)
{
    if (!transfer->view->driver->is_direct || !stream->memory->streams->commands)
        return -ENOTSUP;
    int rc = enqueue_copy(stream, transfer);
    if (rc != -ENOTSUP)
        return rc;
    bool locked = shmemi_stream_lock_pages(stream, transfer->view);
    locked |= shmemi_stream_lock_pages(stream, shmemi_exchange_view(shmemi_job.pe)); /* the local end may lie there */
    return locked ? enqueue_copy(stream, transfer) : -ENOTSUP;
}

/* Let the stream copy, and count that. */
static int copy(const struct shmemi_stream *stream, const struct shmemi_transfer *transfer)
{
    uint64_t begin = shmemi_measure_begin();
    int rc = copy_directly(stream, transfer);
    if (!rc)
        shmemi_measure_enqueued(transfer->view, transfer->offset, shmemi_transfer_bytes(transfer), begin);
    return rc;
}

static struct shmemi_word word_of(const struct shmemi_stream_signal *signal)
{
    return (struct shmemi_word){shmemi_view_place(signal->view, signal->offset), signal->value, signal->step};
}

int shmemi_stream_steps(const struct shmemi_stream *stream, const struct shmemi_stream_signal *signals, unsigned n)
{
    struct shmemi_word words[SHMEMI_STEPS_MAX];
    bool locked = false;
    if (!stream->memory->streams->commands || n - 1 >= SHMEMI_STEPS_MAX)
        return -ENOTSUP;
    for (unsigned i = 0; i < n; i++) {
        if (!signals[i].view->driver->is_direct)
            return -ENOTSUP;
        words[i] = word_of(&signals[i]);
    }
    int rc = stream->memory->streams->commands->take_steps(stream, words, n);
    for (unsigned i = 0; i < n && rc == -ENOTSUP; i++)
        locked |= shmemi_stream_lock_pages(stream, signals[i].view);
    return rc == -ENOTSUP && locked ? stream->memory->streams->commands->take_steps(stream, words, n) : rc;
}

/* ---- What the agent does ----------------------------------------------------------------------------------------- */

static int do_transfer(struct shmemi_stream_work *work)
{
    return shmemi_op_transfer(&work->transfer);
}

/* A short put is the stream's own all the same: behind a kernel of the program, the turn is there already (two PEs with
 * Stencil2D: 150 us an iteration, by requests 180). */
static bool is_left_to_owner(const struct shmemi_transfer *put)
{
    const struct shmemi_driver *driver = put->view->driver;
    return put->shape.width >= SHMEMI_SHARED_STREAM_LEAST && driver->is_left_to_owner && driver->is_left_to_owner(put);
}

/* What the agent has sent before, for whichever stream, comes before the signal: a program that waits for at least a number
 * relies on it. */
static int do_signal(struct shmemi_stream_work *work)
{
    const struct shmemi_stream_signal *signal = &work->signal;
    const struct shmemi_word_update word = {
        .view = signal->view,
        .offset = signal->offset,
        .amo = {.op = signal->step == SHMEMI_STEP_SET ? SHMEMI_AMO_SET : SHMEMI_AMO_ADD,
                .size = sizeof signal->value,
                .operand = signal->value},
    };
    int rc = shmemi_drivers_fence(&shmemi_stream_context);
    return rc ? rc : shmemi_op_put_signal(&work->transfer, &word);
}

/* Set the own word after the wait; by an operation that is complete on return. */
static int set_after(const struct shmemi_stream_work *work)
{
    struct shmemi_word_update set = {.view = work->signal.view,
                                     .offset = work->signal.offset,
                                     .amo = {.op = SHMEMI_AMO_SWAP, .size = sizeof set.amo.operand}};
    uint64_t old;
    const struct shmemi_place place = shmemi_place_host(&old);
    memcpy(&set.amo.operand, work->value, sizeof set.amo.operand);
    return shmemi_op_amo(&shmemi_stream_context, &set, &place, true);
}

static int do_wait(struct shmemi_stream_work *work)
{
    uint64_t found;
    struct shmemi_place source = shmemi_view_place(work->signal.view, work->signal.offset);
    if (source.memory == &shmemi_memory_host) {
        found = __atomic_load_n((const uint64_t *)source.address, __ATOMIC_ACQUIRE);
    } else {
        struct shmemi_place dest = shmemi_place_host(&found);
        struct shmemi_shape shape = shmemi_shape_linear(sizeof found);
        int rc = shmemi_memory_copy(&dest, &source, &shape);
        if (rc)
            return rc;
    }
    if (!shmemi_step_is_met(work->signal.step, found, work->signal.value))
        return -EAGAIN;
    return work->sets_after ? set_after(work) : 0;
}

static int do_quiet(struct shmemi_stream_work *work)
{
    (void)work;
    return shmemi_stream_agent_quiet();
}

/* Post a work item with a put, which may be empty. If the data go through host memory anyway, the stream need not wait:
 * it copies them there itself. */
static int post_put(const struct shmemi_stream *stream, struct shmemi_stream_work *work)
{
    const struct shmemi_transfer *put = &work->transfer;
    if (stream->memory->streams->turn_begin_with_copy && put->shape.rows == 1 &&
        put->shape.width <= SHMEMI_OUTBOX_LONGEST && put->mine.memory == stream->memory &&
        !put->view->driver->is_direct)
        work->room = shmemi_outbox_take(stream->memory, put->shape.width);
    return shmemi_stream_agent_post(stream, work);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* The agent's part of a transfer. */
static void give_to_agent(struct shmemi_stream_work *work, const struct shmemi_transfer *transfer)
{
    work->transfer = *transfer;
    work->transfer.context = &shmemi_stream_context;
    work->transfer.routine = NULL;
    work->transfer.is_blocking = true;
}

int shmemi_stream_transfer(const struct shmemi_stream *stream, const struct shmemi_transfer *transfer)
{
    struct shmemi_stream_work work = {.advance = do_transfer, .sends = transfer->is_put};
    int rc = copy(stream, transfer);
    if (rc != -ENOTSUP)
        return rc;
    give_to_agent(&work, transfer);
    return transfer->is_put ? post_put(stream, &work) : shmemi_stream_agent_post(stream, &work);
}

/* Is an update by the stream atomic? An addition is if other PEs' additions are carried out by the GPU, too. */
static bool is_atomic(const struct shmemi_stream_signal *signal)
{
    return signal->step == SHMEMI_STEP_SET || signal->view->by_agent ||
           signal->view->place.memory == &shmemi_memory_host;
}

/* Enqueue both as one step. -ENOTSUP: they have to be enqueued one after the other. */
static int put_and_signal(const struct shmemi_stream *stream, const struct shmemi_transfer *payload,
                          const struct shmemi_stream_signal *signal)
{
    if (!stream->memory->streams->commands || !payload->view->driver->is_direct || !signal->view->driver->is_direct ||
        !is_atomic(signal) || shmemi_stream_agent_sends_to(signal->view->pe))
        return -ENOTSUP;
    uint64_t begin = shmemi_measure_begin();
    const struct shmemi_ends ends = shmemi_transfer_ends(payload);
    const size_t nbytes = payload->shape.width;
    struct shmemi_word word = word_of(signal);
    int rc = stream->memory->streams->commands->copy_and_step(stream, &ends.dest, &ends.source, nbytes, &word);
    if (!rc)
        shmemi_measure_enqueued(payload->view, payload->offset, nbytes, begin);
    return rc;
}

/* If the agent may have a put to that PE under way, the stream cannot know when the signal may follow: then the agent
 * does both. */
int shmemi_stream_signal(const struct shmemi_stream *stream, const struct shmemi_transfer *payload,
                         const struct shmemi_stream_signal *signal)
{
    struct shmemi_stream_work work = {
        .advance = do_signal, .signal = *signal, .sends = true, .transfer = {.context = &shmemi_stream_context}};
    if (payload && is_left_to_owner(payload) && !shmemi_stream_is_recording(stream)) {
        give_to_agent(&work, payload);
    } else if (payload) {
        int rc = put_and_signal(stream, payload, signal);
        if (rc != -ENOTSUP)
            return rc;
        rc = copy(stream, payload);
        if (rc && rc != -ENOTSUP)
            return rc;
        if (rc)
            give_to_agent(&work, payload);
    }
    if (!work.transfer.shape.rows && is_atomic(signal) && !shmemi_stream_agent_sends_to(signal->view->pe)) {
        int rc = shmemi_stream_steps(stream, signal, 1);
        if (rc != -ENOTSUP)
            return rc;
    }
    return post_put(stream, &work);
}

int shmemi_stream_wait(const struct shmemi_stream *stream, const struct shmemi_stream_signal *signal,
                       const uint64_t *then)
{
    struct shmemi_stream_signal steps[] = {*signal, *signal};
    struct shmemi_stream_work work = {.advance = do_wait, .signal = *signal, .sets_after = then != NULL};
    steps[1].step = SHMEMI_STEP_SET;
    if (then) {
        steps[1].value = *then;
        memcpy(work.value, then, sizeof *then);
    }
    int rc = shmemi_stream_steps(stream, steps, then ? 2 : 1);
    return rc == -ENOTSUP ? shmemi_stream_agent_post(stream, &work) : rc;
}

/* Operations that the stream carries out itself are complete when it continues, and a graph has no others. A queue still
 * needs its events. */
int shmemi_stream_quiet(const struct shmemi_stream *stream)
{
    bool none = !shmemi_stream_agent_has_sends() && !stream->n_events && !stream->event_p;
    if (none || shmemi_stream_is_recording(stream))
        return 0;
    return shmemi_stream_agent_post(stream, &(struct shmemi_stream_work){.advance = do_quiet});
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

void shmemi_streams_drain(void)
{
    bool any = false;
    for (int type = 0; type < SHMEMI_MEMTYPES; type++) {
        if (!atomic_load(&is_used[type]))
            continue;
        any = true;
        const struct shmemi_memory *memory = shmemi_memory_of_type(type);
        if (memory && memory->streams->commands)
            memory->streams->commands->drain();
    }
    if (any)
        shmemi_stream_agent_drain();
    if (shmemi_context_has_pending(&shmemi_stream_context) && shmemi_drivers_quiet(&shmemi_stream_context))
        shmemi_fatal("operations in streams could not be completed");
}

void shmemi_streams_close(void)
{
    shmemi_watched_close();
    shmemi_stream_agent_close();
    shmemi_stream_barriers_close();
    shmemi_outbox_close();
    for (int type = 0; type < SHMEMI_MEMTYPES; type++)
        atomic_store(&is_used[type], false);
}
