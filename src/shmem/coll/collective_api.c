/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public collectives over teams [9.10].
 */
#include "shmem/coll/collectives.h"

SHMEMI_API(void, barrier_all, (void))
{
    shmemi_require_init("shmem_barrier_all");
    shmemi_barrier_world();
}

SHMEMI_API(void, sync_all, (void))
{
    shmemi_require_init("shmem_sync_all");
    shmemi_sync_in("shmem_sync_all", &shmemi_team_world, true);
}

SHMEMI_API(int, team_sync, (shmem_team_t team))
{
    shmemi_sync_in("shmem_team_sync", shmemi_require_team("shmem_team_sync", team), true);
    return 0;
}

/* clang-format off */
#define TEAM(NAME) shmemi_require_team("shmem_" #NAME, team)
#define DEFINE_COPIES(VERB, NAME, ELEMENT, SIZE)                                                                       \
    SHMEMI_API(int, NAME, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems))                    \
    { shmemi_call_##VERB("shmem_" #NAME, TEAM(NAME), dest, source, shmemi_bytes_of(nelems, SIZE)); return 0; }
#define DEFINE_COLLECTIVES(BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, ELEMENT, SIZE)                           \
    SHMEMI_API(int, BROADCAST, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems, int PE_root))  \
    { shmemi_call_broadcast("shmem_" #BROADCAST, TEAM(BROADCAST), dest, source, shmemi_bytes_of(nelems, SIZE), PE_root,\
                            false); return 0; }                                                                        \
    DEFINE_COPIES(collect, COLLECT, ELEMENT, SIZE)                                                                     \
    DEFINE_COPIES(fcollect, FCOLLECT, ELEMENT, SIZE)                                                                   \
    DEFINE_COPIES(alltoall, ALLTOALL, ELEMENT, SIZE)                                                                   \
    SHMEMI_API(int, ALLTOALLS, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, \
                                size_t nelems))                                                                        \
    { shmemi_call_alltoalls("shmem_" #ALLTOALLS, TEAM(ALLTOALLS), dest, source,                                        \
                            (struct shmemi_alltoall_strides){SIZE, nelems, dst, sst}); return 0; }
#define DEFINE_TYPED_COLLECTIVES(NAME, TYPE, ...)                                                                      \
    DEFINE_COLLECTIVES(NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall, NAME##_alltoalls, TYPE,     \
                       sizeof(TYPE))
SHMEMI_FOR_RMA_TYPES(DEFINE_TYPED_COLLECTIVES, )
DEFINE_COLLECTIVES(broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem, void, 1)

#define DEFINE_REDUCE(NAME, TYPE, OP)                                                                                  \
    SHMEMI_API(int, NAME##_##OP##_reduce, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce))         \
    { shmemi_call_reduce("shmem_" #NAME "_" #OP "_reduce", &shmemi_ops[SHMEMI_OP_##OP][SHMEMI_KIND_OF(TYPE)],          \
                         TEAM(NAME##_##OP##_reduce), dest, source, nreduce); return 0; }
SHMEMI_FOR_BITS_TYPES(DEFINE_REDUCE, and)
SHMEMI_FOR_BITS_TYPES(DEFINE_REDUCE, or)
SHMEMI_FOR_BITS_TYPES(DEFINE_REDUCE, xor)
SHMEMI_FOR_ORDER_TYPES(DEFINE_REDUCE, max)
SHMEMI_FOR_ORDER_TYPES(DEFINE_REDUCE, min)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_REDUCE, sum)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_REDUCE, prod)

#define DEFINE_SCAN(NAME, TYPE, SCAN, EXCLUSIVE)                                                                       \
    SHMEMI_API(int, NAME##_sum_##SCAN, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems))             \
    { shmemi_call_scan("shmem_" #NAME "_sum_" #SCAN, &shmemi_ops[SHMEMI_OP_sum][SHMEMI_KIND_OF(TYPE)],                 \
                       TEAM(NAME##_sum_##SCAN), dest, source, nelems, EXCLUSIVE); return 0; }
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_SCAN, inscan, false)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_SCAN, exscan, true)
/* clang-format on */
