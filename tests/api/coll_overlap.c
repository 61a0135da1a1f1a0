/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives over active sets that overlap, one after the other and all with the same pSync, as programs use it: each
 * call is the first one on its set, nothing else synchronises the PEs, and some of them come late.
 */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { SETS_MOST = 200, ROUNDS = 3, LATE_MOST_US = 300 };

static long static_sync[SHMEM_SYNC_SIZE];
static long dest[ROUNDS][SETS_MOST], source[ROUNDS][SETS_MOST]; /* nothing tells when those of a set may be reused */
static long count[ROUNDS][SETS_MOST];                           /* on a set's first PE: how many members have come */

struct set {
    int start, log_stride, size, number;
};

static bool is_in(const struct set *set, int pe)
{
    int distance = pe - set->start, stride = 1 << set->log_stride;
    return distance >= 0 && distance % stride == 0 && distance / stride < set->size;
}

/* Another time on each PE. */
static void be_late(int round, int number)
{
    srand((unsigned)(shmem_my_pe() * 1000003 + round * 1009 + number));
    if (rand() % 2)
        usleep((unsigned)(rand() % LATE_MOST_US));
}

#define ARGS set->start, set->log_stride, set->size

static void check_barrier(const struct set *set, int round, long *sync)
{
    shmem_long_atomic_inc(&count[round][set->number], set->start);
    shmem_barrier(ARGS, sync);
    long come = shmem_long_atomic_fetch(&count[round][set->number], set->start);
    CHECK_THAT(come == set->size, "shmem_barrier of PEs %d, + 2^%d, %d of them: %ld have come", ARGS, come);
}

static void check_broadcast(const struct set *set, int round, long *sync)
{
    const int root = set->size - 1, root_pe = set->start + (root << set->log_stride);
    source[round][set->number] = 1 + set->number;
    shmem_broadcast64(&dest[round][set->number], &source[round][set->number], 1, root, ARGS, sync);
    long expected = shmem_my_pe() == root_pe ? 0 : 1 + set->number;
    CHECK_THAT(dest[round][set->number] == expected, "shmem_broadcast64 of PEs %d, + 2^%d, %d of them: %ld", ARGS,
               dest[round][set->number]);
}

static void check_set(const struct set *set, int round, long *sync)
{
    if (!is_in(set, shmem_my_pe()))
        return;
    be_late(round, set->number);
    if (set->number % 3 == 2)
        check_broadcast(set, round, sync);
    else
        check_barrier(set, round, sync);
}

static void check_all_sets(int round, long *sync)
{
    int n = shmem_n_pes(), number = 0;
    for (int size = n; size > 0; size--)
        for (int log_stride = 0; 1 << log_stride <= n; log_stride++)
            for (int start = 0; start + ((size - 1) << log_stride) < n && number < SETS_MOST; start++)
                check_set(&(struct set){start, log_stride, size, number++}, round, sync);
}

int main(void)
{
    shmem_init();
    long *heap_sync = shmem_calloc(SHMEM_SYNC_SIZE, sizeof *heap_sync);
    CHECK(heap_sync);
    for (int round = 0; round < ROUNDS; round++)
        check_all_sets(round, shmem_n_pes() % 2 ? static_sync : heap_sync);
    shmem_barrier_all();
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
        CHECK(static_sync[i] == SHMEM_SYNC_VALUE && heap_sync[i] == SHMEM_SYNC_VALUE);
    return check_end();
}
