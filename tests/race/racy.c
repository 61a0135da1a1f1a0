/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs with one race each; the argument chooses one. The two accesses stand in lines that end with the program's
 * name. races.test runs them with 3 PEs and compares what is reported with these lines.
 */
#include "choose.h"

#include <shmemx.h>

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

static int x, y, words[64];
static long lock;
static uint64_t signal_word, other_signal;
static volatile int sink;

/* Puts while the owner reads, without any order. */
static void put_load(void)
{
    if (me == 0)
        shmem_int_p(&x, 1, 1); // put_load
    if (me == 1)
        sink = x; // put_load
}

/* A fence orders puts, not the other PE. */
static void fence_only(void)
{
    if (me == 0) {
        shmem_int_p(&x, 1, 1); // fence_only
        shmem_fence();
    }
    shmem_sync_all();
    if (me == 1)
        sink = x; // fence_only
}

/* sync_all without quiet completes nothing. */
static void sync_without_quiet(void)
{
    if (me == 0)
        shmem_int_put(&x, &y, 1, 1); // sync_without_quiet
    shmem_sync_all();
    if (me == 1)
        x = 3; // sync_without_quiet
}

/* The flag is put without a fence after the data. */
static void flag_without_fence(void)
{
    if (me == 0) {
        shmem_int_p(&x, 1, 1); // flag_without_fence
        shmem_int_atomic_set(&y, 1, 1);
    }
    if (me == 1) {
        shmem_int_wait_until(&y, SHMEM_CMP_EQ, 1);
        sink = x; // flag_without_fence
    }
}

/* put_signal orders its own data, not the put before it. */
static void signal_of_another_put(void)
{
    if (me == 0) {
        shmem_int_p(&x, 1, 1); // signal_of_another_put
        shmem_int_put_signal(&words[0], &y, 1, &signal_word, 1, SHMEM_SIGNAL_SET, 1);
    }
    if (me == 1) {
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
        sink = words[0];
        sink = x; // signal_of_another_put
    }
}

/* The reader waits for the signal of another block. */
static void other_signal_waited(void)
{
    if (me == 0) {
        shmem_int_put_signal_nbi(&words[0], &y, 1, &signal_word, 1, SHMEM_SIGNAL_SET, 1); // other_signal_waited
        shmem_int_put_signal_nbi(&words[8], &y, 1, &other_signal, 1, SHMEM_SIGNAL_SET, 1);
    }
    if (me == 1) {
        shmem_signal_wait_until(&other_signal, SHMEM_CMP_EQ, 1);
        sink = words[0]; // other_signal_waited
    }
}

/* A signal is read without a wait. */
static void signal_polled(void)
{
    if (me == 0)
        shmem_int_put_signal(&x, &y, 1, &signal_word, 1, SHMEM_SIGNAL_SET, 1); // signal_polled
    if (me == 1)
        sink = (int)signal_word; // signal_polled
}

/* Two PEs put to one word. */
static void two_puts(void)
{
    if (me == 0 || me == 2)
        shmem_int_p(&x, me, 1); // two_puts two_puts
}

/* One PE puts twice without a fence. */
static void own_puts(void)
{
    if (me == 0) {
        shmem_int_put_nbi(&x, &words[0], 1, 1); // own_puts
        shmem_int_put_nbi(&x, &words[1], 1, 1); // own_puts
    }
}

/* The source changes before quiet. */
static void source_changed(void)
{
    int source[4] = {1, 2, 3, 4};
    if (me == 0) {
        shmem_int_put_nbi(words, source, 4, 1); // source_changed
        source[2] = 7;                          // source_changed
        shmem_quiet();
    }
}

/* dest is used before quiet. */
static void dest_used(void)
{
    int *dest = malloc(16 * sizeof *dest);
    if (me == 0) {
        shmem_int_get_nbi(dest, words, 16, 1); // dest_used
        sink = dest[9];                        // dest_used
        shmem_quiet();
    }
    free(dest);
}

/* quiet of another context. */
static void other_context(void)
{
    shmem_ctx_t ctx;
    if (shmem_ctx_create(0, &ctx))
        exit(1);
    if (me == 0) {
        shmem_ctx_int_p(ctx, &x, 1, 1); // other_context
        shmem_quiet();
        shmem_int_atomic_set(&y, 1, 1);
    }
    if (me == 1) {
        shmem_int_wait_until(&y, SHMEM_CMP_EQ, 1);
        sink = x; // other_context
    }
    shmem_ctx_destroy(ctx);
}

/* Outside of the lock. */
static void beside_lock(void)
{
    if (me == 0) {
        shmem_set_lock(&lock);
        shmem_int_p(&x, 1, 1); // beside_lock
        shmem_clear_lock(&lock);
    }
    if (me == 2)
        shmem_int_p(&x, 2, 1); // beside_lock
}

/* An atomic and a plain access. */
static void atomic_and_plain(void)
{
    if (me == 0)
        shmem_int_atomic_inc(&x, 1); // atomic_and_plain
    if (me == 1)
        x++; // atomic_and_plain
}

/* Atomic operations of two types. */
static void atomic_types(void)
{
    static long word;
    if (me == 0)
        shmem_long_atomic_add(&word, 1, 1); // atomic_types
    if (me == 2)
        shmem_int_atomic_add((int *)&word, 1, 1); // atomic_types
}

/* A broadcast orders what the root did, not what others did. */
static void broadcast_from_another(void)
{
    if (me == 1) {
        shmem_int_p(&x, 1, 2); // broadcast_from_another
        shmem_quiet();
    }
    shmem_int_broadcast(SHMEM_TEAM_WORLD, &words[0], &words[1], 1, 0);
    if (me == 2)
        sink = x; // broadcast_from_another
}

/* The dest of a reduction is put to while others may be in it. */
static void reduction_in_use(void)
{
    static int result;
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &result, &x, 1); // reduction_in_use
    if (me == 0)
        shmem_int_p(&result, 5, 1); // reduction_in_use
}

/* The team that synchronises does not have the reader. */
static void wrong_team(void)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 2, NULL, 0, &team);
    if (me == 0) {
        shmem_int_p(&x, 1, 2); // wrong_team
        shmem_quiet();
    }
    if (team != SHMEM_TEAM_INVALID)
        shmem_team_sync(team);
    if (me == 2)
        sink = x; // wrong_team
}

/* Strided blocks overlap by one element. */
static void strided(void)
{
    if (me == 0)
        shmem_int_iput(&words[0], &words[32], 2, 1, 8, 1); // strided
    if (me == 2)
        shmem_int_iput(&words[1], &words[32], 3, 1, 4, 1); // strided
}

/* A thread puts, and another tells, without order between them. */
static void *put_in_thread(void *unused)
{
    (void)unused;
    shmem_int_p(&x, 1, 1); // threads
    shmem_quiet();
    return NULL;
}
static void threads(void)
{
    pthread_t thread;
    if (me == 0) {
        pthread_create(&thread, NULL, put_in_thread, NULL);
        shmem_int_atomic_set(&y, 1, 1);
        pthread_join(thread, NULL);
    }
    if (me == 1) {
        shmem_int_wait_until(&y, SHMEM_CMP_EQ, 1);
        sink = x; // threads
    }
}

/* Two threads of OpenMP put to one word. */
static void openmp(void)
{
    if (me == 0) {
#pragma omp parallel num_threads(2)
        {
            shmem_int_p(&x, omp_get_thread_num(), 1); // openmp openmp
            shmem_quiet();
        }
    }
}

/* The heap: the neighbour's last element, by shmem_ptr. */
static void heap_by_address(void)
{
    int *block = shmem_calloc(10, sizeof *block);
    int *there = shmem_ptr(block, (me + 1) % n_pes);
    if (me == 0)
        there[9] = 1; // heap_by_address
    if (me == 1)
        sink = block[9]; // heap_by_address
    shmem_free(block);
}

/* A copy by memcpy reads what is put. */
static void copied(void)
{
    if (me == 0)
        shmem_int_put(&words[8], &words[32], 8, 1); // copied
    if (me == 1)
        memcpy(&words[40], &words[4], (size_t)n_pes * 8); // copied
}

static const struct program programs[] = {
    PROGRAM(put_load),
    PROGRAM(fence_only),
    PROGRAM(sync_without_quiet),
    PROGRAM(flag_without_fence),
    PROGRAM(signal_of_another_put),
    PROGRAM(other_signal_waited),
    PROGRAM(signal_polled),
    PROGRAM(two_puts),
    PROGRAM(own_puts),
    PROGRAM(source_changed),
    PROGRAM(dest_used),
    PROGRAM(other_context),
    PROGRAM(beside_lock),
    PROGRAM(atomic_and_plain),
    PROGRAM(atomic_types),
    PROGRAM(broadcast_from_another),
    PROGRAM(reduction_in_use),
    PROGRAM(wrong_team),
    PROGRAM(strided),
    PROGRAM(threads),
    PROGRAM(openmp),
    PROGRAM(heap_by_address),
    PROGRAM(copied),
};

int main(int argc, char **argv)
{
    (void)right, (void)left;
    return run_chosen(argc, argv, programs, sizeof programs / sizeof programs[0]);
}
