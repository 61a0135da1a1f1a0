/* SPDX-License-Identifier: BSD-3-Clause
 *
 * More programs with one race each, of calls that are used less often; otherwise as racy.c.
 */
#include "choose.h"

#include <shmemx.h>

#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

static int x, y, words[64];
static long lock, other_lock;
static uint64_t signals[2];
static volatile int sink;

/* Of two blocks with two signals the reader waits for one, and reads both. */
static void second_signal(void)
{
    if (me == 0) {
        shmem_int_put_signal(&words[0], &words[32], 8, &signals[0], 1, SHMEM_SIGNAL_ADD, 1);
        shmem_int_put_signal(&words[8], &words[40], 8, &signals[1], 1, SHMEM_SIGNAL_ADD, 1); // second_signal
    }
    if (me == 1) {
        shmem_signal_wait_until(&signals[0], SHMEM_CMP_EQ, 1);
        sink = words[3];
        sink = words[11]; // second_signal
    }
}

/* wait_until_any has seen one flag; what belongs to the other is read. */
static void any_is_not_all(void)
{
    static int flags[3], wanted[3] = {1, 1, 1}, excluded[3] = {1, 0, 1};
    if (me != 1) {
        shmem_int_p(&words[me], 5, 1); // any_is_not_all
        shmem_fence();
        shmem_int_atomic_set(&flags[me ? 1 : 0], 1, 1);
    }
    if (me == 1) {
        (void)shmem_int_wait_until_any_vector(flags, 3, excluded, SHMEM_CMP_EQ, wanted);
        sink = words[0]; // any_is_not_all
    }
}

/* A store by shmem_ptr and a get of a third PE. */
static void pointer_and_get(void)
{
    int *block = shmem_calloc(4, sizeof *block), *there = shmem_ptr(block, 1);
    if (me == 0)
        there[2] = 4; // pointer_and_get
    if (me == 2)
        sink = shmem_int_g(&block[2], 1); // pointer_and_get
    shmem_free(block);
}

/* Each uses another lock. */
static void two_locks(void)
{
    long *mine = me ? &other_lock : &lock;
    if (me != 1) {
        shmem_set_lock(mine);
        shmem_int_p(&x, shmem_int_g(&x, 1) + 1, 1); // two_locks two_locks
        shmem_clear_lock(mine);
    }
}

/* A private context, of which only the default one is completed. */
static void private_context(void)
{
    shmem_ctx_t ctx;
    if (shmem_ctx_create(SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE, &ctx))
        exit(1);
    if (me == 0)
        shmem_ctx_int_put_nbi(ctx, &words[0], &words[32], 4, 1); // private_context
    shmem_quiet();
    shmem_sync_all();
    if (me == 1)
        words[3] = 2; // private_context
    shmem_sync_all();
    shmem_ctx_destroy(ctx);
}

/* The result of a fetch is used before quiet. */
static void fetch_result(void)
{
    static int result;
    if (me == 0) {
        shmem_int_atomic_fetch_add_nbi(&result, &x, 1, 1); // fetch_result
        sink = result;                                     // fetch_result
        shmem_quiet();
    }
}

/* The source of a broadcast is changed by another PE without order. */
static void broadcast_source(void)
{
    static int source[8], dest[8];
    if (me == 2)
        shmem_int_p(&source[5], 1, 0);                         // broadcast_source
    shmem_int_broadcast(SHMEM_TEAM_WORLD, dest, source, 8, 0); // broadcast_source
}

/* Blocks of ibput reach one element further than the get. */
static void blocks(void)
{
    if (me == 0)
        shmem_int_ibput(&words[0], &words[32], 8, 4, 3, 2, 1); // blocks
    if (me == 2)
        shmem_int_get(&words[50], &words[10], 2, 1); // blocks
}

/* A strided team synchronises; the word is that of a PE outside. */
static void strided_team(void)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, 2, NULL, 0, &team);
    if (me == 0) {
        shmem_int_p(&x, 1, 1); // strided_team
        shmem_quiet();
    }
    if (team != SHMEM_TEAM_INVALID)
        shmem_team_sync(team);
    if (me == 2)
        sink = shmem_int_g(&x, 1);
    if (me == 1)
        x = 7; // strided_team
}

/* dest of alltoalls is used by its owner's neighbour before all are through. */
static void alltoalls_dest(void)
{
    static int source[16], dest[16];
    shmem_int_alltoalls(SHMEM_TEAM_WORLD, dest, source, 2, 1, 2); // alltoalls_dest
    if (me == 0)
        shmem_int_p(&dest[4], 1, 1); // alltoalls_dest
}

/* A loop of plain loads instead of a wait. */
static void plain_loop(void)
{
    if (me == 0)
        shmem_int_atomic_set(&y, 1, 1); // plain_loop
    if (me == 1)
        for (int i = 0; i < 1000 && !y; i++) // plain_loop
            sink = i;
}

/* The two halves of a box overlap the neighbour's by a byte. */
static void box(void)
{
    const shmemx_box_t rows = {.width = 9, .rows = 3, .layers = 1, .dest_row_pitch = 16, .source_row_pitch = 16};
    if (me == 0)
        shmemx_put_box(&words[0], &words[32], &rows, 1); // box
    if (me == 2)
        shmem_putmem((char *)words + 8 + 32, &words[32], 8, 1); // box
}

/* The last element of a source is changed before quiet. */
static void last_of_source(void)
{
    int *source = malloc(64 * sizeof *source);
    if (me == 0) {
        for (int i = 0; i < 64; i++)
            source[i] = i;
        shmem_int_put_nbi(words, source, 64, 1); // last_of_source
        source[63] = 0;                          // last_of_source
    }
    shmem_quiet();
    free(source);
}

/* A thread puts by a context of its own; another reads without order. */
static void *put_by_context(void *unused)
{
    shmem_ctx_t ctx;
    (void)unused;
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx))
        exit(1);
    shmem_ctx_int_put(ctx, &x, &words[0], 1, 1); // thread_context
    shmem_ctx_quiet(ctx);
    shmem_ctx_destroy(ctx);
    return NULL;
}
static void thread_context(void)
{
    pthread_t thread;
    if (me == 0) {
        pthread_create(&thread, NULL, put_by_context, NULL);
        sink = shmem_int_g(&x, 1); // thread_context
        pthread_join(thread, NULL);
    }
}

/* A loop of OpenMP without a barrier at its end. */
static void openmp_nowait(void)
{
    if (me == 0) {
#pragma omp parallel num_threads(2)
        {
#pragma omp for nowait
            for (int i = 0; i < 2; i++)
                shmem_int_p(&words[i], i, 1); // openmp_nowait
            shmem_quiet();
            if (omp_get_thread_num() == 0)
                sink = shmem_int_g(&words[1], 1); // openmp_nowait
        }
    }
}

/* Nobody joins the first thread: the second takes its place only where places are scarce. */
static void *put_first(void *unused)
{
    shmem_int_p(&x, 1, 1); // detached_threads
    return unused;
}
static void *put_second(void *unused)
{
    shmem_int_p(&x, 2, 1); // detached_threads
    return unused;
}
static void detached_threads(void)
{
    pthread_t thread;
    if (me == 0) {
        pthread_create(&thread, NULL, put_first, NULL);
        pthread_detach(thread);
        poll(NULL, 0, 200);
        pthread_create(&thread, NULL, put_second, NULL);
        pthread_join(thread, NULL);
    }
}

static const struct program programs[] = {
    PROGRAM(second_signal),   PROGRAM(any_is_not_all), PROGRAM(pointer_and_get),  PROGRAM(two_locks),
    PROGRAM(private_context), PROGRAM(fetch_result),   PROGRAM(broadcast_source), PROGRAM(blocks),
    PROGRAM(strided_team),    PROGRAM(alltoalls_dest), PROGRAM(plain_loop),       PROGRAM(box),
    PROGRAM(last_of_source),  PROGRAM(thread_context), PROGRAM(openmp_nowait),    PROGRAM(detached_threads),
};

int main(int argc, char **argv)
{
    (void)right, (void)left;
    return run_chosen(argc, argv, programs, sizeof programs / sizeof *programs);
}
