/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One mistake, chosen by name, of those that only SHMEM_CHECK=1 finds; mistakes.test looks at what it says. Without
 * SHMEM_CHECK each is harmless enough to end well, unless noted. For 2 PEs; a mistake that takes only one PE may be made
 * without others. Usage: mistakes CASE.
 */
#include <shmem.h>
#include <shmemx.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 1 << 20 };

static int me, last;        /* PEs */
static long *block, *other; /* 8 longs each */
static long source[64], dest[64];
static shmem_ctx_t ctx;

/* ---- blocks of the heap ---- */

static void write_past_end(void)
{
    ((char *)block)[8 * sizeof(long) + 3] = 1;
    shmem_barrier_all();
}

static void write_before(void)
{
    ((char *)block)[-5] = 1;
    shmem_free(block);
    block = NULL;
}

static void write_found_at_end(void)
{
    ((char *)other)[8 * sizeof(long)] = 1;
}

static void write_to_freed(void)
{
    long *old = block;
    shmem_free(block);
    block = NULL;
    old[2] = 1;
    shmem_barrier_all();
}

static void put_leaves_block(void)
{
    if (me == 0)
        shmem_long_put(block, source, 9, last);
}

static void put_to_freed(void)
{
    long *old = block;
    shmem_free(block);
    block = NULL;
    if (me == 0)
        shmem_long_p(old, 1, last);
}

static void put_from_freed(void)
{
    long *old = block;
    shmem_free(block);
    block = NULL;
    if (me == 0)
        shmem_long_put(other, old, 2, last);
}

static void atomic_between_blocks(void)
{
    if (me == 0)
        shmem_long_atomic_inc(block + 8, last);
}

static void wait_leaves_block(void)
{
    shmem_long_test_all(block, 9, NULL, SHMEM_CMP_EQ, 0);
}

static void free_twice(void) /* ends without SHMEM_CHECK, too */
{
    long *old = block;
    shmem_free(block);
    block = NULL;
    shmem_free(old);
}

static void realloc_keeps_guards(void)
{
    block = shmem_realloc(block, 9 * sizeof *block);
    ((char *)block)[9 * sizeof(long)] = 1;
    shmem_barrier_all();
}

/* ---- overlaps ---- */

static void put_overlaps(void)
{
    if (me == 0)
        shmem_long_put(source + 1, source, 8, 0);
}

static void sum_overlaps(void)
{
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, source + 1, source, 8);
}

static void collect_overlaps(void)
{
    shmem_long_fcollect(SHMEM_TEAM_WORLD, source, source, 8);
}

/* ---- collectives that differ ---- */

static void lengths_differ(void) /* may hang or be wrong without SHMEM_CHECK */
{
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, me ? 3 : 2);
}

static void roots_differ(void)
{
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, 1, me);
}

static void operations_differ(void)
{
    if (me)
        shmem_long_max_reduce(SHMEM_TEAM_WORLD, dest, source, 1);
    else
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 1);
}

static void types_differ(void)
{
    if (me)
        shmem_double_sum_reduce(SHMEM_TEAM_WORLD, (double *)dest, (double *)source, 1);
    else
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 1);
}

static void dests_differ(void)
{
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest + me, source, 1, 0);
}

static void collectives_differ(void)
{
    if (me)
        shmem_barrier_all();
    else
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, 1);
}

static void sizes_of_malloc_differ(void)
{
    shmem_malloc(me ? 100 : 1000);
}

static void frees_differ(void)
{
    shmem_free(me ? block : other);
    *(me ? &block : &other) = NULL;
}

static void map_meets_barrier(void)
{
    if (me)
        shmem_barrier_all();
    else
        shmmap(source, 1000, OSHM_MEMTYPE_CUDA);
}

static void splits_differ(void)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, me ? 1 : 2, NULL, 0, &team);
}

static void finalize_meets_barrier(void)
{
    if (me)
        shmem_barrier_all();
    shmem_finalize();
    exit(0);
}

/* ---- threads, and the order of calls ---- */

static void *put_on_context(void *unused)
{
    shmem_ctx_long_p(ctx, dest, 1, 0);
    return unused;
}

static void *put_by_default(void *unused)
{
    shmem_long_p(dest, 1, 0);
    return unused;
}

static void in_thread(void *(*routine)(void *))
{
    pthread_t thread;
    pthread_create(&thread, NULL, routine, NULL);
    pthread_join(thread, NULL);
}

static void private_context(void)
{
    shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx);
    if (me == 0)
        in_thread(put_on_context);
}

/* Two threads are in calls nearly all the time. */
static void *put_much(void *large)
{
    for (int i = 0; i < 300; i++)
        shmem_ctx_putmem(ctx, large, (char *)large + LARGE, LARGE, 1);
    return NULL;
}

static void serialized_context(void)
{
    pthread_t thread;
    char *large = shmem_malloc((size_t)2 * LARGE);
    shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx);
    if (me == 0) {
        pthread_create(&thread, NULL, put_much, large);
        put_much(large);
        pthread_join(thread, NULL);
    }
    shmem_barrier_all();
}

static void funneled(void)
{
    if (me == 0)
        in_thread(put_by_default);
}

static void quiet_after_finalize(void)
{
    shmem_finalize();
    if (me == 0)
        shmem_quiet();
    exit(0);
}

/* ---- no mistakes ---- */

static void nothing(void)
{
    shmem_long_put(source + 8, source, 8, me);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, dest, 8);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, dest, 8, 0);
    shmem_long_collect(SHMEM_TEAM_WORLD, dest, source, (size_t)me + 1);
    for (int i = 0; i < 3000; i++) {
        long *aligned = shmem_align(4096, 100);
        memset(aligned, i, 100);
        if ((size_t)aligned % 4096)
            exit(1);
        shmem_free(aligned);
    }
    for (int i = 0; i < 3; i++)
        shmem_free(shmem_malloc((size_t)200 << 20)); /* fits once: resting blocks make room */
    shmem_long_put(block, source, 8, !me);
    shmem_barrier_all();
}

static const struct {
    const char *name;
    void (*make)(void);
} cases[] = {
#define CASE(name)                                                                                                     \
    {                                                                                                                  \
#name, name                                                                                                    \
    }
    CASE(write_past_end),         CASE(write_before),     CASE(write_found_at_end),   CASE(write_to_freed),
    CASE(put_leaves_block),       CASE(put_to_freed),     CASE(put_from_freed),       CASE(atomic_between_blocks),
    CASE(wait_leaves_block),      CASE(free_twice),       CASE(realloc_keeps_guards), CASE(put_overlaps),
    CASE(sum_overlaps),           CASE(collect_overlaps), CASE(lengths_differ),       CASE(roots_differ),
    CASE(operations_differ),      CASE(types_differ),     CASE(dests_differ),         CASE(collectives_differ),
    CASE(sizes_of_malloc_differ), CASE(frees_differ),     CASE(map_meets_barrier),    CASE(splits_differ),
    CASE(finalize_meets_barrier), CASE(private_context),  CASE(serialized_context),   CASE(funneled),
    CASE(quiet_after_finalize),   CASE(nothing),
};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "nothing";
    int provided;
    shmem_init_thread(strcmp(name, "funneled") ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_FUNNELED, &provided);
    me = shmem_my_pe();
    last = shmem_n_pes() - 1;
    block = shmem_calloc(8, sizeof *block);
    other = shmem_calloc(8, sizeof *other);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (!strcmp(name, cases[i].name))
            cases[i].make();
    shmem_finalize();
    return 0;
}
