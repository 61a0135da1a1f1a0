/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values and words in streams: stores, atomic operations, waits for many words, as the stream itself and as the agent
 * carries them out; ladder.c chooses.
 */
#include "transport/drivers/table.h"
#include "transport/op/operation.h"
#include "transport/stream/agent.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int copy_now(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes)
{
    const struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    if (dest->memory != &shmemi_memory_host || source->memory != &shmemi_memory_host)
        return shmemi_memory_copy(dest, source, &shape);
    memcpy((void *)dest->address, (const void *)source->address, nbytes);
    return 0;
}

static int copy_out(const struct shmemi_place *dest, const void *value, size_t nbytes)
{
    const struct shmemi_place source = shmemi_place_host(value);
    return copy_now(dest, &source, nbytes);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static int do_store(struct shmemi_stream_work *work)
{
    work->transfer.mine = shmemi_place_host(work->value);
    return shmemi_op_transfer(&work->transfer);
}

static int store_alone(const struct shmemi_stream *stream, struct shmemi_stream_work *work)
{
    const struct shmemi_transfer *transfer = &work->transfer;
    const struct shmemi_place dest = shmemi_view_place(transfer->view, transfer->offset);
    const size_t nbytes = transfer->shape.width;
    const uint64_t begin = shmemi_measure_begin();
    if (!transfer->view->driver->is_direct)
        return -EAGAIN;
    int rc = stream->memory->streams->commands->store(stream, &dest, work->value, nbytes);
    if (!rc)
        shmemi_measure_enqueued(transfer->view, transfer->offset, nbytes, begin);
    return rc;
}

int shmemi_stream_store(const struct shmemi_stream *stream, const struct shmemi_view *view, size_t offset,
                        const void *value, size_t nbytes)
{
    struct shmemi_stream_work work = {.alone = store_alone,
                                      .advance = do_store,
                                      .transfer = {.context = &shmemi_stream_context,
                                                   .view = view,
                                                   .offset = offset,
                                                   .shape = shmemi_shape_linear(nbytes),
                                                   .is_put = true,
                                                   .is_blocking = true},
                                      .sends = true};
    memcpy(work.value, value, nbytes);
    return shmemi_stream_enqueue(stream, &work);
}

/* ---- Atomic operations ------------------------------------------------------------------------------------------- */

static int do_amo(struct shmemi_stream_work *work)
{
    const struct shmemi_stream_amo *update = &work->update;
    return shmemi_op_amo(&shmemi_stream_context, &update->word, update->fetches ? &update->old : NULL, true);
}

/* May the stream's GPU carry it out? The words of host memory are the CPUs', those of GPU memory that GPU's if this
 * process can reach it; else their owner's. To read a word is always possible, and so is to set one of the CPUs'. */
static bool may_update(const struct shmemi_stream_amo *update)
{
    const struct shmemi_view *view = update->word.view;
    return view->driver->is_direct && (view->by_atomic_unit || view->place.memory == &shmemi_memory_host ||
                                       update->word.amo.op == SHMEMI_AMO_FETCH);
}

static int amo_alone(const struct shmemi_stream *stream, struct shmemi_stream_work *work)
{
    const struct shmemi_stream_amo *update = &work->update;
    const struct shmemi_word_update *word = &update->word;
    const struct shmemi_stream_update command = {.word = shmemi_view_place(word->view, word->offset),
                                                 .amo = word->amo,
                                                 .fetches = update->fetches,
                                                 .old = update->old};
    const uint64_t begin = shmemi_measure_begin();
    if (!may_update(update))
        return -EAGAIN;
    int rc = stream->memory->streams->commands->update(stream, &command);
    if (!rc)
        shmemi_measure_enqueued(word->view, word->offset, word->amo.size, begin);
    return rc;
}

int shmemi_stream_amo(const struct shmemi_stream *stream, const struct shmemi_stream_amo *update)
{
    return shmemi_stream_enqueue(
        stream, &(struct shmemi_stream_work){
                    .alone = amo_alone, .advance = do_amo, .update = *update, .sends = !update->fetches});
}

/* ---- Waits for words --------------------------------------------------------------------------------------------- */

enum { BLOCK_BYTES = 512 };

/* Some words of this PE, read at once. */
struct block {
    size_t first, n;
    _Alignas(8) unsigned char bytes[BLOCK_BYTES];
};

static struct shmemi_place word_at(const struct shmemi_stream_wait *words, size_t i)
{
    struct shmemi_place place = words->words;
    place.address += i * words->size;
    return place;
}

static int load_block(const struct shmemi_stream_wait *words, size_t first, struct block *block)
{
    const size_t most = BLOCK_BYTES / words->size;
    const struct shmemi_place source = word_at(words, first), dest = shmemi_place_host(block->bytes);
    block->first = first;
    block->n = words->n - first < most ? words->n - first : most;
    return copy_now(&dest, &source, block->n * words->size);
}

static bool is_met(const struct shmemi_stream_wait *words, const void *address)
{
    if (words->size == 8)
        return shmemi_step_is_met(words->step, __atomic_load_n((const uint64_t *)address, __ATOMIC_ACQUIRE),
                                  words->value);
    return shmemi_half_step_is_met(words->step, __atomic_load_n((const uint32_t *)address, __ATOMIC_ACQUIRE),
                                   (uint32_t)words->value);
}

/* Is the comparison met for word i? 1 or 0, or -errno. GPU memory is read in blocks. */
static int look_at(const struct shmemi_stream_wait *words, size_t i, struct block *block)
{
    const struct shmemi_place word = word_at(words, i);
    if (word.memory == &shmemi_memory_host)
        return is_met(words, (const void *)word.address);
    int rc = i - block->first < block->n ? 0 : load_block(words, i, block);
    return rc ? rc : is_met(words, block->bytes + (i - block->first) * words->size);
}

/* Words that have met the comparison are left out from then on. */
static int do_wait_all(struct shmemi_stream_work *work)
{
    struct block block = {.n = 0};
    int *left_out = work->kept, rc = 0;
    for (size_t i = 0; i < work->words.n; i++) {
        int met = left_out[i] ? 1 : look_at(&work->words, i, &block);
        if (met < 0)
            return met;
        left_out[i] = met;
        rc = met ? rc : -EAGAIN;
    }
    return rc;
}

/* The search begins anywhere, so that no word is overlooked for ever. */
static int do_wait_any(struct shmemi_stream_work *work)
{
    struct block block = {.n = 0};
    const int *left_out = work->kept;
    const size_t n = work->words.n, start = n ? (size_t)shmemi_clock() % n : 0;
    size_t found = SIZE_MAX;
    for (size_t k = 0; k < n && found == SIZE_MAX; k++) {
        const size_t i = (start + k) % n;
        int met = left_out[i] ? 0 : look_at(&work->words, i, &block);
        if (met < 0)
            return met;
        if (met)
            found = i;
    }
    if (n && found == SIZE_MAX)
        return -EAGAIN;
    return copy_out(&work->words.index, &found, sizeof found);
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
    struct block block = {.n = 0};
    int met = look_at(&work->words, 0, &block);
    if (met <= 0)
        return met ? met : -EAGAIN;
    return work->sets_after ? set_after(work) : 0;
}

int shmemi_stream_wait(const struct shmemi_stream *stream, const struct shmemi_stream_signal *signal,
                       const uint64_t *then)
{
    struct shmemi_stream_signal steps[] = {*signal, *signal};
    struct shmemi_stream_work work = {.alone = shmemi_stream_steps_alone,
                                      .advance = do_wait,
                                      .signal = *signal,
                                      .words = {.words = shmemi_view_place(signal->view, signal->offset),
                                                .n = 1,
                                                .size = sizeof signal->value,
                                                .step = signal->step,
                                                .value = signal->value},
                                      .steps = steps,
                                      .n_steps = then ? 2 : 1,
                                      .sets_after = then != NULL};
    steps[1].step = SHMEMI_STEP_SET;
    if (then) {
        steps[1].value = *then;
        memcpy(work.value, then, sizeof *then);
    }
    return shmemi_stream_enqueue(stream, &work);
}

static int wait_alone(const struct shmemi_stream *stream, struct shmemi_stream_work *work)
{
    return stream->memory->streams->commands->wait_words(stream, &work->words);
}

/* The agent looks at a copy of their status. */
static int post_wait(const struct shmemi_stream *stream, struct shmemi_stream_work *work)
{
    const struct shmemi_stream_wait *words = &work->words;
    int rc = shmemi_stream_refuse_recording(stream), *left_out = rc ? NULL : calloc(words->n + 1, sizeof *left_out);
    if (rc)
        return rc;
    if (!left_out) {
        shmemi_error("no memory for a wait in a stream");
        return -ENOMEM;
    }
    for (size_t i = 0; i < words->n && words->status; i++)
        left_out[i] = words->status[i] != 0;
    work->kept = left_out;
    work->words.status = NULL;
    return shmemi_stream_agent_post(stream, work);
}

int shmemi_stream_wait_words(const struct shmemi_stream *stream, const struct shmemi_stream_wait *words)
{
    struct shmemi_stream_work work = {
        .alone = wait_alone, .advance = words->any ? do_wait_any : do_wait_all, .words = *words};
    int rc = shmemi_stream_alone(stream, &work);
    return rc == -ENOTSUP ? post_wait(stream, &work) : rc;
}
