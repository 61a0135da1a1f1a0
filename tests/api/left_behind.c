/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PE 0 makes a call that the others do not make: they end, by shmem_finalize or by the end of their programs, while it waits
 * for them, or only goes on to use their memory. left_behind.test checks what becomes of the job.
 * Usage: left_behind CALL [return].
 */
#include "check.h"

#include <shmemx.h>
#include <unistd.h>

enum { WORDS = 512 };

static long lock, from[WORDS], into[WORDS * 64], sync_words[SHMEM_SYNC_SIZE];
static long *block;
static shmem_team_t team;
static int me, n;

static void in_barrier(void)
{
    shmem_barrier_all();
}
static void in_sync(void)
{
    shmem_sync_all();
}
static void in_team_sync(void)
{
    shmem_team_sync(team);
}
static void in_malloc(void)
{
    shmem_malloc(8);
}
static void in_calloc(void)
{
    shmem_calloc(8, 1);
}
static void in_align(void)
{
    shmem_align(64, 8);
}
static void in_realloc(void)
{
    shmem_realloc(block, 4096);
}
static void in_free(void)
{
    shmem_free(block);
}
static void in_map(void)
{
    shmmap(from, sizeof from, OSHM_MEMTYPE_OPENCL);
}
static void in_split(void)
{
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
}
static void in_destroy(void)
{
    shmem_team_destroy(team);
}
static void in_broadcast(void)
{
    shmem_broadcastmem(SHMEM_TEAM_WORLD, into, from, 64, n - 1);
}
static void in_long_broadcast(void)
{
    shmem_broadcastmem(team, into, from, sizeof from, n - 1);
}
static void in_reduce(void)
{
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, into, from, 1);
}
static void in_long_reduce(void)
{
    shmem_long_sum_reduce(team, into, from, WORDS);
}
static void in_collect(void)
{
    shmem_long_collect(team, into, from, 4);
}
static void in_fcollect(void)
{
    shmem_long_fcollect(SHMEM_TEAM_WORLD, into, from, 4);
}
static void in_alltoall(void)
{
    shmem_long_alltoall(team, into, from, 4);
}
static void in_alltoalls(void)
{
    shmem_long_alltoalls(team, into, from, 2, 2, 4);
}
static void in_scan(void)
{
    shmem_long_sum_inscan(team, into, from, 4);
}
static void in_set(void)
{
    shmem_barrier(0, 0, n, sync_words);
}
static void in_lock(void)
{
    shmem_set_lock(&lock);
}

/* What is no call of all PEs: those that have come to their end serve it. */
static void in_transfers(void)
{
    for (int i = 0; i < WORDS; i++)
        shmem_long_put_nbi(&into[i], &from[i], 1, n - 1);
    shmem_quiet();
    shmem_long_atomic_add(into, 5, n - 1);
    CHECK(shmem_long_atomic_fetch(into, n - 1) == 5 + from[0]);
    CHECK(shmem_long_g(&into[WORDS - 1], n - 1) == from[WORDS - 1]);
    CHECK(shmem_long_g(&block[1], n - 1) == n - 1);
}

/* Comes later than the others look for those that have ended. */
static void in_nothing(void)
{
    sleep(2);
}

static const struct {
    const char *name;
    void (*call)(void);
} cases[] = {
    {"shmem_barrier_all", in_barrier},
    {"shmem_sync_all", in_sync},
    {"shmem_team_sync", in_team_sync},
    {"shmem_malloc", in_malloc},
    {"shmem_calloc", in_calloc},
    {"shmem_align", in_align},
    {"shmem_realloc", in_realloc},
    {"shmem_free", in_free},
    {"shmmap", in_map},
    {"shmem_team_split_strided", in_split},
    {"shmem_team_destroy", in_destroy},
    {"shmem_broadcastmem", in_broadcast},
    {"shmem_broadcastmem long", in_long_broadcast},
    {"shmem_long_sum_reduce", in_reduce},
    {"shmem_long_sum_reduce long", in_long_reduce},
    {"shmem_long_collect", in_collect},
    {"shmem_long_fcollect", in_fcollect},
    {"shmem_long_alltoall", in_alltoall},
    {"shmem_long_alltoalls", in_alltoalls},
    {"shmem_long_sum_inscan", in_scan},
    {"shmem_barrier", in_set},
    {"shmem_set_lock", in_lock},
    {"transfers", in_transfers},
    {"nothing", in_nothing},
};

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe(), n = shmem_n_pes();
    for (int i = 0; i < WORDS; i++)
        from[i] = i + 1;
    if (me == n - 1 && !strcmp(argv[1], "shmem_set_lock"))
        shmem_set_lock(&lock);
    block = shmem_malloc(2 * sizeof *block);
    block[1] = me;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
    shmem_barrier_all();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] && me == 0; i++)
        if (!strcmp(argv[1], cases[i].name))
            cases[i].call();
    if (argc > 2)
        return 0;
    shmem_finalize();
    return 0;
}
