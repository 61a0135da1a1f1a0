/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public collectives over teams [9.10]: blocking ones, and those on streams and queues (mapshmem/stream_collectives.h).
 */
#include "shmem/coll/stream/on_stream.h"

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
#define UNPACK(...) __VA_ARGS__
/* NAME_on_stream and NAME_on_queue. __VA_ARGS__: members of struct shmemi_collective_args. */
#define DEFINE_ENQUEUED(NAME, PARAMETERS, ...)                                                                         \
    SHMEMI_EXPORT int shmemx_##NAME##_on_stream(UNPACK PARAMETERS, shmemx_stream_t stream)                             \
    {                                                                                                                  \
        struct shmemi_stream_call call = shmemi_call_on_stream("shmemx_" #NAME "_on_stream", stream);                  \
        return shmemi_collective_on_stream(&call, team, &(const struct shmemi_collective_args){__VA_ARGS__});          \
    }                                                                                                                  \
    SHMEMI_EXPORT int shmemx_##NAME##_on_queue(UNPACK PARAMETERS, shmemx_queue_t queue, unsigned n_events,             \
                                               const shmemx_event_t *events, shmemx_event_t *event)                    \
    {                                                                                                                  \
        struct shmemi_stream_call call =                                                                               \
            shmemi_call_on_queue("shmemx_" #NAME "_on_queue", queue, n_events, events, event);                         \
        return shmemi_collective_on_stream(&call, team, &(const struct shmemi_collective_args){__VA_ARGS__});          \
    }

DEFINE_ENQUEUED(team_sync, (shmem_team_t team), .verb = SHMEMI_SYNC)
DEFINE_ENQUEUED(team_barrier, (shmem_team_t team), .verb = SHMEMI_SYNC, .completes = true)

#define CALL(ROUTINE, ...)                                                                                             \
    {                                                                                                                  \
        shmemi_call_collective(ROUTINE, shmemi_require_team(ROUTINE, team),                                            \
                               &(const struct shmemi_collective_args){__VA_ARGS__});                                   \
        return 0;                                                                                                      \
    }
#define DEFINE(NAME, PARAMETERS, ...)                                                                                  \
    SHMEMI_API(int, NAME, PARAMETERS)                                                                                  \
    CALL("shmem_" #NAME, __VA_ARGS__)                                                                                  \
    DEFINE_ENQUEUED(NAME, PARAMETERS, __VA_ARGS__)

#define ARRAYS(SIZE, NELEMS) .dest = dest, .source = source, .size = SIZE, .nelems = NELEMS
#define DEFINE_COPIES(VERB, NAME, ELEMENT, SIZE)                                                                       \
    DEFINE(NAME, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems), .verb = SHMEMI_##VERB,      \
           ARRAYS(SIZE, nelems))
#define DEFINE_COLLECTIVES(BROADCAST_NAME, COLLECT_NAME, FCOLLECT_NAME, ALLTOALL_NAME, ALLTOALLS_NAME, ELEMENT, SIZE)  \
    DEFINE(BROADCAST_NAME, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems, int PE_root),      \
           .verb = SHMEMI_BROADCAST, ARRAYS(SIZE, nelems), .root = PE_root)                                            \
    DEFINE_COPIES(COLLECT, COLLECT_NAME, ELEMENT, SIZE)                                                                \
    DEFINE_COPIES(FCOLLECT, FCOLLECT_NAME, ELEMENT, SIZE)                                                              \
    DEFINE_COPIES(ALLTOALL, ALLTOALL_NAME, ELEMENT, SIZE)                                                              \
    DEFINE(ALLTOALLS_NAME, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst,     \
                            size_t nelems),                                                                            \
           .verb = SHMEMI_ALLTOALLS, ARRAYS(SIZE, nelems), .dst = dst, .sst = sst)
#define DEFINE_TYPED_COLLECTIVES(NAME, TYPE, ...)                                                                      \
    DEFINE_COLLECTIVES(NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall, NAME##_alltoalls, TYPE,     \
                       sizeof(TYPE))
SHMEMI_FOR_RMA_TYPES(DEFINE_TYPED_COLLECTIVES, )
DEFINE_COLLECTIVES(broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem, void, 1)

#define REDUCE_PARAMETERS(TYPE) (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)
#define REDUCE(TYPE, OP, KIND)                                                                                         \
    .verb = SHMEMI_REDUCE, ARRAYS(sizeof(TYPE), nreduce), .op = &shmemi_ops[SHMEMI_OP_##OP][KIND]
#define DEFINE_REDUCE(NAME, TYPE, OP)                                                                                  \
    DEFINE(NAME##_##OP##_reduce, REDUCE_PARAMETERS(TYPE), REDUCE(TYPE, OP, SHMEMI_KIND_OF(TYPE)))
SHMEMI_FOR_BITS_TYPES(DEFINE_REDUCE, and)
SHMEMI_FOR_BITS_TYPES(DEFINE_REDUCE, or)
SHMEMI_FOR_BITS_TYPES(DEFINE_REDUCE, xor)
SHMEMI_FOR_ORDER_TYPES(DEFINE_REDUCE, max)
SHMEMI_FOR_ORDER_TYPES(DEFINE_REDUCE, min)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_REDUCE, sum)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_REDUCE, prod)

/* Numbers of 16 bits are ours (mapshmem/half.h). */
#define DEFINE_HALF_REDUCE(NAME, TYPE, KIND, OP)                                                                       \
    SHMEMI_EXPORT int shmemx_##NAME##_##OP##_reduce REDUCE_PARAMETERS(TYPE)                                            \
    CALL("shmemx_" #NAME "_" #OP "_reduce", REDUCE(TYPE, OP, SHMEMI_KIND_##KIND))                                      \
    DEFINE_ENQUEUED(NAME##_##OP##_reduce, REDUCE_PARAMETERS(TYPE), REDUCE(TYPE, OP, SHMEMI_KIND_##KIND))
SHMEMI_FOR_HALF_TYPES(DEFINE_HALF_REDUCE, max)
SHMEMI_FOR_HALF_TYPES(DEFINE_HALF_REDUCE, min)
SHMEMI_FOR_HALF_TYPES(DEFINE_HALF_REDUCE, sum)

#define DEFINE_SCAN(NAME, TYPE, SCAN, VERB)                                                                            \
    DEFINE(NAME##_sum_##SCAN, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems),                      \
           .verb = SHMEMI_##VERB, ARRAYS(sizeof(TYPE), nelems),                                                        \
           .op = &shmemi_ops[SHMEMI_OP_sum][SHMEMI_KIND_OF(TYPE)])
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_SCAN, inscan, INSCAN)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_SCAN, exscan, EXSCAN)
/* clang-format on */
