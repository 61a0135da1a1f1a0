/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public collectives on streams and queues (mapshmem/stream_collectives.h), from the same lists as the blocking ones
 * in collective_api.c.
 */
#include "shmem/coll/stream/on_stream.h"

/* clang-format off */
#define UNPACK(...) __VA_ARGS__
#define DEFINE(NAME, PARAMETERS, ...)                                                                                  \
    SHMEMI_EXPORT int shmemx_##NAME##_on_stream(UNPACK PARAMETERS, shmemx_stream_t stream)                             \
    {                                                                                                                  \
        struct shmemi_stream_call call = shmemi_call_on_stream("shmemx_" #NAME "_on_stream", stream);                  \
        return shmemi_collective_on_stream(&call, team, &(const struct shmemi_stream_collective){__VA_ARGS__});        \
    }                                                                                                                  \
    SHMEMI_EXPORT int shmemx_##NAME##_on_queue(UNPACK PARAMETERS, shmemx_queue_t queue, unsigned n_events,             \
                                               const shmemx_event_t *events, shmemx_event_t *event)                    \
    {                                                                                                                  \
        struct shmemi_stream_call call =                                                                               \
            shmemi_call_on_queue("shmemx_" #NAME "_on_queue", queue, n_events, events, event);                         \
        return shmemi_collective_on_stream(&call, team, &(const struct shmemi_stream_collective){__VA_ARGS__});        \
    }

DEFINE(team_sync, (shmem_team_t team), .run = shmemi_run_sync)
DEFINE(team_barrier, (shmem_team_t team), .run = shmemi_run_sync, .completes = true)

#define ARRAYS(SIZE) .dest = dest, .source = source, .size = SIZE, .nelems = nelems
#define DEFINE_COPIES(VERB, NAME, ELEMENT, SIZE)                                                                       \
    DEFINE(NAME, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems), .run = shmemi_run_##VERB,   \
           ARRAYS(SIZE))
#define DEFINE_COLLECTIVES(BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, ELEMENT, SIZE)                           \
    DEFINE(BROADCAST, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems, int PE_root),           \
           .run = shmemi_run_broadcast, ARRAYS(SIZE), .root = PE_root)                                                 \
    DEFINE_COPIES(collect, COLLECT, ELEMENT, SIZE)                                                                     \
    DEFINE_COPIES(fcollect, FCOLLECT, ELEMENT, SIZE)                                                                   \
    DEFINE_COPIES(alltoall, ALLTOALL, ELEMENT, SIZE)                                                                   \
    DEFINE(ALLTOALLS, (shmem_team_t team, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst,          \
                       size_t nelems), .run = shmemi_run_alltoalls, ARRAYS(SIZE), .dst = dst, .sst = sst)
#define DEFINE_TYPED_COLLECTIVES(NAME, TYPE, ...)                                                                      \
    DEFINE_COLLECTIVES(NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall, NAME##_alltoalls, TYPE,     \
                       sizeof(TYPE))
SHMEMI_FOR_RMA_TYPES(DEFINE_TYPED_COLLECTIVES, )
DEFINE_COLLECTIVES(broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem, void, 1)

#define DEFINE_REDUCE(NAME, TYPE, OP)                                                                                  \
    DEFINE(NAME##_##OP##_reduce, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce),                  \
           .run = shmemi_run_reduce, .dest = dest, .source = source, .size = sizeof(TYPE), .nelems = nreduce,          \
           .op = &shmemi_ops[SHMEMI_OP_##OP][SHMEMI_KIND_OF(TYPE)])
SHMEMI_FOR_BITS_TYPES(DEFINE_REDUCE, and)
SHMEMI_FOR_BITS_TYPES(DEFINE_REDUCE, or)
SHMEMI_FOR_BITS_TYPES(DEFINE_REDUCE, xor)
SHMEMI_FOR_ORDER_TYPES(DEFINE_REDUCE, max)
SHMEMI_FOR_ORDER_TYPES(DEFINE_REDUCE, min)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_REDUCE, sum)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_REDUCE, prod)

#define DEFINE_HALF_REDUCE(NAME, TYPE, KIND, OP)                                                                       \
    DEFINE(NAME##_##OP##_reduce, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce),                  \
           .run = shmemi_run_reduce, .dest = dest, .source = source, .size = sizeof(TYPE), .nelems = nreduce,          \
           .op = &shmemi_ops[SHMEMI_OP_##OP][SHMEMI_KIND_##KIND])
SHMEMI_FOR_HALF_TYPES(DEFINE_HALF_REDUCE, max)
SHMEMI_FOR_HALF_TYPES(DEFINE_HALF_REDUCE, min)
SHMEMI_FOR_HALF_TYPES(DEFINE_HALF_REDUCE, sum)

#define DEFINE_SCAN(NAME, TYPE, SCAN)                                                                                  \
    DEFINE(NAME##_sum_##SCAN, (shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems),                      \
           .run = shmemi_run_##SCAN, ARRAYS(sizeof(TYPE)), .op = &shmemi_ops[SHMEMI_OP_sum][SHMEMI_KIND_OF(TYPE)])
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_SCAN, inscan)
SHMEMI_FOR_ARITHMETIC_TYPES(DEFINE_SCAN, exscan)
/* clang-format on */
