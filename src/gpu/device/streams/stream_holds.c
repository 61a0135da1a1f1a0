/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Holds a stream of the program until a thread of ours has done something.
 *
 * Two words of page-locked memory: the stream sets `reached` and then waits for `released`. They only grow, so that a hold
 * can be used again as soon as it has been released, even if the stream has not noticed yet. A stream that copies its data
 * to host memory first need not wait.
 */

#include "gpu/device/page_locks.h"
#include "gpu/device/streams/program_streams.h"
#include "base/system/cache_line.h"
#include "base/log.h"
#include "base/system/pages.h"
#include "base/tuning.h"

#include <errno.h>
#include <stdlib.h>

enum { HOLDS_PER_BLOCK = 512, POLLS_PER_LOOK = 1024 };

struct hold_words {
    _Alignas(SHMEMI_CACHE_LINE) _Atomic uint64_t reached;
    _Atomic uint64_t released;
};

struct hold {
    struct hold_words *words;
    uint64_t number;
    const struct shmemi_gpu_context *context; /* of the stream */
    unsigned n_polls;
    struct hold *next; /* next free hold */
};

struct hold_block {
    struct hold_block *next;
    struct hold_words *words;
    struct hold hold[HOLDS_PER_BLOCK];
};

static pthread_mutex_t holds_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hold_block *hold_blocks;
static struct hold *free_holds;

/* With the lock held. */
static int add_block(void)
{
    struct hold_block *block = calloc(1, sizeof *block);
    const size_t size = HOLDS_PER_BLOCK * sizeof *block->words;
    void *words = block ? shmemi_pages_allocate(size) : NULL;
    int rc = words ? shmemi_gpu_pin(words, size) : -ENOMEM;
    if (rc) {
        free(words);
        free(block);
        return rc;
    }
    block->words = words;
    for (int i = 0; i < HOLDS_PER_BLOCK; i++) {
        atomic_init(&block->words[i].reached, 0);
        atomic_init(&block->words[i].released, 0);
        block->hold[i].words = &block->words[i];
        block->hold[i].next = free_holds;
        free_holds = &block->hold[i];
    }
    block->next = hold_blocks;
    hold_blocks = block;
    return 0;
}

void shmemi_stream_holds_reserve(void)
{
    pthread_mutex_lock(&holds_lock);
    if (!hold_blocks)
        (void)add_block();
    pthread_mutex_unlock(&holds_lock);
}

static int take_hold(struct hold **hold_p)
{
    pthread_mutex_lock(&holds_lock);
    int rc = free_holds ? 0 : add_block();
    if (!rc) {
        *hold_p = free_holds;
        free_holds = free_holds->next;
    }
    pthread_mutex_unlock(&holds_lock);
    return rc;
}

static void give_hold(struct hold *hold)
{
    pthread_mutex_lock(&holds_lock);
    hold->next = free_holds;
    free_holds = hold;
    pthread_mutex_unlock(&holds_lock);
}

/* Without a wait the stream only shows that it has come. */
static int begin(const struct shmemi_stream *stream, bool waits, void **hold_p)
{
    struct hold *hold;
    int rc = take_hold(&hold);
    if (rc) {
        shmemi_error("no page-locked memory for operations in streams");
        return rc;
    }
    hold->context = stream->object;
    hold->number++;
    struct shmemi_word words[] = {
        {shmemi_place_host(&hold->words->reached), hold->number, SHMEMI_STEP_SET},
        {shmemi_place_host(&hold->words->released), hold->number, SHMEMI_STEP_UNTIL_GE},
    };
    rc = shmemi_gpu_stream_take_steps(stream, words, waits ? 2 : 1);
    if (rc == -ENOTSUP)
        shmemi_error("%s device %d: neither operations on streams nor kernels of the library can be used",
                     shmemi_gpu.memory->title, hold->context->device);
    if (rc)
        give_hold(hold);
    else
        *hold_p = hold;
    return rc;
}

int shmemi_stream_hold_begin(const struct shmemi_stream *stream, void **hold_p)
{
    return begin(stream, true, hold_p);
}

int shmemi_stream_hold_begin_with_copy(const struct shmemi_stream *stream, void *dest,
                                       const struct shmemi_place *source, size_t nbytes, void **hold_p)
{
    const struct shmemi_place room = shmemi_place_host(dest);
    int rc = stream->is_in_order && nbytes <= SHMEMI_GPU_HOLD_WITH_COPY
                 ? shmemi_gpu_stream_copy(stream, &room, source, nbytes)
                 : -ENOTSUP;
    return rc ? rc : begin(stream, false, hold_p);
}

/* After a kernel of the program has failed, its context is dead: none of its streams continues. */
static int look_for_failure(const struct shmemi_gpu_context *context)
{
    bool pushed;
    void *own;
    shmemi_gpu_contexts_check();
    int rc = shmemi_gpu_enter(context, &pushed);
    if (rc)
        return rc;
    rc = shmemi_gpu_stream((struct shmemi_gpu_context *)context, &own);
    if (!rc)
        rc =
            shmemi_gpu_has_ended(shmemi_gpu.stream_query(own), "stream_query(a stream with operations of the library)");
    shmemi_gpu_leave(pushed);
    return rc == -EAGAIN ? 0 : rc;
}

int shmemi_stream_hold_state(void *argument)
{
    struct hold *hold = argument;
    if (atomic_load_explicit(&hold->words->reached, memory_order_acquire) >= hold->number) {
        hold->n_polls = 0;
        return 0;
    }
    int rc = ++hold->n_polls % POLLS_PER_LOOK ? 0 : look_for_failure(hold->context);
    return rc ? rc : -EAGAIN;
}

/* The status is ignored here: the thread that has done the work reports it. */
void shmemi_stream_hold_end(void *argument, int status)
{
    struct hold *hold = argument;
    (void)status;
    atomic_store_explicit(&hold->words->released, hold->number, memory_order_release);
    give_hold(hold);
}

void shmemi_stream_holds_close(void)
{
    free_holds = NULL;
    while (hold_blocks) {
        struct hold_block *block = hold_blocks;
        hold_blocks = block->next;
        free(block->words);
        free(block);
    }
}
