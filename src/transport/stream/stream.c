/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers and signals in streams, as the stream itself and as the agent carries them out; ladder.c chooses.
 */
#include "transport/stream/stream.h"

#include "base/log.h"
#include "base/tuning.h"
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

/* Before the first operation in a stream or queue of this kind. The watchdog's thread copies while kernels wait. */
static void begin_use(const struct shmemi_memory *memory)
{
    if (shmemi_watches_streams && memory->streams->commands && memory->streams->commands->make_ready())
        shmemi_warn("SHMEM_WATCHDOG may not see what streams wait for");
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

static struct shmemi_word word_of(const struct shmemi_stream_signal *signal)
{
    return (struct shmemi_word){shmemi_view_place(signal->view, signal->offset), signal->value, signal->step};
}

int shmemi_stream_steps_alone(const struct shmemi_stream *stream, struct shmemi_stream_work *work)
{
    struct shmemi_word words[SHMEMI_STEPS_MAX];
    if (work->n_steps - 1 >= SHMEMI_STEPS_MAX)
        return -EAGAIN;
    for (unsigned i = 0; i < work->n_steps; i++) {
        if (!work->steps[i].view->driver->is_direct)
            return -EAGAIN;
        words[i] = word_of(&work->steps[i]);
    }
    return stream->memory->streams->commands->take_steps(stream, words, work->n_steps);
}

int shmemi_stream_steps(const struct shmemi_stream *stream, const struct shmemi_stream_signal *steps, unsigned n)
{
    return shmemi_stream_alone(
        stream, &(struct shmemi_stream_work){.alone = shmemi_stream_steps_alone, .steps = steps, .n_steps = n});
}

/* signal: updated by the same command; NULL: none. */
static int copy(const struct shmemi_stream *stream, const struct shmemi_transfer *transfer,
                const struct shmemi_stream_signal *signal)
{
    const struct shmemi_stream_commands *commands = stream->memory->streams->commands;
    const struct shmemi_ends ends = shmemi_transfer_ends(transfer);
    const struct shmemi_word word = signal ? word_of(signal) : (struct shmemi_word){.value = 0};
    const size_t width = transfer->shape.width;
    const uint64_t begin = shmemi_measure_begin();
    int rc;
    if (!transfer->view->driver->is_direct)
        return -EAGAIN;
    if (signal)
        rc = commands->copy_and_step(stream, &ends.dest, &ends.source, width, &word);
    else if (transfer->shape.rows > 1)
        rc = commands->copy_shape(stream, &ends.dest, &ends.source, &transfer->shape);
    else
        rc = commands->copy(stream, &ends.dest, &ends.source, width);
    if (!rc)
        shmemi_measure_enqueued(transfer->view, transfer->offset, shmemi_transfer_bytes(transfer), begin);
    return rc;
}

static int copy_alone(const struct shmemi_stream *stream, struct shmemi_stream_work *work)
{
    return copy(stream, &work->transfer, NULL);
}

/* Is an update by the stream atomic? An addition is if other PEs' additions are carried out by the GPU, too. And if the agent
 * may have a put to that PE under way, the stream cannot know when the signal may follow. */
static bool may_signal(const struct shmemi_stream_signal *signal)
{
    const bool is_atomic = signal->step == SHMEMI_STEP_SET || signal->view->by_atomic_unit ||
                           signal->view->place.memory == &shmemi_memory_host;
    return is_atomic && signal->view->driver->is_direct && !shmemi_stream_agent_sends_to(signal->view->pe);
}

/* Both by one command, or one after the other; the agent signals where the stream may not. What has been copied is no longer
 * part of the work. */
static int signal_alone(const struct shmemi_stream *stream, struct shmemi_stream_work *work)
{
    const struct shmemi_stream_signal *signal = &work->signal;
    const bool may = may_signal(signal);
    if (work->transfer.shape.rows) {
        int rc = may ? copy(stream, &work->transfer, signal) : -ENOTSUP;
        if (rc != -ENOTSUP)
            return rc;
        rc = copy(stream, &work->transfer, NULL);
        if (rc)
            return rc;
        work->transfer = (struct shmemi_transfer){.context = &shmemi_stream_context};
    }
    return may ? shmemi_stream_steps_alone(stream, work) : -EAGAIN;
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

static int do_quiet(struct shmemi_stream_work *work)
{
    (void)work;
    return shmemi_stream_agent_quiet();
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
    struct shmemi_stream_work work = {.alone = copy_alone, .advance = do_transfer, .sends = transfer->is_put};
    give_to_agent(&work, transfer);
    return shmemi_stream_enqueue(stream, &work);
}

int shmemi_stream_signal(const struct shmemi_stream *stream, const struct shmemi_transfer *payload,
                         const struct shmemi_stream_signal *signal)
{
    struct shmemi_stream_work work = {.alone = signal_alone,
                                      .advance = do_signal,
                                      .signal = *signal,
                                      .steps = signal,
                                      .n_steps = 1,
                                      .sends = true,
                                      .transfer = {.context = &shmemi_stream_context}};
    if (payload)
        give_to_agent(&work, payload);
    if (payload && is_left_to_owner(payload) && !shmemi_stream_is_recording(stream))
        work.alone = NULL;
    return shmemi_stream_enqueue(stream, &work);
}

/* Operations that the stream carries out itself are complete when it continues, and a graph has no others. A queue still
 * needs its events. */
int shmemi_stream_quiet(const struct shmemi_stream *stream)
{
    bool none = !shmemi_stream_agent_has_sends() && !stream->n_events && !stream->event_p;
    if (none || shmemi_stream_is_recording(stream))
        return 0;
    return shmemi_stream_enqueue(stream, &(struct shmemi_stream_work){.advance = do_quiet});
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
