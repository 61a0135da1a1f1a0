/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrappers of the barriers and collectives on streams and queues. They are numbered as they are enqueued, apart from those
 * that threads wait for.
 */
#include "race/streams/stream_calls.h"

/* Added to the number of a team: that of its collectives in streams; and the number of all PEs, for their barriers. */
static const uint64_t in_streams = UINT64_C(0x5bd1e9955bd1e995), all_in_streams = UINT64_C(0x27d4eb2f165667c5);

static struct race_team team_in_streams(const struct race_call *call, shmem_team_t handle)
{
    struct race_team *team = call->thread ? race_team_of(handle) : NULL;
    if (!team)
        return (struct race_team){.n = 0};
    struct race_team copy = *team;
    copy.uid += in_streams;
    copy.number = team->stream_number++;
    return copy;
}

static struct race_team all_pes_in_streams(const struct race_call *call)
{
    static atomic_uint_least64_t n;
    struct race_team all = {.uid = all_in_streams, .me = race.pe, .n = call->thread ? race.n_pes : 0};
    if (call->thread)
        all.number = atomic_fetch_add(&n, 1);
    return all;
}

#define WRAP(NAME, PARAMETERS, PASSED, ...)                                                                            \
    RACE_WRAP_ENQUEUED(int, return 0, NAME, PARAMETERS, PASSED, .begin = race_begin_collective,                        \
                       .end = race_end_collective, __VA_ARGS__)
#define TEAM .team = team_in_streams(&call, team)

RACE_WRAP_ENQUEUED(void, , sync_all, (), (), .begin = race_begin_collective, .end = race_end_collective,
                   .team = all_pes_in_streams(&call))
RACE_WRAP_ENQUEUED(void, , barrier_all, (), (), .begin = race_begin_collective, .end = race_end_collective,
                   .completes = true, .team = all_pes_in_streams(&call))
WRAP(team_sync, (shmem_team_t team, ), (team, ), TEAM)
WRAP(team_barrier, (shmem_team_t team, ), (team, ), .completes = true, TEAM)

#define WRAP_BROADCAST(NAME, ELEMENT, BYTES)                                                                           \
    WRAP(NAME, (shmem_team_t team, ELEMENT * dest, const ELEMENT *source, size_t nelems, int PE_root, ),               \
         (team, dest, source, nelems, PE_root, ), TEAM, .shape = RACE_FROM_ROOT, .root = PE_root, .dest = dest,        \
         .source = pshmem_team_my_pe(team) == PE_root ? source : NULL, .dest_size = nelems * (BYTES),                  \
         .source_size = pshmem_team_my_pe(team) == PE_root ? nelems * (BYTES) : 0, .n = 1)

/* So many times nelems elements at dest and source: one, or the number of members. */
#define ONE(TEAM_) 1
#define EACH(TEAM_) ((size_t)pshmem_team_n_pes(TEAM_))
#define WRAP_GATHER(NAME, ELEMENT, BYTES, DEST_N, SOURCE_N, SHAPE)                                                     \
    WRAP(NAME, (shmem_team_t team, ELEMENT * dest, const ELEMENT *source, size_t nelems, ),                            \
         (team, dest, source, nelems, ), TEAM, .shape = SHAPE, .dest = dest, .source = source,                         \
         .dest_size = nelems * (BYTES)*DEST_N(team), .source_size = nelems * (BYTES)*SOURCE_N(team), .n = 1)

#define WRAP_ALLTOALLS(NAME, ELEMENT, BYTES)                                                                           \
    WRAP(NAME,                                                                                                         \
         (shmem_team_t team, ELEMENT * dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, ),    \
         (team, dest, source, dst, sst, nelems, ), TEAM, .dest = dest, .source = source, .dest_size = (BYTES),         \
         .source_size = (BYTES), .n = nelems * EACH(team), .dest_stride = dst * (ptrdiff_t)(BYTES),                    \
         .source_stride = sst * (ptrdiff_t)(BYTES))

#define WRAP_COLLECTIVES(broadcast, collect, fcollect, alltoall, alltoalls, ELEMENT, BYTES)                            \
    WRAP_BROADCAST(broadcast, ELEMENT, BYTES)                                                                          \
    WRAP_GATHER(collect, ELEMENT, BYTES, ONE, ONE, RACE_ALL)                                                           \
    WRAP_GATHER(fcollect, ELEMENT, BYTES, EACH, ONE, RACE_ALL)                                                         \
    WRAP_GATHER(alltoall, ELEMENT, BYTES, EACH, EACH, RACE_ALL)                                                        \
    WRAP_ALLTOALLS(alltoalls, ELEMENT, BYTES)

#define WRAP_TYPED(NAME, TYPE, ...)                                                                                    \
    WRAP_COLLECTIVES(NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall, NAME##_alltoalls, TYPE,       \
                     sizeof(TYPE))
SHMEMI_FOR_RMA_TYPES(WRAP_TYPED, )
WRAP_COLLECTIVES(broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem, void, 1)

#define WRAP_REDUCE(NAME, TYPE, OP) WRAP_GATHER(NAME##_##OP##_reduce, TYPE, sizeof(TYPE), ONE, ONE, RACE_ALL)
SHMEMI_FOR_BITS_TYPES(WRAP_REDUCE, and)
SHMEMI_FOR_BITS_TYPES(WRAP_REDUCE, or)
SHMEMI_FOR_BITS_TYPES(WRAP_REDUCE, xor)
SHMEMI_FOR_ORDER_TYPES(WRAP_REDUCE, max)
SHMEMI_FOR_ORDER_TYPES(WRAP_REDUCE, min)
SHMEMI_FOR_ARITHMETIC_TYPES(WRAP_REDUCE, sum)
SHMEMI_FOR_ARITHMETIC_TYPES(WRAP_REDUCE, prod)
#define WRAP_REDUCE_16(NAME, TYPE)                                                                                     \
    WRAP_REDUCE(NAME, TYPE, sum)                                                                                       \
    WRAP_REDUCE(NAME, TYPE, min)                                                                                       \
    WRAP_REDUCE(NAME, TYPE, max)
WRAP_REDUCE_16(half, shmemx_half_t)
WRAP_REDUCE_16(bfloat16, shmemx_bfloat16_t)

#define WRAP_SCAN(NAME, TYPE, SCAN) WRAP_GATHER(NAME##_sum_##SCAN, TYPE, sizeof(TYPE), ONE, ONE, RACE_PREFIX)
SHMEMI_FOR_ARITHMETIC_TYPES(WRAP_SCAN, inscan)
SHMEMI_FOR_ARITHMETIC_TYPES(WRAP_SCAN, exscan)
