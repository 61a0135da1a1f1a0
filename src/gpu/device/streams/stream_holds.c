/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turns: a stream of the program waits until a thread of ours has done something.
 *
 * Two words of page-locked memory: the stream sets come and then waits for gone. They only grow, so that a turn can be
 * used again as soon as it has been ended, even if the stream has not noticed yet. A stream that copies its data to
 * host memory first need not wait.
 */

#include "gpu/device/gpu_context.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>

enum { TURNS_PER_BLOCK = 512, WORDS_ALIGNMENT = 64, POLLS_PER_LOOK = 1024 };

struct turn_words {
    _Alignas(WORDS_ALIGNMENT) _Atomic uint64_t come;
    _Atomic uint64_t gone;
};

struct turn {
    struct turn_words *words;
    uint64_t number;
    const struct shmemi_cuda_context *context; /* of the stream */
    unsigned n_polls;
    struct turn *next; /* next free turn */
};

struct turn_block {
    struct turn_block *next;
    struct turn_words *words;
    struct turn turn[TURNS_PER_BLOCK];
};

static pthread_mutex_t turns_lock = PTHREAD_MUTEX_INITIALIZER;
static struct turn_block *turn_blocks;
static struct turn *free_turns;

/* With the lock held. */
static int add_block(void)
{
    struct turn_block *block = calloc(1, sizeof *block);
    size_t size = TURNS_PER_BLOCK * sizeof *block->words, page = 4096;
    void *words = block ? aligned_alloc(page, (size + page - 1) / page * page) : NULL;
    int rc = words ? shmemi_cuda_pin(words, size) : -ENOMEM;
    if (rc) {
        free(words);
        free(block);
        return rc;
    }
    block->words = words;
    for (int i = 0; i < TURNS_PER_BLOCK; i++) {
        atomic_init(&block->words[i].come, 0);
        atomic_init(&block->words[i].gone, 0);
        block->turn[i].words = &block->words[i];
        block->turn[i].next = free_turns;
        free_turns = &block->turn[i];
    }
    block->next = turn_blocks;
    turn_blocks = block;
    return 0;
}

void shmemi_cuda_turns_reserve(void)
{
    pthread_mutex_lock(&turns_lock);
    if (!turn_blocks)
        (void)add_block();
    pthread_mutex_unlock(&turns_lock);
}

static int take_turn(struct turn **turn_p)
{
    pthread_mutex_lock(&turns_lock);
    int rc = free_turns ? 0 : add_block();
    if (!rc) {
        *turn_p = free_turns;
        free_turns = free_turns->next;
    }
    pthread_mutex_unlock(&turns_lock);
    return rc;
}

static void give_turn(struct turn *turn)
{
    pthread_mutex_lock(&turns_lock);
    turn->next = free_turns;
    free_turns = turn;
    pthread_mutex_unlock(&turns_lock);
}

/* Without a wait the stream only shows that it has come. */
static int begin(const struct shmemi_stream *stream, bool waits, void **turn_p)
{
    struct turn *turn;
    int rc = take_turn(&turn);
    if (rc) {
        shmemi_error("no page-locked memory for operations in streams");
        return rc;
    }
    turn->context = stream->object;
    turn->number++;
    struct shmemi_word words[] = {
        {shmemi_place_host(&turn->words->come), turn->number, SHMEMI_STEP_SET},
        {shmemi_place_host(&turn->words->gone), turn->number, SHMEMI_STEP_UNTIL_GE},
    };
    rc = shmemi_cuda_stream_take_steps(stream, words, waits ? 2 : 1);
    if (rc == -ENOTSUP)
        shmemi_error("CUDA device %d: neither operations on streams nor kernels of the library can be used",
                     turn->context->device);
    if (rc)
        give_turn(turn);
    else
        *turn_p = turn;
    return rc;
}

int shmemi_cuda_turn_begin(const struct shmemi_stream *stream, void **turn_p)
{
    return begin(stream, true, turn_p);
}

/* What is longer goes to the staging slots in one copy less. */
int shmemi_cuda_turn_begin_with_copy(const struct shmemi_stream *stream, void *dest, const struct shmemi_place *source,
                                     size_t nbytes, void **turn_p)
{
    enum { MOST = 32 << 10 };
    const struct shmemi_place room = shmemi_place_host(dest);
    int rc = stream->is_in_order && nbytes <= MOST ? shmemi_cuda_stream_copy(stream, &room, source, nbytes) : -ENOTSUP;
    return rc ? rc : begin(stream, false, turn_p);
}

/* After a kernel of the program has failed, its context is dead: none of its streams continues. */
static int look_for_failure(const struct shmemi_cuda_context *context)
{
    bool pushed;
    CUstream own;
    shmemi_cuda_contexts_check();
    int rc = shmemi_cuda_enter(context, &pushed);
    if (rc)
        return rc;
    rc = shmemi_cuda_stream((struct shmemi_cuda_context *)context, &own);
    CUresult result = rc ? CUDA_SUCCESS : shmemi_cuda.cuStreamQuery(own);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        rc = shmemi_cuda_failed(result, "cuStreamQuery(a stream with operations of the library)");
    shmemi_cuda_leave(pushed);
    return rc;
}

int shmemi_cuda_turn_state(void *argument)
{
    struct turn *turn = argument;
    if (atomic_load_explicit(&turn->words->come, memory_order_acquire) >= turn->number) {
        turn->n_polls = 0;
        return 0;
    }
    int rc = ++turn->n_polls % POLLS_PER_LOOK ? 0 : look_for_failure(turn->context);
    return rc ? rc : -EAGAIN;
}

/* The status is ignored here: the thread that has done the work reports it. */
void shmemi_cuda_turn_end(void *argument, int status)
{
    struct turn *turn = argument;
    (void)status;
    atomic_store_explicit(&turn->words->gone, turn->number, memory_order_release);
    give_turn(turn);
}

void shmemi_cuda_turns_close(void)
{
    free_turns = NULL;
    while (turn_blocks) {
        struct turn_block *block = turn_blocks;
        turn_blocks = block->next;
        free(block->words);
        free(block);
    }
}
