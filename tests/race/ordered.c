/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs without a race; the argument chooses one. Each would have one without the order that its name says. races.test
 * runs them with 3 PEs.
 */
#include "choose.h"

#include <shmemx.h>

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

enum { ROUNDS = 50, N = 64 };

static int x, y, words[N];
static long lock;
static uint64_t signal_word, ack;
static volatile int sink;

static void barrier(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        x = i;
        shmem_barrier_all();
        shmem_int_put(&x, &words[0], 1, right);
        shmem_barrier_all();
    }
}

static void quiet_and_sync(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        shmem_int_p(&x, i, right);
        shmem_quiet();
        shmem_sync_all();
        sink = x;
        shmem_sync_all();
    }
}

/* A flag that is put, waited for and reset, and an answer. */
static void fence_and_flag(void)
{
    for (int i = 1; i <= ROUNDS; i++) {
        if (me == 0) {
            shmem_int_put(words, words, N, 1);
            shmem_fence();
            shmem_int_p(&y, i, 1);
            shmem_int_wait_until(&x, SHMEM_CMP_EQ, i);
        }
        if (me == 1) {
            shmem_int_wait_until(&y, SHMEM_CMP_EQ, i);
            for (int k = 0; k < N; k++)
                words[k]++;
            y = 0;
            shmem_int_p(&x, i, 0);
            shmem_quiet();
        }
    }
}

static void put_signal(void)
{
    static int halves[2][N];
    for (int i = 1; i <= ROUNDS; i++) {
        int *half = halves[i % 2];
        shmem_int_put_signal_nbi(half, words, N, &signal_word, (uint64_t)i, SHMEM_SIGNAL_SET, right);
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, (uint64_t)i);
        for (int k = 0; k < N; k++)
            sink = half[k];
        shmem_signal_add(&ack, 1, left);
        shmem_signal_wait_until(&ack, SHMEM_CMP_GE, (uint64_t)i);
    }
    shmem_quiet();
    words[0] = 1;
}

/* What PE 0 put is told on by PE 1 to PE 2. */
static void chain(void)
{
    if (me == 0) {
        shmem_int_p(&x, 1, 2);
        shmem_quiet();
        shmem_int_atomic_set(&y, 1, 1);
    }
    if (me == 1) {
        shmem_int_wait_until(&y, SHMEM_CMP_EQ, 1);
        shmem_int_atomic_set(&y, 1, 2);
    }
    if (me == 2) {
        shmem_int_wait_until(&y, SHMEM_CMP_EQ, 1);
        x++;
    }
}

/* Data that a fence and a flag delivered are read by a third PE. */
static void delivered_by_fence(void)
{
    if (me == 0) {
        shmem_int_p(&x, 1, 1);
        shmem_fence();
        shmem_int_atomic_set(&y, 1, 1);
    }
    if (me == 1) {
        shmem_int_wait_until(&y, SHMEM_CMP_EQ, 1);
        shmem_int_atomic_set(&y, 1, 2);
    }
    if (me == 2) {
        shmem_int_wait_until(&y, SHMEM_CMP_EQ, 1);
        sink = shmem_int_g(&x, 1);
    }
}

static void atomics(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        shmem_int_atomic_add(&x, 1, right);
        (void)shmem_int_atomic_fetch_add(&x, 1, left);
        (void)shmem_int_atomic_compare_swap(&x, 0, 1, 0);
        shmem_int_atomic_fetch_inc_nbi(&words[i], &x, 1);
    }
    shmem_quiet();
    sink = words[3];
}

/* A counter of arrivals. */
static void counted(void)
{
    static int slots[16];
    shmem_int_p(&slots[me], me, 0);
    shmem_fence();
    shmem_int_atomic_inc(&x, 0);
    if (me == 0) {
        shmem_int_wait_until(&x, SHMEM_CMP_EQ, n_pes);
        for (int i = 0; i < n_pes; i++)
            sink = slots[i];
    }
}

static void locks(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        shmem_set_lock(&lock);
        shmem_int_p(&x, shmem_int_g(&x, 1) + 1, 1);
        shmem_clear_lock(&lock);
    }
    while (shmem_test_lock(&lock))
        ;
    shmem_int_p(&x, 0, 1);
    shmem_clear_lock(&lock);
}

static void collectives(void)
{
    static int source[N], dest[4 * N];
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < N; k++)
            source[k] = k + i;
        shmem_int_sum_reduce(SHMEM_TEAM_WORLD, dest, source, N);
        sink = dest[N - 1];
        shmem_barrier_all();
        shmem_int_broadcast(SHMEM_TEAM_WORLD, dest, source, N, 0);
        sink = dest[0];
        shmem_barrier_all();
        shmem_int_fcollect(SHMEM_TEAM_WORLD, dest, source, N / 2);
        sink = dest[n_pes * N / 2 - 1];
        shmem_barrier_all();
        shmem_int_alltoall(SHMEM_TEAM_WORLD, dest, source, 8);
        sink = dest[1];
        shmem_int_sum_inscan(SHMEM_TEAM_WORLD, dest, source, N);
        shmem_barrier_all();
    }
}

/* A reduction tells what its members did before. */
static void reduction_orders(void)
{
    static int in, out;
    shmem_int_p(&x, 1, right);
    shmem_quiet();
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &out, &in, 1);
    sink = x;
}

static void broadcast_orders(void)
{
    static int in, out;
    if (me == 0)
        for (int i = 0; i < n_pes; i++)
            shmem_int_p(&x, 1, i);
    shmem_quiet();
    shmem_int_broadcast(SHMEM_TEAM_WORLD, &out, &in, 1, 0);
    sink = x;
}

static void teams(void)
{
    shmem_team_t team;
    shmem_ctx_t ctx;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n_pes + 1) / 2, NULL, 0, &team);
    if (team == SHMEM_TEAM_INVALID)
        return;
    if (shmem_team_create_ctx(team, 0, &ctx))
        exit(1);
    for (int i = 0; i < ROUNDS; i++) {
        if (shmem_team_my_pe(team) == 0)
            shmem_ctx_int_p(ctx, &x, i, 1);
        shmem_ctx_quiet(ctx);
        shmem_team_sync(team);
        sink = x;
        shmem_team_sync(team);
    }
    shmem_ctx_destroy(ctx);
    shmem_team_destroy(team);
}

static void contexts(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        shmem_ctx_t ctx;
        if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx))
            exit(1);
        shmem_ctx_int_put_nbi(ctx, &words[0], &words[32], 16, right);
        shmem_ctx_fence(ctx);
        shmem_ctx_int_p(ctx, &words[3], 1, right);
        shmem_ctx_destroy(ctx);
        shmem_sync_all();
        sink = words[3];
        shmem_sync_all();
    }
}

static void *put_in_thread(void *unused)
{
    (void)unused;
    shmem_int_p(&x, 1, 1);
    shmem_quiet();
    return NULL;
}

static void threads(void)
{
    pthread_t thread;
    for (int i = 0; i < ROUNDS; i++) {
        if (me == 0) {
            pthread_create(&thread, NULL, put_in_thread, NULL);
            pthread_join(thread, NULL);
        }
        shmem_sync_all();
        if (me == 1)
            x++;
        shmem_sync_all();
    }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *add_under_mutex(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        shmem_int_p(&x, shmem_int_g(&x, right) + 1, right);
        shmem_quiet();
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void mutexes(void)
{
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, add_under_mutex, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    shmem_barrier_all();
    sink = x;
}

static void openmp(void)
{
    int private_buffers[4][8];
    for (int i = 0; i < ROUNDS; i++) {
#pragma omp parallel num_threads(3)
        {
            int *mine = private_buffers[omp_get_thread_num()];
            shmem_int_put_nbi(&words[omp_get_thread_num() * 8], mine, 8, right);
            shmem_quiet();
            mine[0]++;
#pragma omp barrier
#pragma omp single
            {
                shmem_sync_all();
                sink = words[0];
                shmem_sync_all();
            }
#pragma omp critical
            {
                shmem_int_p(&x, 1, right);
                shmem_quiet();
            }
        }
        shmem_barrier_all();
        x = 0;
        shmem_barrier_all();
    }
}

static void buffers(void)
{
    int *block = malloc(N * sizeof *block), stack[N];
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < N; k++)
            block[k] = stack[k] = k;
        shmem_int_put(words, stack, N / 2, right);
        stack[0] = 1;
        shmem_int_put_nbi(&words[N / 2], block, N / 2, right);
        sink = block[0];
        shmem_quiet();
        block[0] = 1;
        shmem_barrier_all();
        shmem_int_get_nbi(block, words, N, right);
        shmem_quiet();
        sink = block[5];
        shmem_barrier_all();
    }
    free(block);
}

static void strided(void)
{
    if (me == 0)
        shmem_int_iput(&words[0], &words[32], 2, 1, 16, 1);
    if (me == 2)
        shmem_int_iput(&words[1], &words[32], 2, 1, 16, 1);
    shmem_char_p((char *)&x + me, 1, 1);
}

/* Memory that was given back serves another object. */
static void reused(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        int *block = shmem_malloc(N * sizeof *block);
        shmem_int_put_nbi(block, words, N, i % 2 ? right : left);
        shmem_quiet();
        shmem_free(block);
        block = shmem_calloc(N, sizeof *block);
        block[i % N] = 1;
        block = shmem_realloc(block, 2 * N * sizeof *block);
        block[N] = 1;
        shmem_free(block);
    }
}

static void by_address(void)
{
    int *block = shmem_calloc(N, sizeof *block), *there = shmem_ptr(block, right);
    for (int i = 0; i < ROUNDS; i++) {
        there[i % N] = i;
        shmem_barrier_all();
        sink = block[i % N];
        shmem_barrier_all();
    }
    shmem_free(block);
}

static void waits(void)
{
    static int flags[16];
    size_t indices[16];
    for (int i = 0; i < n_pes; i++) {
        shmem_int_p(&words[me], me, i);
        shmem_fence();
        shmem_int_atomic_set(&flags[me], 1, i);
    }
    (void)shmem_int_wait_until_some(flags, (size_t)n_pes, indices, NULL, SHMEM_CMP_EQ, 1);
    sink = words[indices[0]];
    sink = words[shmem_int_wait_until_any(flags, (size_t)n_pes, NULL, SHMEM_CMP_EQ, 1)];
    shmem_int_wait_until_all(flags, (size_t)n_pes, NULL, SHMEM_CMP_EQ, 1);
    for (int i = 0; i < n_pes; i++)
        sink = words[i];
}

static const struct program programs[] = {
    PROGRAM(barrier),
    PROGRAM(quiet_and_sync),
    PROGRAM(fence_and_flag),
    PROGRAM(put_signal),
    PROGRAM(chain),
    PROGRAM(delivered_by_fence),
    PROGRAM(atomics),
    PROGRAM(counted),
    PROGRAM(locks),
    PROGRAM(collectives),
    PROGRAM(reduction_orders),
    PROGRAM(broadcast_orders),
    PROGRAM(teams),
    PROGRAM(contexts),
    PROGRAM(threads),
    PROGRAM(mutexes),
    PROGRAM(openmp),
    PROGRAM(buffers),
    PROGRAM(strided),
    PROGRAM(reused),
    PROGRAM(by_address),
    PROGRAM(waits),
};

int main(int argc, char **argv)
{
    return run_chosen(argc, argv, programs, sizeof programs / sizeof programs[0]);
}
