/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The collectives of SHMEM_TEAM_WORLD. A library that follows OpenSHMEM 1.4 or older has no teams.
 */
#include "collective_calls.h"
#include "session.h"
#include "shmem_flavour.h"

#if !OSU_HAS_TEAMS

const struct collective_calls *const collective_teams = NULL;

#else

static void nothing_to_open(size_t nbytes)
{
    (void)nbytes;
}

static void nothing_to_close(void)
{
}

static void must_succeed(int rc, const char *routine)
{
    if (rc)
        die("%s returned %d", routine, rc);
}

/* Teams have no barrier of their own: this is the one that all PEs take part in. */
static void barrier(void *dest, const void *source, size_t nbytes)
{
    (void)dest;
    (void)source;
    (void)nbytes;
    shmem_barrier_all();
}

static void broadcast(void *dest, const void *source, size_t nbytes)
{
    must_succeed(shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, nbytes, 0), "shmem_broadcastmem");
}

static void collect(void *dest, const void *source, size_t nbytes)
{
    must_succeed(shmem_collectmem(SHMEM_TEAM_WORLD, dest, source, nbytes), "shmem_collectmem");
}

static void fcollect(void *dest, const void *source, size_t nbytes)
{
    must_succeed(shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, nbytes), "shmem_fcollectmem");
}

static void alltoall(void *dest, const void *source, size_t nbytes)
{
    must_succeed(shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, nbytes), "shmem_alltoallmem");
}

#define DEFINE_SUM(TYPE)                                                                                               \
    static void sum_##TYPE(void *dest, const void *source, size_t nbytes)                                              \
    {                                                                                                                  \
        must_succeed(shmem_##TYPE##_sum_reduce(SHMEM_TEAM_WORLD, dest, source, nbytes / sizeof(TYPE)),                 \
                     "shmem_" #TYPE "_sum_reduce");                                                                    \
    }

DEFINE_SUM(int)
DEFINE_SUM(long)
DEFINE_SUM(float)
DEFINE_SUM(double)

static const struct collective_calls calls = {
    .form = "teams",
    .open = nothing_to_open,
    .close = nothing_to_close,
    .barrier = barrier,
    .broadcast = broadcast,
    .collect = collect,
    .fcollect = fcollect,
    .alltoall = alltoall,
    .sum_int = sum_int,
    .sum_long = sum_long,
    .sum_float = sum_float,
    .sum_double = sum_double,
};

const struct collective_calls *const collective_teams = &calls;

#endif
