/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which way an operation in a stream takes: the first of these that is possible.
 * 1. The stream carries it out itself (`alone`).
 * 2. The same after host memory has been page-locked for it.
 * 3. The stream copies what is put to host memory, and goes on; the agent sends it from there (outbox.h). This needs data
 *    that go through host memory anyway.
 * 4. The stream waits while the agent does it.
 */
#include "transport/stream/agent.h"

#include "base/tuning.h"
#include "bootstrap/job.h"
#include "transport/drivers/exchange.h"
#include "transport/stream/outbox.h"

#include <errno.h>

/* Of a heap, so that streams can access it; false if that is not possible. */
static bool lock_pages(const struct shmemi_stream *stream, const struct shmemi_view *view)
{
    static atomic_bool failed;
    char *base = view ? shmemi_view_host(view) : NULL;
    if (!stream->memory->pinning || !base || view->region != SHMEMI_REGION_HEAP || atomic_load(&failed))
        return false;
    int rc = stream->memory->pinning->pin(base, view->size);
    if (rc)
        atomic_store(&failed, true);
    return !rc;
}

/* What a stream reads or writes besides words that it updates may lie in this PE's own heap. */
static bool lock_memory_of(const struct shmemi_stream *stream, const struct shmemi_stream_work *work)
{
    bool is_locked = lock_pages(stream, work->transfer.view);
    is_locked |= lock_pages(stream, work->update.word.view);
    for (unsigned i = 0; i < work->n_steps; i++)
        is_locked |= lock_pages(stream, work->steps[i].view);
    if (!work->n_steps || work->transfer.shape.rows)
        is_locked |= lock_pages(stream, shmemi_exchange_view(shmemi_job.pe));
    return is_locked;
}

int shmemi_stream_alone(const struct shmemi_stream *stream, struct shmemi_stream_work *work)
{
    if (!work->alone || !stream->memory->streams->commands)
        return -ENOTSUP;
    int rc = work->alone(stream, work);
    if (rc == -ENOTSUP && lock_memory_of(stream, work))
        rc = work->alone(stream, work);
    return rc == -EAGAIN ? -ENOTSUP : rc;
}

static bool fits_into_outbox(const struct shmemi_stream *stream, const struct shmemi_transfer *transfer)
{
    return stream->memory->streams->turn_begin_with_copy && transfer->is_put && transfer->shape.rows == 1 &&
           transfer->shape.width <= SHMEMI_OUTBOX_LONGEST && transfer->mine.memory == stream->memory &&
           !transfer->view->driver->is_direct;
}

int shmemi_stream_enqueue(const struct shmemi_stream *stream, struct shmemi_stream_work *work)
{
    int rc = shmemi_stream_alone(stream, work);
    if (rc != -ENOTSUP)
        return rc;
    if (fits_into_outbox(stream, &work->transfer))
        work->room = shmemi_outbox_take(stream->memory, work->transfer.shape.width);
    return shmemi_stream_agent_post(stream, work);
}
