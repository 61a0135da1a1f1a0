/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Locks: data protected by locks stay consistent, whichever PE they lie on, when all PEs and threads change them;
 * results of test_lock; PEs get a lock in the order in which they asked; puts before the release are visible to the
 * next holder. Locks in the heap and in static data, one and many.
 */
#include "check.h"
#include "tests/patience.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { N_LOCKS = 12, N_COPIES = 4, ROUNDS = 6, N_BLOCK = 1 << 19 };

/* A lock and what it protects: a number, several times over, on one PE. */
struct guarded {
    long lock;
    long copies[N_COPIES];
};

static struct guarded static_guarded[N_LOCKS];

static void take(long *lock, bool by_testing)
{
    if (!by_testing) {
        shmem_set_lock(lock);
        return;
    }
    for (;;) {
        int busy = shmem_test_lock(lock);
        CHECK_THAT(busy == 0 || busy == 1, "shmem_test_lock gave %d", busy);
        if (!busy)
            return;
    }
}

/* Not atomic: get, add, put. The put is nonblocking, so that it is shmem_clear_lock that completes it. */
static void increment(struct guarded *guarded, int pe, bool by_testing)
{
    long copies[N_COPIES];
    take(&guarded->lock, by_testing);
    shmem_long_get(copies, guarded->copies, N_COPIES, pe);
    for (int i = 1; i < N_COPIES; i++)
        CHECK_THAT(copies[i] == copies[0], "under the lock, copy %d on PE %d is %ld and copy 0 is %ld", i, pe,
                   copies[i], copies[0]);
    for (int i = 0; i < N_COPIES; i++)
        copies[i]++;
    shmem_long_put_nbi(guarded->copies, copies, N_COPIES, pe);
    shmem_clear_lock(&guarded->lock);
}

static void check_total(const struct guarded *guarded, int pe, long expected)
{
    shmem_barrier_all();
    long total = shmem_long_g(&guarded->copies[N_COPIES - 1], pe);
    CHECK_THAT(total == expected, "%ld increments under a lock made %ld", expected, total);
    shmem_barrier_all();
}

static void check_exclusion(struct guarded *guarded)
{
    int n = shmem_n_pes();
    memset(guarded, 0, N_LOCKS * sizeof *guarded);
    shmem_barrier_all();
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < N_LOCKS; i++) {
            int which = round % 2 ? i : (i + shmem_my_pe()) % N_LOCKS;
            increment(&guarded[which], which % n, (round + i) % 3 == 0);
        }
    for (int i = 0; i < N_LOCKS; i++)
        check_total(&guarded[i], i % n, (long)n * ROUNDS);
}

/* Several locks at a time, taken in the same order everywhere. */
static void check_nesting(struct guarded *guarded)
{
    int n = shmem_n_pes();
    memset(guarded, 0, N_LOCKS * sizeof *guarded);
    shmem_barrier_all();
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 1; i < N_LOCKS; i++)
            shmem_set_lock(&guarded[i].lock);
        increment(&guarded[0], n - 1, false);
        for (int i = 1; i < N_LOCKS; i++)
            shmem_clear_lock(&guarded[i].lock);
    }
    check_total(&guarded[0], n - 1, (long)n * ROUNDS);
}

/* 0: taken, 1: another PE holds it. */
static void check_test_lock(long *lock)
{
    for (int holder = 0; holder < shmem_n_pes(); holder++) {
        bool mine = shmem_my_pe() == holder;
        *lock = 0;
        shmem_barrier_all();
        if (mine)
            CHECK(shmem_test_lock(lock) == 0);
        shmem_barrier_all();
        if (!mine)
            CHECK(shmem_test_lock(lock) == 1 && shmem_test_lock(lock) == 1);
        shmem_barrier_all();
        if (mine)
            shmem_clear_lock(lock);
        shmem_barrier_all();
        if (shmem_my_pe() == (holder + 1) % shmem_n_pes()) {
            CHECK(shmem_test_lock(lock) == 0);
            shmem_clear_lock(lock);
        }
        shmem_barrier_all();
    }
}

/* ---- Queues ------------------------------------------------------------------------------------------------------
 *
 * A program cannot see that a PE has begun to wait: shmem_set_lock returns only when the wait is over. The test looks
 * at the lock's words, which only the library may do: when the copy of the last PE in the queue changes, another has
 * queued up behind it. */

static void wait_for_successor(long *lock, int last, long before)
{
    for (unsigned turns = 0; shmem_long_atomic_fetch(lock, last) == before;)
        wait_a_turn(&turns);
}

/* PE 0 puts so much to the last PE that the data would still be in transit after the release if the release did not
 * wait for it; PE 1, which has been waiting for the lock, reads the end of the data. */
static void put_and_release(long *lock, long *block, long value)
{
    static long source[N_BLOCK];
    int n = shmem_n_pes();
    for (size_t i = 0; i < N_BLOCK; i++)
        source[i] = value;
    shmem_set_lock(lock);
    long before = shmem_long_atomic_fetch(lock, 0);
    shmem_barrier_all();
    if (n > 1)
        wait_for_successor(lock, 0, before);
    shmem_long_put_nbi(block, source, N_BLOCK, n - 1);
    shmem_clear_lock(lock);
}

static void check_release(long *lock, long *block)
{
    int n = shmem_n_pes(), me = shmem_my_pe();
    *lock = 0;
    shmem_barrier_all();
    for (long round = 1; round <= ROUNDS; round++) {
        if (me == 0)
            put_and_release(lock, block, round);
        else
            shmem_barrier_all();
        if (me == 1 % n) {
            shmem_set_lock(lock);
            long found = shmem_long_g(&block[N_BLOCK - 1], n - 1);
            CHECK_THAT(found == round, "the holder before has put %ld, the next one finds %ld", round, found);
            shmem_clear_lock(lock);
        }
        shmem_barrier_all();
    }
}

/* First come, first served. */
struct queue {
    long lock;
    uint64_t go;     /* the number of the round in which this PE may queue up */
    uint64_t served; /* on the first holder: how many have had the lock */
};

static int place_in_queue(int holder, int pe, bool ascending)
{
    int n = shmem_n_pes();
    int distance = (pe - holder + n) % n;
    return ascending ? distance : (n - distance) % n;
}

static int pe_at(int holder, int place, bool ascending)
{
    int n = shmem_n_pes();
    return (holder + (ascending ? place : n - place)) % n;
}

static void queue_up_one_by_one(struct queue *queue, uint64_t round, int holder, bool ascending)
{
    int last = holder;
    shmem_set_lock(&queue->lock);
    for (int place = 1; place < shmem_n_pes(); place++) {
        int next = pe_at(holder, place, ascending);
        long before = shmem_long_atomic_fetch(&queue->lock, last);
        shmem_uint64_atomic_set(&queue->go, round, next);
        wait_for_successor(&queue->lock, last, before);
        last = next;
    }
    shmem_clear_lock(&queue->lock);
}

static void check_order(struct queue *queue, uint64_t round, int holder, bool ascending)
{
    *queue = (struct queue){0};
    shmem_barrier_all();
    if (shmem_my_pe() == holder) {
        queue_up_one_by_one(queue, round, holder, ascending);
    } else {
        uint64_t expected = (uint64_t)place_in_queue(holder, shmem_my_pe(), ascending) - 1;
        shmem_uint64_wait_until(&queue->go, SHMEM_CMP_EQ, round);
        shmem_set_lock(&queue->lock);
        uint64_t served = shmem_uint64_atomic_fetch_inc(&queue->served, holder);
        shmem_clear_lock(&queue->lock);
        CHECK_THAT(served == expected, "came as number %d, was served as number %d", (int)expected, (int)served);
    }
    shmem_barrier_all();
}

static void check_orders(struct queue *queue)
{
    for (int holder = 0; holder < shmem_n_pes(); holder++) {
        check_order(queue, 1, holder, true);
        check_order(queue, 2, holder, false);
    }
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { N_THREADS = 3 };

static void run_threads(void *(*routine)(void *), struct guarded *guarded)
{
    pthread_t threads[N_THREADS];
    memset(guarded, 0, N_LOCKS * sizeof *guarded);
    shmem_barrier_all();
    for (int i = 0; i < N_THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, routine, guarded));
    for (int i = 0; i < N_THREADS; i++)
        CHECK(!pthread_join(threads[i], NULL));
}

static void *increment_often(void *guarded)
{
    for (int round = 0; round < ROUNDS; round++)
        increment(guarded, 0, round % 2);
    return NULL;
}

/* Each thread begins elsewhere, so that the threads of a PE hold, and wait for, several locks at the same time. */
static void *increment_all(void *argument)
{
    static atomic_int n_started;
    const int start = atomic_fetch_add(&n_started, 1) * 5 + shmem_my_pe();
    struct guarded *guarded = argument;
    for (int i = 0; i < ROUNDS * N_LOCKS; i++) {
        int which = (start + i) % N_LOCKS;
        increment(&guarded[which], (which + 1) % shmem_n_pes(), i % 5 == 0);
    }
    return NULL;
}

static void check_threads(struct guarded *guarded)
{
    run_threads(increment_often, guarded);
    check_total(guarded, 0, (long)shmem_n_pes() * N_THREADS * ROUNDS);
    run_threads(increment_all, guarded);
    for (int i = 0; i < N_LOCKS; i++)
        check_total(&guarded[i], (i + 1) % shmem_n_pes(), (long)shmem_n_pes() * N_THREADS * ROUNDS);
}

int main(void)
{
    static struct queue static_queue;
    int provided;
    CHECK(!shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided));
    struct guarded *heap_guarded = check_shmem_malloc(sizeof static_guarded);
    struct queue *heap_queue = check_shmem_malloc(sizeof *heap_queue);
    long *heap_block = check_shmem_malloc(N_BLOCK * sizeof *heap_block);
    check_exclusion(heap_guarded);
    check_exclusion(static_guarded);
    check_nesting(heap_guarded);
    check_nesting(static_guarded);
    check_release(&heap_queue->lock, heap_block);
    check_test_lock(&heap_queue->lock);
    check_test_lock(&static_queue.lock);
    check_orders(heap_queue);
    check_orders(&static_queue);
    if (provided == SHMEM_THREAD_MULTIPLE) {
        check_threads(heap_guarded);
        check_threads(static_guarded);
    }
    shmem_free(heap_block);
    shmem_free(heap_queue);
    shmem_free(heap_guarded);
    return check_end();
}
