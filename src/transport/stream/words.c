/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values and words in streams: stores, atomic operations, waits for many words. By the stream itself if it can, else by
 * the agent.
 */
#include "transport/drivers/exchange.h"
#include "transport/drivers/table.h"
#include "op/operation.h"
#include "transport/stream/agent.h"

#include "base/log.h"
#include "bootstrap/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Call a command, and once more when the host memory of the view, and of this PE, has been page-locked for it. */
#define WITH_LOCKED_PAGES(rc, stream, view, call)                                                                      \
    do {                                                                                                               \
        rc = (call);                                                                                                   \
        if (rc == -ENOTSUP && lock_both(stream, view))                                                                 \
            rc = (call);                                                                                               \
    } while (0)

static bool lock_both(const struct shmemi_stream *stream, const struct shmemi_view *view)
{
    bool locked = view && shmemi_stream_lock_pages(stream, view);
    return shmemi_stream_lock_pages(stream, shmemi_exchange_view(shmemi_job.pe)) || locked;
}

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

int shmemi_stream_store(const struct shmemi_stream *stream, const struct shmemi_view *view, size_t offset,
                        const void *value, size_t nbytes)
{
    const struct shmemi_stream_commands *commands = stream->memory->streams->commands;
    const struct shmemi_place dest = shmemi_view_place(view, offset);
    const uint64_t begin = shmemi_measure_begin();
    int rc = -ENOTSUP;
    if (commands && view->driver->is_direct)
        WITH_LOCKED_PAGES(rc, stream, view, commands->store(stream, &dest, value, nbytes));
    if (!rc)
        shmemi_measure_enqueued(view, offset, nbytes, begin);
    if (rc != -ENOTSUP)
        return rc;
    struct shmemi_stream_work work = {.advance = do_store,
                                      .transfer = {.context = &shmemi_stream_context,
                                                   .view = view,
                                                   .offset = offset,
                                                   .shape = shmemi_shape_linear(nbytes),
                                                   .is_put = true,
                                                   .is_blocking = true},
                                      .sends = true};
    memcpy(work.value, value, nbytes);
    return shmemi_stream_agent_post(stream, &work);
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
    return view->driver->is_direct &&
           (view->by_agent || view->place.memory == &shmemi_memory_host || update->word.amo.op == SHMEMI_AMO_FETCH);
}

int shmemi_stream_amo(const struct shmemi_stream *stream, const struct shmemi_stream_amo *update)
{
    const struct shmemi_stream_commands *commands = stream->memory->streams->commands;
    const struct shmemi_word_update *word = &update->word;
    const struct shmemi_stream_update command = {.word = shmemi_view_place(word->view, word->offset),
                                                 .amo = word->amo,
                                                 .fetches = update->fetches,
                                                 .old = update->old};
    const uint64_t begin = shmemi_measure_begin();
    int rc = -ENOTSUP;
    if (commands && may_update(update))
        WITH_LOCKED_PAGES(rc, stream, word->view, commands->update(stream, &command));
    if (!rc)
        shmemi_measure_enqueued(word->view, word->offset, word->amo.size, begin);
    if (rc != -ENOTSUP)
        return rc;
    return shmemi_stream_agent_post(
        stream, &(struct shmemi_stream_work){.advance = do_amo, .update = *update, .sends = !update->fetches});
}

/* ---- Waits for words --------------------------------------------------------------------------------------------- */

enum { BLOCK_BYTES = 512 };

/* Some words of this PE, read at once. */
struct block {
    size_t first, n;
    _Alignas(8) unsigned char bytes[BLOCK_BYTES];
};

static int load_block(const struct shmemi_stream_words *words, size_t first, struct block *block)
{
    const size_t most = BLOCK_BYTES / words->size;
    const struct shmemi_place source = shmemi_view_place(words->view, words->offset + first * words->size);
    const struct shmemi_place dest = shmemi_place_host(block->bytes);
    block->first = first;
    block->n = words->n - first < most ? words->n - first : most;
    return copy_now(&dest, &source, block->n * words->size);
}

static bool is_met(const struct shmemi_stream_words *words, const void *address)
{
    if (words->size == 8)
        return shmemi_step_is_met(words->step, __atomic_load_n((const uint64_t *)address, __ATOMIC_ACQUIRE),
                                  words->value);
    return shmemi_half_step_is_met(words->step, __atomic_load_n((const uint32_t *)address, __ATOMIC_ACQUIRE),
                                   (uint32_t)words->value);
}

/* Is the comparison met for word i? 1 or 0, or -errno. GPU memory is read in blocks. */
static int look_at(const struct shmemi_stream_words *words, size_t i, struct block *block)
{
    const struct shmemi_place word = shmemi_view_place(words->view, words->offset + i * words->size);
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

static int post_wait(const struct shmemi_stream *stream, const struct shmemi_stream_words *words)
{
    struct shmemi_stream_work work = {.advance = words->any ? do_wait_any : do_wait_all, .words = *words};
    int rc = shmemi_stream_refuse_recording(stream), *left_out = rc ? NULL : calloc(words->n + 1, sizeof *left_out);
    if (rc)
        return rc;
    if (!left_out) {
        shmemi_error("no memory for a wait in a stream");
        return -ENOMEM;
    }
    for (size_t i = 0; i < words->n && words->status; i++)
        left_out[i] = words->status[i] != 0;
    work.kept = left_out;
    work.words.status = NULL;
    return shmemi_stream_agent_post(stream, &work);
}

int shmemi_stream_wait_words(const struct shmemi_stream *stream, const struct shmemi_stream_words *words)
{
    const struct shmemi_stream_commands *commands = stream->memory->streams->commands;
    struct shmemi_stream_wait wait = {.n = words->n,
                                      .size = words->size,
                                      .step = words->step,
                                      .value = words->value,
                                      .status = words->status,
                                      .any = words->any,
                                      .index = words->index};
    int rc = -ENOTSUP;
    if (words->n)
        wait.words = shmemi_view_place(words->view, words->offset);
    if (commands)
        WITH_LOCKED_PAGES(rc, stream, words->n ? words->view : NULL, commands->wait_words(stream, &wait));
    return rc == -ENOTSUP ? post_wait(stream, words) : rc;
}
