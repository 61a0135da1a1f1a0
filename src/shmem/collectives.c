/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives over all PEs [9.10]: barrier, sync, broadcast, fcollect. Reductions are in reduce.c.
 *
 * Data moves by the same puts as the user's, on a context of their own, so that a collective never waits for the
 * user's transfers.
 */
#include "shmem/collectives.h"

#include "transport/exchange.h"

void shmemi_sync_world(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (shmemi_exchange_barrier())
        shmemi_give_up();
}

void shmemi_barrier_world(void)
{
    shmemi_quiet(&shmemi_default_context);
    shmemi_sync_world();
}

void shmemi_check_world(const char *routine, shmem_team_t team)
{
    if (team != SHMEM_TEAM_WORLD)
        shmemi_fatal("%s: the team is not SHMEM_TEAM_WORLD, the only one so far", routine);
    if (!shmemi_is_initialized())
        shmemi_fatal("%s: called before shmem_init or after shmem_finalize", routine);
}

SHMEMI_API(void, barrier_all, (void))
{
    shmemi_check_world("shmem_barrier_all", SHMEM_TEAM_WORLD);
    shmemi_barrier_world();
}

SHMEMI_API(void, sync_all, (void))
{
    shmemi_check_world("shmem_sync_all", SHMEM_TEAM_WORLD);
    shmemi_sync_world();
}

SHMEMI_API(int, team_sync, (shmem_team_t team))
{
    shmemi_check_world("shmem_team_sync", team);
    shmemi_sync_world();
    return 0;
}

/* The root puts to every PE, itself included, in an order that spreads the load; the barrier tells that all is there. */
static int broadcast(const char *routine, shmem_team_t team, void *dest, const void *source, size_t nbytes, int root)
{
    struct shmemi_context context = {0};
    shmemi_check_world(routine, team);
    if ((unsigned)root >= (unsigned)shmemi_job.n_pes)
        shmemi_fatal("%s: the root %d is out of range, the team has PEs 0 to %d", routine, root, shmemi_job.n_pes - 1);
    if (shmemi_job.pe == root) {
        for (int i = 1; i <= shmemi_job.n_pes; i++)
            shmemi_put_nbi(&context, routine, dest, source, nbytes, (root + i) % shmemi_job.n_pes);
        shmemi_quiet(&context);
    }
    shmemi_sync_world();
    return 0;
}

static int fcollect(const char *routine, shmem_team_t team, void *dest, const void *source, size_t nbytes)
{
    struct shmemi_context context = {0};
    shmemi_check_world(routine, team);
    char *mine = (char *)dest + (size_t)shmemi_job.pe * nbytes;
    for (int i = 0; i < shmemi_job.n_pes; i++)
        shmemi_put_nbi(&context, routine, mine, source, nbytes, (shmemi_job.pe + i) % shmemi_job.n_pes);
    shmemi_quiet(&context);
    shmemi_sync_world();
    return 0;
}

/* clang-format off */
#define DEFINE_COLLECTIVES(BROADCAST, FCOLLECT, ELEMENT, SIZE)                                                         \
    SHMEMI_API(int, BROADCAST, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems, int PE_root))  \
    { return broadcast("shmem_" #BROADCAST, team, dest, source, shmemi_bytes_of(nelems, SIZE), PE_root); }             \
    SHMEMI_API(int, FCOLLECT, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems))                \
    { return fcollect("shmem_" #FCOLLECT, team, dest, source, shmemi_bytes_of(nelems, SIZE)); }
#define DEFINE_TYPE(NAME, TYPE, ...) DEFINE_COLLECTIVES(NAME##_broadcast, NAME##_fcollect, TYPE, sizeof(TYPE))
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(DEFINE_TYPE, )
DEFINE_COLLECTIVES(broadcastmem, fcollectmem, void, 1)
