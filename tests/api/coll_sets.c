/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives over active sets: all sets of the job, those that overlap, pSync in the heap and in static data, which
 * has its value again on return and is reused at once; broadcast does not write the root's dest.
 */
#include "check.h"

#include <stdbool.h>

enum { NELEMS = 1000, PES_MOST = 16, ROUNDS = 3, SETS_MOST = 256 };

/* One for each set: a PE may be in the next set while others are still in this one. */
typedef long sync_t[SHMEM_SYNC_SIZE];
static sync_t static_syncs[SETS_MOST];
static int static_dest[NELEMS * PES_MOST];

struct set {
    int start, log_stride, size;
};

static bool is_in(const struct set *set, int pe)
{
    int distance = pe - set->start, stride = 1 << set->log_stride;
    return distance >= 0 && distance % stride == 0 && distance / stride < set->size;
}

static int rank_in(const struct set *set, int pe)
{
    return (pe - set->start) >> set->log_stride;
}

struct memory {
    long *sync, *count;
    int *dest, *source;
    long *sum, *work;
};

static void check_sync_words(const char *what, const long *sync)
{
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
        CHECK_THAT(sync[i] == SHMEM_SYNC_VALUE, "%s: pSync[%d] is %ld on return", what, i, sync[i]);
}

#define ARGS set->start, set->log_stride, set->size

/* The members count up a word of the first one; barriers complete atomics and puts of the default context. */
static void check_barriers(const struct set *set, const struct memory *memory)
{
    int me = shmem_my_pe(), next = set->start + ((rank_in(set, me) + 1) % set->size << set->log_stride);
    *memory->count = 0;
    memory->dest[0] = -1;
    shmem_sync(ARGS, memory->sync);
    shmem_long_atomic_inc(memory->count, set->start);
    shmem_int_p(memory->dest, me, next);
    shmem_barrier(ARGS, memory->sync);
    CHECK_THAT(memory->dest[0] == set->start + ((rank_in(set, me) + set->size - 1) % set->size << set->log_stride),
               "shmem_barrier: the put before it has not arrived");
    CHECK_THAT(me != set->start || *memory->count == set->size, "shmem_barrier: %ld of %d have come", *memory->count,
               set->size);
    check_sync_words("shmem_barrier", memory->sync);
    shmem_barrier(ARGS, memory->sync);
}

static void check_broadcast(const struct set *set, const struct memory *memory, int *dest, int root)
{
    int me = rank_in(set, shmem_my_pe());
    for (int i = 0; i < NELEMS; i++) {
        memory->source[i] = me * 10000 + i;
        dest[i] = -1;
    }
    shmem_sync(ARGS, memory->sync);
    shmem_broadcast32(dest, memory->source, NELEMS, root, ARGS, memory->sync);
    for (int i = 0; i < NELEMS; i++)
        CHECK_THAT(dest[i] == (me == root ? -1 : root * 10000 + i), "shmem_broadcast32 from %d of %d: [%d] is %d", root,
                   set->size, i, dest[i]);
    check_sync_words("shmem_broadcast32", memory->sync);
    shmem_sync(ARGS, memory->sync);
}

static void check_collects(const struct set *set, const struct memory *memory, int *dest)
{
    int me = rank_in(set, shmem_my_pe()), at = 0;
    shmem_fcollect32(dest, memory->source, NELEMS, ARGS, memory->sync);
    for (int i = 0; i < set->size * NELEMS; i++)
        CHECK_THAT(dest[i] == i / NELEMS * 10000 + i % NELEMS, "shmem_fcollect32: [%d] is %d", i, dest[i]);
    shmem_sync(ARGS, memory->sync);
    shmem_collect64(dest, memory->source, (size_t)me, ARGS, memory->sync);
    for (int pe = 0; pe < set->size; pe++)
        for (int i = 0; i < 2 * pe; i++, at++)
            CHECK_THAT(dest[at] == pe * 10000 + i, "shmem_collect64: [%d] is %d", at, dest[at]);
    check_sync_words("shmem_collect64", memory->sync);
    shmem_sync(ARGS, memory->sync);
}

static void check_alltoalls(const struct set *set, const struct memory *memory, int *dest)
{
    enum { N = 20, DST = 2, SST = 1 };
    int me = rank_in(set, shmem_my_pe());
    if (set->size * N > NELEMS)
        return;
    shmem_alltoall32(dest, memory->source, N, ARGS, memory->sync);
    for (int i = 0; i < set->size * N; i++)
        CHECK_THAT(dest[i] == i / N * 10000 + me * N + i % N, "shmem_alltoall32: [%d] is %d", i, dest[i]);
    shmem_sync(ARGS, memory->sync);
    shmem_alltoalls32(dest, memory->source, DST, SST, N, ARGS, memory->sync);
    for (int i = 0; i < set->size * N; i++)
        CHECK_THAT(dest[DST * i] == i / N * 10000 + me * N + i % N, "shmem_alltoalls32: [%d] is %d", i, dest[DST * i]);
    shmem_sync(ARGS, memory->sync);
    shmem_alltoall64(dest, memory->source, N / 2, ARGS, memory->sync);
    for (int i = 0; i < set->size * N; i++)
        CHECK_THAT(dest[i] == i / N * 10000 + me * N + i % N, "shmem_alltoall64: [%d] is %d", i, dest[i]);
    shmem_sync(ARGS, memory->sync);
}

static void check_sum(const struct set *set, const struct memory *memory, long n)
{
    long me = rank_in(set, shmem_my_pe()), size = set->size;
    for (long i = 0; i < n; i++)
        memory->sum[i] = me + i;
    shmem_long_sum_to_all(memory->sum, memory->sum, (int)n, ARGS, memory->work, memory->sync);
    for (long i = 0; i < n; i++)
        CHECK_THAT(memory->sum[i] == size * (size - 1) / 2 + size * i, "shmem_long_sum_to_all: [%ld] is %ld", i,
                   memory->sum[i]);
    check_sync_words("shmem_long_sum_to_all", memory->sync);
}

static void check_set(const struct set *set, const struct memory *memory)
{
    if (!is_in(set, shmem_my_pe()))
        return;
    check_barriers(set, memory);
    for (int root = 0; root < set->size; root++)
        check_broadcast(set, memory, root % 2 ? static_dest : memory->dest, root);
    check_collects(set, memory, memory->dest);
    check_alltoalls(set, memory, memory->dest);
    check_sum(set, memory, 1);
    check_sum(set, memory, NELEMS);
}

static void check_all_sets(struct memory *memory, sync_t *syncs)
{
    int n = shmem_n_pes(), count = 0;
    for (int log_stride = 0; 1 << log_stride <= n; log_stride++)
        for (int start = 0; start < n; start++)
            for (int size = 1; start + ((size - 1) << log_stride) < n && count < SETS_MOST; size += size < 3 ? 1 : n) {
                memory->sync = syncs[count++];
                check_set(&(struct set){start, log_stride, size}, memory);
            }
}

/* Each PE is in the set of itself and its left neighbour, and in that of itself and its right neighbour. */
static void check_chain(struct memory *memory, sync_t *syncs)
{
    int n = shmem_n_pes();
    for (int left = 0; left + 1 < n && left < SETS_MOST; left++) {
        memory->sync = syncs[left];
        struct set set = {left, 0, 2};
        if (is_in(&set, shmem_my_pe()))
            check_sum(&set, memory, 3);
    }
}

int main(void)
{
    shmem_init();
    size_t n = (size_t)shmem_n_pes();
    struct memory memory = {
        .count = check_shmem_malloc(sizeof(long)),
        .dest = check_shmem_malloc(n * NELEMS * sizeof(int)),
        .source = check_shmem_malloc(NELEMS * sizeof(int)),
        .sum = check_shmem_malloc(NELEMS * sizeof(long)),
        .work = check_shmem_malloc((NELEMS / 2 + 1) * sizeof(long)),
    };
    sync_t *heap_syncs = shmem_calloc(SETS_MOST, sizeof *heap_syncs);
    CHECK(heap_syncs);
    for (int round = 0; round < ROUNDS; round++) {
        sync_t *syncs = round % 2 ? static_syncs : heap_syncs;
        check_all_sets(&memory, syncs);
        shmem_barrier_all();
        check_chain(&memory, syncs);
        shmem_barrier_all();
    }
    return check_end();
}
