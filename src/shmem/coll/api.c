/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public collectives over teams [9.10].
 */
#include "shmem/coll/call.h"

SHMEMI_API(void, barrier_all, (void))
{
    shmemi_require_init("shmem_barrier_all");
    shmemi_barrier_world();
}

SHMEMI_API(void, sync_all, (void))
{
    shmemi_require_init("shmem_sync_all");
    shmemi_sync_in("shmem_sync_all", &shmemi_team_world);
}

SHMEMI_API(int, team_sync, (shmem_team_t team))
{
    shmemi_sync_in("shmem_team_sync", shmemi_require_team("shmem_team_sync", team));
    return 0;
}

static int broadcast(const char *routine, shmem_team_t team, void *dest, const void *source, size_t nbytes, int root)
{
    shmemi_call_broadcast(routine, shmemi_require_team(routine, team), dest, source, nbytes, root, false);
    return 0;
}

static int copies(shmemi_call_copies_func_t call, const char *routine, shmem_team_t team, void *dest,
                  const void *source, size_t nbytes)
{
    call(routine, shmemi_require_team(routine, team), dest, source, nbytes);
    return 0;
}

static int alltoalls(const char *routine, shmem_team_t team, void *dest, const void *source,
                     struct shmemi_call_strides strides)
{
    shmemi_call_alltoalls(routine, shmemi_require_team(routine, team), dest, source, strides);
    return 0;
}

static int reduce(const char *routine, const struct shmemi_op *op, shmem_team_t team, void *dest, const void *source,
                  size_t nreduce)
{
    shmemi_call_reduce(routine, op, shmemi_require_team(routine, team), dest, source, nreduce);
    return 0;
}

static int scan(const char *routine, enum shmemi_kind kind, shmem_team_t team, void *dest, const void *source,
                size_t nelems, bool exclusive)
{
    shmemi_call_scan(routine, &shmemi_ops[SHMEMI_OP_sum][kind], shmemi_require_team(routine, team), dest, source,
                     nelems, exclusive);
    return 0;
}

/* clang-format off */
#define DEFINE_COPIES(VERB, NAME, ELEMENT, SIZE)                                                                       \
    SHMEMI_API(int, NAME, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems))                    \
    { return copies(shmemi_call_##VERB, "shmem_" #NAME, team, dest, source, shmemi_bytes_of(nelems, SIZE)); }
#define DEFINE_COLLECTIVES(BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, ELEMENT, SIZE)                           \
    SHMEMI_API(int, BROADCAST, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems, int PE_root))  \
    { return broadcast("shmem_" #BROADCAST, team, dest, source, shmemi_bytes_of(nelems, SIZE), PE_root); }             \
    DEFINE_COPIES(collect, COLLECT, ELEMENT, SIZE)                                                                     \
    DEFINE_COPIES(fcollect, FCOLLECT, ELEMENT, SIZE)                                                                   \
    DEFINE_COPIES(alltoall, ALLTOALL, ELEMENT, SIZE)                                                                   \
    SHMEMI_API(int, ALLTOALLS, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, \
                                size_t nelems))                                                                        \
    { return alltoalls("shmem_" #ALLTOALLS, team, dest, source, (struct shmemi_call_strides){SIZE, nelems, dst, sst}); }
#define DEFINE_TYPED_COLLECTIVES(NAME, TYPE, ...)                                                                      \
    DEFINE_COLLECTIVES(NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall, NAME##_alltoalls, TYPE,     \
                       sizeof(TYPE))
SHMEMI_FOR_RMA_TYPES(DEFINE_TYPED_COLLECTIVES, )
DEFINE_COLLECTIVES(broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem, void, 1)

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

#define DEFINE_SCAN(NAME, TYPE, SCAN, EXCLUSIVE)                                                                       \
    SHMEMI_API(int, NAME##_sum_##SCAN, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems))             \
    { return scan("shmem_" #NAME "_sum_" #SCAN, SHMEMI_KIND_OF(TYPE), team, dest, source, nelems, EXCLUSIVE); }
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_SCAN, inscan, false)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_SCAN, exscan, true)
/* clang-format on */
