/* SPDX-License-Identifier: BSD-3-Clause
 *
 * More programs without a race, of calls that are used less often; otherwise as ordered.c.
 */
#include "choose.h"

#include <shmemx.h>

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <threads.h>

enum { ROUNDS = 30 };

static int x, y, words[64];
static long lock;
static uint64_t signals[2];
static volatile int sink;

static void two_signals(void)
{
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        shmem_int_put_signal_nbi(&words[0], &words[32], 8, &signals[0], i, SHMEM_SIGNAL_SET, right);
        shmem_int_put_signal(&words[8], &words[40], 8, &signals[1], 1, SHMEM_SIGNAL_ADD, right);
        shmem_signal_wait_until(&signals[1], SHMEM_CMP_EQ, i);
        sink = words[15];
        while (shmem_signal_fetch(&signals[0]) != i)
            ;
        sink = words[0];
        shmem_barrier_all();
    }
}

static void vectors(void)
{
    static int flags[3], wanted[3] = {1, 1, 1};
    int status[3] = {0, 0, 0};
    for (int i = 0; i < n_pes; i++) {
        shmem_int_p(&words[me], 1, i);
        shmem_fence();
        shmem_int_p(&flags[me], 1, i);
    }
    for (int seen = 0; seen < n_pes;) {
        size_t indices[3];
        const size_t n = shmem_int_test_some_vector(flags, 3, indices, status, SHMEM_CMP_EQ, wanted);
        for (size_t i = 0; i < n && n != SIZE_MAX; i++, seen++) {
            status[indices[i]] = 1;
            sink = words[indices[i]];
        }
    }
}

static void strided_teams(void)
{
    shmem_team_t team, inner;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, 2, NULL, 0, &team);
    for (int i = 0; team != SHMEM_TEAM_INVALID && i < ROUNDS; i++) {
        shmem_team_split_strided(team, 1, 1, 1, NULL, 0, &inner);
        if (inner != SHMEM_TEAM_INVALID)
            shmem_int_p(&x, i, 0);
        shmem_quiet();
        shmem_team_sync(team);
        if (me == 0)
            x++;
        shmem_team_sync(team);
        shmem_team_destroy(inner);
    }
    shmem_team_destroy(team);
    shmem_barrier_all();
    if (me == 1)
        sink = shmem_int_g(&x, 0);
}

static void contexts_of_two_kinds(void)
{
    shmem_ctx_t private, serialized;
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &private) || shmem_ctx_create(SHMEM_CTX_SERIALIZED, &serialized))
        exit(1);
    for (int i = 0; i < ROUNDS; i++) {
        shmem_ctx_int_put_nbi(private, &words[0], &words[16], 8, right);
        shmem_ctx_int_put_nbi(serialized, &words[8], &words[24], 8, right);
        shmem_ctx_quiet(private);
        shmem_ctx_quiet(serialized);
        shmem_sync_all();
        words[0] = words[15] + 1;
        words[16] = i;
        shmem_sync_all();
    }
    shmem_ctx_destroy(private);
    shmem_ctx_destroy(serialized);
}

static void pointers_and_locks(void)
{
    int *block = shmem_calloc(4, sizeof *block), *there = shmem_ptr(block, 1);
    for (int i = 0; i < ROUNDS; i++) {
        shmem_set_lock(&lock);
        there[2]++;
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    if (me == 1)
        sink = block[2];
    shmem_free(block);
}

/* After a barrier a word that was atomic is a plain one, and then atomic again. */
static void atomic_then_plain(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        shmem_int_atomic_inc(&x, right);
        shmem_barrier_all();
        x = 0;
        shmem_barrier_all();
        (void)shmem_int_atomic_fetch(&x, left);
        shmem_barrier_all();
    }
}

static void reused_memory(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        int *block = malloc(256 * sizeof *block);
        for (int k = 0; k < 256; k++)
            block[k] = k;
        shmem_int_put_nbi(words, block, 64, i % 2 ? right : me);
        shmem_quiet();
        free(block);
        shmem_barrier_all();
    }
}

static void fetches(void)
{
    int results[8];
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < 8; k++)
            shmem_int_atomic_fetch_add_nbi(&results[k], &x, 1, k % n_pes);
        shmem_quiet();
        for (int k = 0; k < 8; k++)
            sink = results[k]++;
    }
}

static void blocks(void)
{
    if (me == 0)
        shmem_int_ibput(&words[0], &words[32], 8, 4, 3, 2, 1);
    if (me == 2)
        shmem_int_get(&words[50], &words[11], 5, 1);
    shmem_barrier_all();
    if (me == 1)
        shmem_int_iget(&words[0], &words[1], 2, 2, 8, 2);
}

static void alltoalls(void)
{
    static int source[32], dest[32];
    for (int i = 0; i < ROUNDS; i++) {
        source[0] = i;
        shmem_int_alltoalls(SHMEM_TEAM_WORLD, dest, source, 2, 1, 2);
        dest[1] = source[6] + i; /* between the elements */
        sink = dest[2];
        shmem_barrier_all();
        shmem_int_p(&dest[4], i, right);
        shmem_barrier_all();
        (void)shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &dest[8], &dest[4], 1);
        shmem_int_fcollect(SHMEM_TEAM_WORLD, &dest[9], &dest[4], 3);
        shmem_sync_all();
    }
}

static void test_loop(void)
{
    for (int i = 1; i <= ROUNDS; i++) {
        shmem_int_put(words, &words[32], 8, right);
        shmem_fence();
        shmem_int_atomic_set(&y, i, right);
        while (!shmem_int_test(&y, SHMEM_CMP_EQ, i))
            sink = i;
        words[0]++;
        shmem_barrier_all();
    }
}

static void box(void)
{
    const shmemx_box_t rows = {.width = 8, .rows = 3, .layers = 1, .dest_row_pitch = 16, .source_row_pitch = 16};
    if (me == 0)
        shmemx_put_box(&words[0], &words[32], &rows, 1);
    if (me == 2)
        shmem_putmem((char *)words + 8 + 32, &words[32], 8, 1);
}

static void *put_by_context(void *ctx)
{
    for (int i = 0; i < ROUNDS; i++) {
        shmem_ctx_int_p(*(shmem_ctx_t *)ctx, &words[me], i, right);
        shmem_ctx_quiet(*(shmem_ctx_t *)ctx);
    }
    return NULL;
}

static void threads_and_contexts(void)
{
    pthread_t thread;
    shmem_ctx_t ctx;
    if (shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx))
        exit(1);
    pthread_create(&thread, NULL, put_by_context, &ctx);
    shmem_int_p(&words[8 + me], 1, right);
    pthread_join(thread, NULL);
    shmem_barrier_all();
    sink = words[left] + words[8 + left];
    shmem_ctx_destroy(ctx);
}

static void openmp_loop(void)
{
    for (int k = 0; k < 5; k++) {
#pragma omp parallel for num_threads(3)
        for (int i = 0; i < 32; i++)
            shmem_int_p(&words[i], i, right);
        shmem_barrier_all();
        int sum = 0;
#pragma omp parallel for num_threads(3) reduction(+ : sum)
        for (int i = 0; i < 32; i++)
            sum += words[i];
        sink = sum;
        shmem_sync_all();
    }
}

/* Threads end and others begin, more of them than there are places for at a time. */
static void *put_word(void *word)
{
    shmem_int_put((int *)word, &me, 1, right);
    shmem_quiet();
    return NULL;
}
static void many_threads(void)
{
    pthread_t thread;
    for (int i = 0; i < 1500; i++) {
        pthread_create(&thread, NULL, put_word, &words[i % 64]);
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < 100; i++) {
#pragma omp parallel num_threads(2 + i % 2)
        put_word(&words[omp_get_thread_num()]);
    }
    shmem_barrier_all();
    sink = words[5];
}

/* Threads of C11, which hand a word over by a lock and a condition. */
static mtx_t mutex;
static cnd_t condition;
static int is_there;
static int put_and_tell(void *unused)
{
    (void)unused;
    shmem_int_p(&x, 1, right);
    shmem_quiet();
    mtx_lock(&mutex);
    is_there = 1;
    cnd_signal(&condition);
    mtx_unlock(&mutex);
    return 0;
}
static void c11_threads(void)
{
    thrd_t thread;
    mtx_init(&mutex, mtx_plain);
    cnd_init(&condition);
    words[3] = 4;
    thrd_create(&thread, put_and_tell, NULL);
    mtx_lock(&mutex);
    while (!is_there)
        cnd_wait(&condition, &mutex);
    mtx_unlock(&mutex);
    shmem_int_p(&x, 2, right);
    shmem_quiet();
    thrd_join(thread, NULL);
    shmem_int_get(&words[1], &x, 1, right);
}

/* Tasks of OpenMP, in the order of what they depend on. */
static void openmp_depend(void)
{
    int token = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : token)
        {
            shmem_int_p(&x, 1, right);
            shmem_quiet();
            token = 1;
        }
#pragma omp task depend(in : token)
        sink = shmem_int_g(&x, right) + token;
    }
}

static const struct program programs[] = {
    PROGRAM(two_signals),
    PROGRAM(vectors),
    PROGRAM(strided_teams),
    PROGRAM(contexts_of_two_kinds),
    PROGRAM(pointers_and_locks),
    PROGRAM(atomic_then_plain),
    PROGRAM(reused_memory),
    PROGRAM(fetches),
    PROGRAM(blocks),
    PROGRAM(alltoalls),
    PROGRAM(test_loop),
    PROGRAM(box),
    PROGRAM(threads_and_contexts),
    PROGRAM(openmp_loop),
    PROGRAM(many_threads),
    PROGRAM(c11_threads),
    PROGRAM(openmp_depend),
};

int main(int argc, char **argv)
{
    return run_chosen(argc, argv, programs, sizeof programs / sizeof *programs);
}
