/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How PEs meet: barriers and collectives of a node's members, of nodes and of teams, one right after the other, so that
 * some PEs are an operation ahead while others have not left the one before.
 */
#include <shmem.h>

#include "base/wake/interleave.h"
#include "tests/interleave/seeded.h"
#include "tests/unit/unit.h"

enum { STEPS = 30, MOST = 600 };

static long *source, *dest;
static unsigned common; /* state: what all PEs choose alike */

static unsigned choose(unsigned most)
{
    common = common * 1664525u + 1013904223u;
    return (common >> 8) % most;
}

static long value(int pe, size_t i, unsigned step)
{
    return (long)(pe * 1000003 + (int)(i * 17 + step));
}

static void fill(size_t n, unsigned step)
{
    shmemi_interleave();
    for (size_t i = 0; i < n; i++)
        source[i] = value(shmem_my_pe(), i, step);
}

static void sum(size_t n, unsigned step)
{
    fill(n, step);
    CHECK(!shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, n));
    for (size_t i = 0; i < n; i++) {
        long expected = 0;
        for (int pe = 0; pe < shmem_n_pes(); pe++)
            expected += value(pe, i, step);
        CHECK(dest[i] == expected);
    }
}

static void broadcast(size_t n, unsigned step)
{
    const int root = (int)choose((unsigned)shmem_n_pes());
    fill(n, step);
    CHECK(!shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, source, n, root));
    for (size_t i = 0; i < n; i++)
        CHECK(dest[i] == value(root, i, step));
}

static void collect(size_t n, unsigned step)
{
    fill(n, step);
    CHECK(!shmem_long_fcollect(SHMEM_TEAM_WORLD, dest, source, n));
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        for (size_t i = 0; i < n; i++)
            CHECK(dest[(size_t)pe * n + i] == value(pe, i, step));
}

static void exchange(size_t n, unsigned step)
{
    const size_t me = (size_t)shmem_my_pe();
    fill(n * (size_t)shmem_n_pes(), step);
    CHECK(!shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, source, n));
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        for (size_t i = 0; i < n; i++)
            CHECK(dest[(size_t)pe * n + i] == value(pe, me * n + i, step));
}

/* Teams come and go: their workspaces pass from one to the next. */
static void team(unsigned step)
{
    shmem_team_t pair = SHMEM_TEAM_INVALID;
    const int n = shmem_n_pes() - (int)choose(2);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &pair);
    if (pair == SHMEM_TEAM_INVALID)
        return;
    fill(1, step);
    CHECK(!shmem_long_max_reduce(pair, dest, source, 1) && dest[0] == value(n - 1, 0, step));
    shmem_team_destroy(pair);
}

static void round_of_meetings(unsigned seed)
{
    common = seed;
    for (unsigned step = 0; step < STEPS; step++) {
        const size_t n = 1 + choose(choose(4) ? 8 : MOST / (unsigned)shmem_n_pes());
        switch (choose(7)) {
        case 0:
            shmem_barrier_all();
            break;
        case 1:
            sum(n, step);
            break;
        case 2:
            broadcast(n, step);
            break;
        case 3:
            collect(n, step);
            break;
        case 4:
            exchange(n, step);
            break;
        case 5:
            team(step);
            break;
        default:
            shmem_team_sync(SHMEM_TEAM_WORLD);
        }
        if (choose(2))
            shmem_barrier_all(); /* dest may be written again */
        else
            shmem_sync_all();
    }
}

int main(int argc, char **argv)
{
    shmem_init();
    seeded_process((unsigned)shmem_my_pe());
    source = shmem_malloc(MOST * sizeof *source);
    dest = shmem_malloc(MOST * sizeof *dest);
    CHECK(source && dest);
    const int rc = seeded_main(argc, argv, round_of_meetings);
    shmem_finalize();
    return rc;
}
