/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public collectives over teams [9.10]: arguments are checked before anything is changed.
 */
#include "shmem/collectives.h"

/* A PE that fails in the middle would leave the others waiting. */
static inline int conclude(int rc)
{
    shmemi_require(rc);
    return 0;
}

SHMEMI_API(void, barrier_all, (void))
{
    shmemi_require_team("shmem_barrier_all", &shmemi_team_world);
    shmemi_barrier_world();
}

SHMEMI_API(void, sync_all, (void))
{
    shmemi_require_team("shmem_sync_all", &shmemi_team_world);
    conclude(shmemi_collective_sync(&shmemi_team_world));
}

SHMEMI_API(int, team_sync, (shmem_team_t team))
{
    shmemi_require_team("shmem_team_sync", team);
    return conclude(shmemi_collective_sync(team));
}

/* The bytes that n members contribute; SIZE_MAX, which no region holds, when that is more than fits. */
static size_t bytes_of_all(const struct shmemi_team *team, size_t nbytes)
{
    return shmemi_bytes_of(nbytes, (size_t)team->n_pes);
}

static int broadcast(const char *routine, shmem_team_t team, void *dest, const void *source, size_t nbytes, int root)
{
    shmemi_require_team(routine, team);
    if ((unsigned)root >= (unsigned)team->n_pes)
        shmemi_fatal("%s: the root %d is out of range, the team has PEs 0 to %d", routine, root, team->n_pes - 1);
    struct shmemi_copy_args args = {shmemi_symmetric_of(routine, dest, nbytes),
                                    shmemi_symmetric_of(routine, source, nbytes), nbytes};
    return conclude(shmemi_broadcast(team, &args, root));
}

static int fcollect(const char *routine, shmem_team_t team, void *dest, const void *source, size_t nbytes)
{
    shmemi_require_team(routine, team);
    struct shmemi_copy_args args = {shmemi_symmetric_of(routine, dest, bytes_of_all(team, nbytes)),
                                    shmemi_symmetric_of(routine, source, nbytes), nbytes};
    return conclude(shmemi_fcollect(team, &args));
}

static int alltoall(const char *routine, shmem_team_t team, void *dest, const void *source, size_t nbytes)
{
    shmemi_require_team(routine, team);
    struct shmemi_copy_args args = {shmemi_symmetric_of(routine, dest, bytes_of_all(team, nbytes)),
                                    shmemi_symmetric_of(routine, source, bytes_of_all(team, nbytes)), nbytes};
    return conclude(shmemi_alltoall(team, &args));
}

static int reduce(const char *routine, const struct shmemi_op *op, shmem_team_t team, void *dest, const void *source,
                  size_t nreduce)
{
    shmemi_require_team(routine, team);
    size_t nbytes = shmemi_bytes_of(nreduce, op->size);
    struct shmemi_reduce_args args = {op, shmemi_symmetric_of(routine, dest, nbytes),
                                      shmemi_symmetric_of(routine, source, nbytes), nbytes};
    return conclude(shmemi_reduce(team, &args));
}

/* clang-format off */
#define DEFINE_COPIES(BROADCAST, FCOLLECT, ALLTOALL, ELEMENT, SIZE)                                                    \
    SHMEMI_API(int, BROADCAST, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems, int PE_root))  \
    { return broadcast("shmem_" #BROADCAST, team, dest, source, shmemi_bytes_of(nelems, SIZE), PE_root); }             \
    SHMEMI_API(int, FCOLLECT, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems))                \
    { return fcollect("shmem_" #FCOLLECT, team, dest, source, shmemi_bytes_of(nelems, SIZE)); }                        \
    SHMEMI_API(int, ALLTOALL, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems))                \
    { return alltoall("shmem_" #ALLTOALL, team, dest, source, shmemi_bytes_of(nelems, SIZE)); }
#define DEFINE_TYPED_COPIES(NAME, TYPE, ...)                                                                           \
    DEFINE_COPIES(NAME##_broadcast, NAME##_fcollect, NAME##_alltoall, TYPE, sizeof(TYPE))
SHMEMI_FOR_RMA_TYPES(DEFINE_TYPED_COPIES, )
DEFINE_COPIES(broadcastmem, fcollectmem, alltoallmem, void, 1)

#define DEFINE_REDUCE(NAME, TYPE, OP)                                                                                  \
    SHMEMI_API(int, NAME##_##OP##_reduce, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce))         \
    { return reduce("shmem_" #NAME "_" #OP "_reduce", &shmemi_ops[SHMEMI_OP_##OP][SHMEMI_KIND_OF(TYPE)], team, dest,   \
                    source, nreduce); }
SHMEMI_FOR_BITS_TYPES(DEFINE_REDUCE, and)
SHMEMI_FOR_BITS_TYPES(DEFINE_REDUCE, or)
SHMEMI_FOR_BITS_TYPES(DEFINE_REDUCE, xor)
SHMEMI_FOR_ORDER_TYPES(DEFINE_REDUCE, max)
SHMEMI_FOR_ORDER_TYPES(DEFINE_REDUCE, min)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_REDUCE, sum)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_REDUCE, prod)
/* clang-format on */
