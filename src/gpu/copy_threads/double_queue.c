/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multithreaded double queuing: the queues, the threads, and the caller's loop. One lock protects all of them; it is
 * held for a few instructions for each piece, and pieces are large.
 */
#define _GNU_SOURCE
#include "gpu/copy_threads/double_queue.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/thread/patience.h"
#include "base/thread/thread_start.h"
#include "base/wake/interleave.h"
#include "base/wake/sleep.h"
#include "base/tuning.h"
#include "gpu/copy_threads/processor.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFERS_MAX = SHMEMI_COPY_BUFFERS_MAX,
    UNIT = 4096,
    STACK = 256 << 10,
};

struct fifo {
    unsigned first;
    atomic_uint count; /* written under the lock; threads that spin read it without */
    unsigned buffer[BUFFERS_MAX];
};

struct shmemi_double_queue {
    pthread_mutex_t lock;
    pthread_cond_t work;     /* for the threads: there is something to copy, or the end */
    pthread_cond_t progress; /* for the caller: a thread has copied a piece */
    unsigned n_threads, n_buffers;
    size_t buffer_size;
    char *buffers;
    pthread_t thread[SHMEMI_COPY_THREADS_MAX];
    unsigned sleeping; /* number of threads that sleep */
    atomic_uint begun; /* number of copies begun so far; relaxed: who sees it change takes the lock */
    bool caller_sleeps;
    bool closing;

    /* The copy under way. */
    const struct shmemi_queued_copy *copy; /* NULL: none */
    size_t assigned;                       /* bytes of the pieces cut so far */
    bool is_alone;                         /* the caller copies without the threads */
    unsigned copying;                      /* number of threads that are copying a piece */
    int rc;                                /* first error of the copy */
    struct fifo to_copy;                   /* buffers that wait for a thread: empty to the device, full from it */
    struct fifo to_move;                   /* buffers that wait for the caller */
    struct fifo moving;                    /* buffers whose DMA has been started; only the caller uses it */
    struct shmemi_piece piece[BUFFERS_MAX];
};

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static unsigned count_of(const struct fifo *fifo)
{
    return atomic_load_explicit(&fifo->count, memory_order_relaxed);
}

static void push(struct fifo *fifo, unsigned buffer)
{
    unsigned count = count_of(fifo);
    fifo->buffer[(fifo->first + count) % BUFFERS_MAX] = buffer;
    atomic_store_explicit(&fifo->count, count + 1, memory_order_relaxed);
}

static unsigned pop(struct fifo *fifo)
{
    unsigned buffer = fifo->buffer[fifo->first];
    fifo->first = (fifo->first + 1) % BUFFERS_MAX;
    atomic_store_explicit(&fifo->count, count_of(fifo) - 1, memory_order_relaxed);
    return buffer;
}

static void clear(struct fifo *fifo)
{
    fifo->first = 0;
    atomic_store_explicit(&fifo->count, 0, memory_order_relaxed);
}

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

static size_t size_of(const struct shmemi_piece *piece)
{
    return piece->width * piece->rows;
}

/* The first pieces are small, so that the other side can begin early, and the last ones, so that it ends soon after. */
static size_t piece_limit(const struct shmemi_double_queue *queue)
{
    size_t left = queue->copy->nbytes - queue->assigned;
    size_t share = (queue->assigned < left ? queue->assigned : left) / (queue->is_alone ? 1 : queue->n_threads);
    size_t limit = share / UNIT * UNIT;
    if (limit < SHMEMI_COPY_PIECE_LEAST)
        limit = SHMEMI_COPY_PIECE_LEAST;
    return limit < queue->buffer_size ? limit : queue->buffer_size;
}

/* Assign the next piece to a buffer; there must be one left. */
static void assign(struct shmemi_double_queue *queue, unsigned buffer)
{
    const struct shmemi_queued_copy *copy = queue->copy;
    copy->host_side->cut(copy->host, piece_limit(queue), &queue->piece[buffer]);
    queue->assigned += size_of(&queue->piece[buffer]);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static bool all_assigned(const struct shmemi_double_queue *queue)
{
    return queue->assigned == queue->copy->nbytes;
}

/* Is there something to copy? With the lock held. */
static bool has_work(const struct shmemi_double_queue *queue)
{
    return queue->copy && !queue->rc && count_of(&queue->to_copy) && !(queue->copy->to_device && all_assigned(queue));
}

/* Will there be something to copy soon? With the lock held. */
static bool work_may_come(const struct shmemi_double_queue *queue)
{
    return queue->copy && !queue->rc && !(queue->copy->to_device && all_assigned(queue));
}

/* Without the lock, before checking with it whether more will come. */
static void spin_until_filled(const struct fifo *fifo)
{
    for (unsigned i = 1; !count_of(fifo) && shmemi_rest(SHMEMI_COPY_NEXT_PIECE, i) != SHMEMI_PATIENCE_IS_OVER; i++)
        shmemi_pause();
}

/* Threads do not sleep during a copy: waking one costs the caller more than starting a DMA copy. */
static void await_buffer(struct shmemi_double_queue *queue)
{
    pthread_mutex_unlock(&queue->lock);
    spin_until_filled(&queue->to_copy);
    shmemi_interleave();
    pthread_mutex_lock(&queue->lock);
}

/* Spin for a while; true if another copy has begun. With the lock held. */
static bool await_copy(struct shmemi_double_queue *queue)
{
    unsigned begun = atomic_load_explicit(&queue->begun, memory_order_relaxed);
    bool has_begun = false;
    pthread_mutex_unlock(&queue->lock);
    for (unsigned i = 1; !has_begun && shmemi_rest(SHMEMI_COPY_NEXT_COPY, i) != SHMEMI_PATIENCE_IS_OVER; i++) {
        shmemi_pause();
        has_begun = atomic_load_explicit(&queue->begun, memory_order_relaxed) != begun;
    }
    shmemi_interleave();
    pthread_mutex_lock(&queue->lock);
    return has_begun;
}

static bool has_to_wake(const void *queue)
{
    return work_may_come(queue) || ((const struct shmemi_double_queue *)queue)->closing;
}

/* Wait for something to copy; false at the end. With the lock held. */
static bool await_work(struct shmemi_double_queue *queue)
{
    while (!has_work(queue) && !queue->closing) {
        if (work_may_come(queue)) {
            await_buffer(queue);
            continue;
        }
        if (await_copy(queue))
            continue;
        queue->sleeping++;
        shmemi_sleep_until(&queue->work, &queue->lock, has_to_wake, queue);
        queue->sleeping--;
    }
    return !queue->closing;
}

/* Copy one piece. With the lock held, which is released during the copy. A thread wakes another one if there is more to
 * do; the caller has no time for it. */
static void copy_next_piece(struct shmemi_double_queue *queue, bool is_caller)
{
    const struct shmemi_queued_copy *copy = queue->copy;
    unsigned buffer = pop(&queue->to_copy);
    if (copy->to_device)
        assign(queue, buffer);
    queue->copying++;
    bool wakes = !is_caller && queue->sleeping && has_work(queue);
    pthread_mutex_unlock(&queue->lock);
    shmemi_interleave();
    if (wakes)
        pthread_cond_signal(&queue->work);
    copy->host_side->copy(copy->host, &queue->piece[buffer], queue->buffers + buffer * queue->buffer_size);
    pthread_mutex_lock(&queue->lock);
    queue->copying--;
    push(&queue->to_move, buffer);
    if (queue->caller_sleeps)
        pthread_cond_signal(&queue->progress);
}

static void *run(void *argument)
{
    struct shmemi_double_queue *queue = argument;
    pthread_setname_np(pthread_self(), "shmem-copy"); /* for tools such as ps and gdb */
    pthread_mutex_lock(&queue->lock);
    while (await_work(queue))
        copy_next_piece(queue, false);
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

/* ---- The caller -------------------------------------------------------------------------------------------------- */

static void fail(struct shmemi_double_queue *queue, int rc)
{
    pthread_mutex_lock(&queue->lock);
    if (!queue->rc)
        queue->rc = rc;
    pthread_mutex_unlock(&queue->lock);
}

/* The next buffer to be moved, with its piece; false when there is none now. */
static bool take_to_move(struct shmemi_double_queue *queue, unsigned *buffer_p)
{
    bool from_device = !queue->copy->to_device;
    pthread_mutex_lock(&queue->lock);
    bool taken = !queue->rc && count_of(&queue->to_move) && !(from_device && all_assigned(queue));
    if (taken) {
        *buffer_p = pop(&queue->to_move);
        if (from_device)
            assign(queue, *buffer_p);
    }
    pthread_mutex_unlock(&queue->lock);
    return taken;
}

/* Start all moves that can be started; true if there was one. */
static bool start_moves(struct shmemi_double_queue *queue)
{
    const struct shmemi_queued_copy *copy = queue->copy;
    unsigned buffer;
    bool started = false;
    while (count_of(&queue->to_move) && take_to_move(queue, &buffer)) {
        int rc = copy->dma->start(copy->device, buffer, &queue->piece[buffer]);
        if (rc) {
            fail(queue, rc);
            break;
        }
        push(&queue->moving, buffer);
        started = true;
    }
    return started;
}

/* Hand the buffers that have been moved to the threads; true if there was one. */
static bool collect_moves(struct shmemi_double_queue *queue)
{
    const struct shmemi_queued_copy *copy = queue->copy;
    bool collected = false;
    while (count_of(&queue->moving)) {
        unsigned buffer = queue->moving.buffer[queue->moving.first];
        int rc = copy->dma->test(copy->device, buffer);
        if (rc == -EAGAIN)
            break;
        pop(&queue->moving);
        if (rc)
            fail(queue, rc);
        pthread_mutex_lock(&queue->lock);
        push(&queue->to_copy, buffer);
        pthread_mutex_unlock(&queue->lock);
        collected = true;
    }
    return collected;
}

static size_t next_size(const struct shmemi_double_queue *queue)
{
    if (queue->copy->to_device)
        return piece_limit(queue);
    return size_of(&queue->piece[queue->to_copy.buffer[queue->to_copy.first]]);
}

/* Copy a piece in place of a thread, if it is small: at the beginning, while the threads wake up, and at the end.
 * During the copy of a large one the device would run out of work. */
static bool help(struct shmemi_double_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool helps = has_work(queue) && (queue->is_alone || next_size(queue) <= SHMEMI_COPY_HELP);
    if (helps)
        copy_next_piece(queue, true);
    pthread_mutex_unlock(&queue->lock);
    return helps;
}

/* Is nothing under way and, unless the copy has failed, nothing left to do? With the lock held. */
static bool is_over(const struct shmemi_double_queue *queue)
{
    if (count_of(&queue->moving) || queue->copying)
        return false;
    return queue->rc || (all_assigned(queue) && !count_of(queue->copy->to_device ? &queue->to_move : &queue->to_copy));
}

/* Has the caller nothing to do, with no move under way? With the lock held. */
static bool is_idle(const struct shmemi_double_queue *queue)
{
    bool can_move = count_of(&queue->to_move) && (queue->copy->to_device || !all_assigned(queue));
    return !can_move && !is_over(queue);
}

static bool can_go_on(const void *queue)
{
    return !is_idle(queue);
}

/* Wait for a thread: spin for a while, then sleep. With the lock held. */
static void await_thread(struct shmemi_double_queue *queue)
{
    pthread_mutex_unlock(&queue->lock);
    spin_until_filled(&queue->to_move);
    shmemi_interleave();
    pthread_mutex_lock(&queue->lock);
    queue->caller_sleeps = true;
    shmemi_sleep_until(&queue->progress, &queue->lock, can_go_on, queue);
    queue->caller_sleeps = false;
}

/* Wait a little: for a thread by sleeping; while moves are under way just return, so that the caller tests them again.
 * True when the copy is over. */
static bool await_progress(struct shmemi_double_queue *queue)
{
    shmemi_pause();
    if (count_of(&queue->moving))
        return false;
    pthread_mutex_lock(&queue->lock);
    if (is_idle(queue))
        await_thread(queue);
    bool over = is_over(queue);
    pthread_mutex_unlock(&queue->lock);
    return over;
}

static void begin(struct shmemi_double_queue *queue, const struct shmemi_queued_copy *copy)
{
    pthread_mutex_lock(&queue->lock);
    clear(&queue->to_copy);
    clear(&queue->to_move);
    clear(&queue->moving);
    for (unsigned i = 0; i < queue->n_buffers; i++)
        push(copy->to_device ? &queue->to_copy : &queue->to_move, i);
    queue->assigned = 0;
    queue->is_alone = !queue->n_threads || copy->nbytes < SHMEMI_COPY_ALONE;
    queue->rc = 0;
    queue->copy = copy;
    unsigned awake = queue->n_threads - queue->sleeping;
    if (!queue->is_alone)
        atomic_fetch_add_explicit(&queue->begun, 1, memory_order_relaxed);
    pthread_mutex_unlock(&queue->lock);
    shmemi_interleave();
    for (unsigned i = awake; !queue->is_alone && i < queue->n_threads && i <= copy->nbytes / SHMEMI_COPY_PER_THREAD;
         i++)
        pthread_cond_signal(&queue->work);
}

static int end(struct shmemi_double_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->copy = NULL;
    int rc = queue->rc;
    pthread_mutex_unlock(&queue->lock);
    return rc;
}

int shmemi_double_queue_copy(struct shmemi_double_queue *queue, const struct shmemi_queued_copy *copy)
{
    bool over = false;
    begin(queue, copy);
    while (!over) {
        bool moved = collect_moves(queue);
        moved |= start_moves(queue);
        if (!moved)
            moved = count_of(&queue->to_copy) && help(queue);
        if (!moved)
            over = await_progress(queue);
    }
    return end(queue);
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

/* The thread runs on these cores if the system allows that, or else wherever the system lets it run. */
static int create_thread(pthread_t *thread_p, struct shmemi_double_queue *queue, const cpu_set_t *cpus)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    if (cpus)
        pthread_attr_setaffinity_np(&attributes, sizeof *cpus, cpus);
    int rc = shmemi_thread_create(thread_p, &attributes, run, queue);
    pthread_attr_destroy(&attributes);
    return rc && cpus ? create_thread(thread_p, queue, NULL) : rc;
}

static int create_threads(struct shmemi_double_queue *queue, const struct shmemi_double_queue_config *config)
{
    int rc = 0;
    for (unsigned i = 0; i < config->threads && !rc; i++) {
        rc = create_thread(&queue->thread[i], queue, config->cpus);
        queue->n_threads += !rc;
    }
    return config->threads && !queue->n_threads ? rc : 0;
}

/* Adaptive: the lock is held so briefly that spinning is better than sleeping. */
static void init_lock(struct shmemi_double_queue *queue)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&queue->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

int shmemi_double_queue_open(const struct shmemi_double_queue_config *config, struct shmemi_double_queue **queue_p)
{
    struct shmemi_double_queue *queue = calloc(1, sizeof *queue);
    if (!queue) {
        shmemi_error("out of memory for the queues of copy threads");
        return -ENOMEM;
    }
    init_lock(queue);
    pthread_cond_init(&queue->work, NULL);
    pthread_cond_init(&queue->progress, NULL);
    queue->buffer_size = config->buffer_size;
    queue->buffers = config->buffers;
    queue->n_buffers = config->n_buffers;
    int rc = create_threads(queue, config);
    if (rc) {
        shmemi_error("no thread for copies of host memory could be started: %s%s", strerror(-rc), shmemi_remedy(-rc));
        shmemi_double_queue_close(queue);
        return rc;
    }
    *queue_p = queue;
    return 0;
}

void shmemi_double_queue_close(struct shmemi_double_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closing = true;
    pthread_cond_broadcast(&queue->work);
    pthread_mutex_unlock(&queue->lock);
    for (unsigned i = 0; i < queue->n_threads; i++)
        pthread_join(queue->thread[i], NULL);
    pthread_cond_destroy(&queue->progress);
    pthread_cond_destroy(&queue->work);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

unsigned shmemi_double_queue_threads(const struct shmemi_double_queue *queue)
{
    return queue->n_threads;
}
