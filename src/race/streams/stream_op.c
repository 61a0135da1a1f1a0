/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams and their operations: what each knows, and who comes after it.
 */
#include "race/streams/stream_op.h"
#include "race/private.h"

#include <sched.h>
#include <stdlib.h>

/* The first stands for all streams that are not exact; the second for what threads announce. */
enum { COMMON, HOST, FIRST_EXACT, STREAMS_MOST = 64 };

struct race_stream {
    void *handle;
    struct race_thread *thread; /* NULL until its first operation */
    uint64_t after;             /* the streams whose operations its own may come after: a bit each */
    uint32_t *done;             /* a clock: what is complete, and what that knew; NULL: nothing */
};

static struct race_stream streams[STREAMS_MOST];
static unsigned n_streams = FIRST_EXACT;
static bool is_unsure;
static race_lock lock;
static atomic_uint n_pending; /* of the library */

/* How often what is complete in streams that are not exact has become more. */
atomic_uint race_stream_news;

static unsigned number_of(const struct race_stream *stream)
{
    return (unsigned)(stream - streams);
}

/* With the lock held. */
static void become_unsure(void)
{
    is_unsure = true;
    atomic_fetch_add(&race_stream_news, 1);
}

void race_streams_are_unsure(void)
{
    race_lock_take(&lock);
    if (!is_unsure)
        become_unsure();
    race_lock_give(&lock);
}

/* A queue at the address of one that is gone is that one: more order than there is. */
static struct race_stream *find_exact(void *handle, bool is_created)
{
    for (unsigned i = FIRST_EXACT; i < n_streams; i++)
        if (streams[i].handle == handle)
            return &streams[i];
    if (!is_created || n_streams == STREAMS_MOST)
        return NULL;
    streams[n_streams].handle = handle;
    streams[n_streams].after = UINT64_C(1) << n_streams;
    return &streams[n_streams++];
}

struct race_stream *race_stream_of(void *handle, bool is_created)
{
    race_lock_take(&lock);
    struct race_stream *stream = is_unsure ? NULL : find_exact(handle, is_created);
    if (!stream && !is_unsure)
        become_unsure();
    race_lock_give(&lock);
    return stream ? stream : &streams[COMMON];
}

/* ---- what comes before ------------------------------------------------------------------------------------------- */

static uint64_t all_before(const struct race_stream *stream)
{
    uint64_t all = stream->after, before = 0;
    if (is_unsure || stream == &streams[COMMON])
        return UINT64_MAX;
    while (all != before) {
        before = all;
        for (unsigned i = FIRST_EXACT; i < n_streams; i++)
            all |= (before >> i & 1) ? streams[i].after : 0;
    }
    return all;
}

static void learn(struct race_thread *thread, uint64_t which)
{
    for (unsigned i = 0; i < n_streams; i++)
        if ((which >> i & 1) && streams[i].done)
            race_learn_times(thread, streams[i].done);
}

/* What all threads of this process know, streams among them. */
static void learn_threads(struct race_thread *thread)
{
    for (unsigned i = 0; i < RACE_THREADS_MAX; i++)
        if (race_clocks[i] && race_clocks[i] != thread->time)
            race_learn_times(thread, race_clocks[i]);
}

static uint32_t *done_of(struct race_stream *stream)
{
    if (!stream->done && !(stream->done = calloc(RACE_COMPONENTS_MAX, sizeof stream->done[0])))
        race_fatal("out of memory for what streams do");
    return stream->done;
}

void race_stream_after(struct race_stream *stream, struct race_stream *other)
{
    race_lock_take(&lock);
    stream->after |= UINT64_C(1) << (other ? number_of(other) : HOST);
    race_lock_give(&lock);
}

void race_host_announces(void)
{
    struct race_thread *thread = race_this_thread();
    if (!thread)
        return;
    race_lock_enter(thread, &lock);
    race_publish_to(thread, done_of(&streams[HOST]));
    race_lock_leave(thread, &lock);
}

void race_stream_synced(struct race_stream *stream)
{
    struct race_thread *thread = race_this_thread();
    if (!thread)
        return;
    race_lock_enter(thread, &lock);
    learn(thread, stream ? all_before(stream) : UINT64_C(1) << HOST);
    race_lock_leave(thread, &lock);
}

void race_learn_news(struct race_thread *thread)
{
    race_lock_enter(thread, &lock);
    thread->stream_news = atomic_load(&race_stream_news);
    learn(thread, UINT64_MAX);
    race_lock_leave(thread, &lock);
}

void race_streams_drain(void)
{
    struct race_thread *thread = race_this_thread();
    while (thread && atomic_load(&n_pending))
        sched_yield();
    if (thread)
        race_learn_news(thread);
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static struct race_thread *new_stream(void)
{
    struct race_thread *thread = race_new_thread();
    race_area->component[thread->component].is_stream = true;
    thread->inside = 1;
    return thread;
}

/* Operations of the library, for which it waits itself in the end. */
static unsigned n_of_library(const struct race_op *op)
{
    return op->work.begin != race_begin_copy;
}

/* What threads do with the buffers until the operation begins has to be seen, too. */
static void watch_buffers(const struct race_work *work)
{
    const size_t size = work->dest_size > work->source_size ? work->dest_size : work->source_size;
    const ptrdiff_t steps = work->n > 1 ? (ptrdiff_t)work->n - 1 : 0;
    const ptrdiff_t dest_span = steps * work->dest_stride, source_span = steps * work->source_stride;
    if (work->dest)
        race_private_watch((uintptr_t)work->dest + (uintptr_t)(dest_span < 0 ? dest_span : 0),
                           size + (size_t)labs(dest_span));
    if (work->source)
        race_private_watch((uintptr_t)work->source + (uintptr_t)(source_span < 0 ? source_span : 0),
                           size + (size_t)labs(source_span));
}

struct race_op *race_op_new(const struct race_call *call, struct race_stream *stream, const struct race_work *work)
{
    struct race_op *op = call->thread ? calloc(1, sizeof *op) : NULL;
    if (!op)
        return NULL;
    *op = (struct race_op){stream, race_publish(call->thread), *work, *call, {0}};
    watch_buffers(work);
    race_lock_take(&lock);
    if (!stream->thread)
        stream->thread = new_stream();
    (void)done_of(stream); /* a driver's thread should not allocate with the lock */
    race_lock_give(&lock);
    op->call.thread = stream->thread;
    op->call.context = RACE_STREAM_CONTEXTS + number_of(stream);
    atomic_fetch_add(&n_pending, n_of_library(op));
    return op;
}

/* The step is made as if the stream were the calling thread, which may be one of a driver. */
static void make_step(struct race_op *op, race_op_step *step)
{
    struct race_thread *const self = race_here;
    race_here = op->stream->thread;
    if (step && race.window_size)
        step(op);
    race_here = self;
}

void race_op_begins(struct race_op *op)
{
    if (!op)
        return;
    struct race_thread *thread = op->stream->thread;
    race_lock_take(&lock);
    race_learn(thread, op->born);
    learn(thread, all_before(op->stream));
    if (is_unsure)
        learn_threads(thread);
    make_step(op, op->work.begin);
    race_advance(thread);
    race_lock_give(&lock);
}

void race_op_ends(struct race_op *op)
{
    if (!op)
        return;
    race_lock_take(&lock);
    make_step(op, op->work.end);
    race_publish_to(op->stream->thread, done_of(op->stream));
    if (is_unsure)
        atomic_fetch_add(&race_stream_news, 1);
    race_lock_give(&lock);
    atomic_fetch_sub(&n_pending, n_of_library(op));
    free(op->born);
    free(op);
}
