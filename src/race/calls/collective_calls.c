/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrappers of the collectives over teams and active sets. A member reads its source and writes its dest until it
 * returns; it has then learned what those knew, when they entered, on whom its result depends.
 */
#include "race/calls/wrapped_call.h"

struct race_collective race_buffers_begin(struct race_call *call, struct race_team *team, enum race_shape shape,
                                          int root, const struct race_buffers *buffers)
{
    race_own(call, buffers->source, buffers->source_size, 0);
    return race_collective_begin(call, team, shape, root);
}

void race_buffers_end(const struct race_collective *collective, const struct race_buffers *buffers)
{
    race_collective_end(collective);
    race_own(collective->call, buffers->source, buffers->source_size, 0);
    race_own(collective->call, buffers->dest, buffers->dest_size, RACE_WRITE);
    race_call_end(collective->call);
}

static struct race_team *team_of(const struct race_call *call, shmem_team_t team)
{
    return call->thread ? race_team_of(team) : NULL;
}

static size_t members(const struct race_team *team)
{
    return team ? (size_t)team->n : 0;
}

static bool is_member(const struct race_team *team, int member)
{
    return team && team->me == member;
}

#define WRAP_BROADCAST(NAME, ELEMENT, BYTES)                                                                           \
    RACE_WRAPPER int shmem_##NAME(shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems, int PE_root) \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #NAME, SHMEM_CTX_DEFAULT);                                                                 \
        struct race_team *members_of = team_of(&call, team);                                                           \
        const struct race_buffers buffers = {dest, source, nelems * (BYTES),                                           \
                                             is_member(members_of, PE_root) ? nelems * (BYTES) : 0};                   \
        const struct race_collective collective =                                                                      \
            race_buffers_begin(&call, members_of, RACE_FROM_ROOT, PE_root, &buffers);                                  \
        const int rc = pshmem_##NAME(team, dest, source, nelems, PE_root);                                             \
        race_buffers_end(&collective, &buffers);                                                                       \
        return rc;                                                                                                     \
    }

/* So many times nelems elements at dest and source: one, or n, the number of members. */
#define WRAP_GATHER(NAME, ELEMENT, BYTES, DEST_N, SOURCE_N)                                                            \
    RACE_WRAPPER int shmem_##NAME(shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems)              \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #NAME, SHMEM_CTX_DEFAULT);                                                                 \
        struct race_team *members_of = team_of(&call, team);                                                           \
        const size_t n = members(members_of), one = 1;                                                                 \
        const struct race_buffers buffers = {dest, source, nelems * (BYTES)*DEST_N, nelems * (BYTES)*SOURCE_N};        \
        const struct race_collective collective = race_buffers_begin(&call, members_of, RACE_ALL, 0, &buffers);        \
        const int rc = pshmem_##NAME(team, dest, source, nelems);                                                      \
        race_buffers_end(&collective, &buffers);                                                                       \
        return (void)n, (void)one, rc;                                                                                 \
    }

/* Elements are touched one by one: what lies between them is not the collective's. */
static void touch_strided(struct race_call *call, const char *base, ptrdiff_t stride, size_t size, size_t n,
                          uint8_t flags)
{
    for (size_t i = 0; i < n; i++)
        race_own(call, base + (ptrdiff_t)i * stride, size, flags);
}

#define WRAP_ALLTOALLS(NAME, ELEMENT, BYTES)                                                                           \
    RACE_WRAPPER int shmem_##NAME(shmem_team_t team, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst,              \
                                  ptrdiff_t sst, size_t nelems)                                                        \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #NAME, SHMEM_CTX_DEFAULT);                                                                 \
        const struct race_buffers none = {NULL, NULL, 0, 0};                                                           \
        struct race_team *members_of = team_of(&call, team);                                                           \
        const size_t n = nelems * members(members_of);                                                                 \
        const ptrdiff_t unit = (ptrdiff_t)(BYTES);                                                                     \
        const struct race_collective collective = race_buffers_begin(&call, members_of, RACE_ALL, 0, &none);           \
        const int rc = pshmem_##NAME(team, dest, source, dst, sst, nelems);                                            \
        race_collective_end(&collective);                                                                              \
        touch_strided(&call, (const char *)source, sst *unit, (BYTES), n, 0);                                          \
        touch_strided(&call, (const char *)dest, dst *unit, (BYTES), n, RACE_WRITE);                                   \
        race_call_end(&call);                                                                                          \
        return rc;                                                                                                     \
    }

#define WRAP_COLLECTIVES(broadcast, collect, fcollect, alltoall, alltoalls, ELEMENT, BYTES)                            \
    WRAP_BROADCAST(broadcast, ELEMENT, BYTES)                                                                          \
    WRAP_GATHER(collect, ELEMENT, BYTES, one, one)                                                                     \
    WRAP_GATHER(fcollect, ELEMENT, BYTES, n, one)                                                                      \
    WRAP_GATHER(alltoall, ELEMENT, BYTES, n, n)                                                                        \
    WRAP_ALLTOALLS(alltoalls, ELEMENT, BYTES)

#define WRAP_TYPED(NAME, TYPE, ...)                                                                                    \
    WRAP_COLLECTIVES(NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall, NAME##_alltoalls, TYPE,       \
                     sizeof(TYPE))
SHMEMI_FOR_RMA_TYPES(WRAP_TYPED, )
WRAP_COLLECTIVES(broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem, void, 1)

#define WRAP_REDUCE(NAME, TYPE, OP) WRAP_GATHER(NAME##_##OP##_reduce, TYPE, sizeof(TYPE), one, one)
SHMEMI_FOR_BITS_TYPES(WRAP_REDUCE, and)
SHMEMI_FOR_BITS_TYPES(WRAP_REDUCE, or)
SHMEMI_FOR_BITS_TYPES(WRAP_REDUCE, xor)
SHMEMI_FOR_ORDER_TYPES(WRAP_REDUCE, max)
SHMEMI_FOR_ORDER_TYPES(WRAP_REDUCE, min)
SHMEMI_FOR_ARITHMETIC_TYPES(WRAP_REDUCE, sum)
SHMEMI_FOR_ARITHMETIC_TYPES(WRAP_REDUCE, prod)

#define WRAP_SCAN(NAME, TYPE, SCAN)                                                                                    \
    RACE_WRAPPER int shmem_##NAME##_sum_##SCAN(shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems)       \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #NAME "_sum_" #SCAN, SHMEM_CTX_DEFAULT);                                                   \
        const struct race_buffers buffers = {dest, source, nelems * sizeof(TYPE), nelems * sizeof(TYPE)};              \
        const struct race_collective collective =                                                                      \
            race_buffers_begin(&call, team_of(&call, team), RACE_PREFIX, 0, &buffers);                                 \
        const int rc = pshmem_##NAME##_sum_##SCAN(team, dest, source, nelems);                                         \
        race_buffers_end(&collective, &buffers);                                                                       \
        return rc;                                                                                                     \
    }
SHMEMI_FOR_ARITHMETIC_TYPES(WRAP_SCAN, inscan)
SHMEMI_FOR_ARITHMETIC_TYPES(WRAP_SCAN, exscan)

/* ---- active sets -------------------------------------------------------------------------------------------------- */

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define ACTIVE_SET int PE_start, int logPE_stride, int PE_size
#define PASSED_SET PE_start, logPE_stride, PE_size

static struct race_team *set_of(const struct race_call *call, ACTIVE_SET)
{
    return call->thread ? race_set_of(PASSED_SET) : NULL;
}

#define WRAP_SET_BROADCAST(BITS)                                                                                       \
    RACE_WRAPPER void shmem_broadcast##BITS(void *dest, const void *source, size_t nelems, int PE_root, ACTIVE_SET,    \
                                            long *pSync)                                                               \
    {                                                                                                                  \
        RACE_BEGIN("shmem_broadcast" #BITS, SHMEM_CTX_DEFAULT);                                                        \
        struct race_team *set = set_of(&call, PASSED_SET);                                                             \
        const size_t size = nelems * (BITS) / 8;                                                                       \
        const bool is_root = is_member(set, PE_root);                                                                  \
        const struct race_buffers buffers = {dest, source, is_root ? 0 : size, is_root ? size : 0};                    \
        const struct race_collective collective = race_buffers_begin(&call, set, RACE_FROM_ROOT, PE_root, &buffers);   \
        pshmem_broadcast##BITS(dest, source, nelems, PE_root, PASSED_SET, pSync);                                      \
        race_buffers_end(&collective, &buffers);                                                                       \
    }

#define WRAP_SET_GATHER(NAME, BITS, DEST_N, SOURCE_N)                                                                  \
    RACE_WRAPPER void shmem_##NAME##BITS(void *dest, const void *source, size_t nelems, ACTIVE_SET, long *pSync)       \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #NAME #BITS, SHMEM_CTX_DEFAULT);                                                           \
        struct race_team *set = set_of(&call, PASSED_SET);                                                             \
        const size_t n = members(set), one = 1, size = nelems * (BITS) / 8;                                            \
        const struct race_buffers buffers = {dest, source, size * DEST_N, size * SOURCE_N};                            \
        const struct race_collective collective = race_buffers_begin(&call, set, RACE_ALL, 0, &buffers);               \
        pshmem_##NAME##BITS(dest, source, nelems, PASSED_SET, pSync);                                                  \
        race_buffers_end(&collective, &buffers);                                                                       \
        (void)n, (void)one;                                                                                            \
    }

#define WRAP_SET_ALLTOALLS(BITS)                                                                                       \
    RACE_WRAPPER void shmem_alltoalls##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,              \
                                            size_t nelems, ACTIVE_SET, long *pSync)                                    \
    {                                                                                                                  \
        RACE_BEGIN("shmem_alltoalls" #BITS, SHMEM_CTX_DEFAULT);                                                        \
        const struct race_buffers none = {NULL, NULL, 0, 0};                                                           \
        struct race_team *set = set_of(&call, PASSED_SET);                                                             \
        const size_t n = nelems * members(set);                                                                        \
        const struct race_collective collective = race_buffers_begin(&call, set, RACE_ALL, 0, &none);                  \
        pshmem_alltoalls##BITS(dest, source, dst, sst, nelems, PASSED_SET, pSync);                                     \
        race_collective_end(&collective);                                                                              \
        touch_strided(&call, source, sst *((BITS) / 8), (BITS) / 8, n, 0);                                             \
        touch_strided(&call, dest, dst *((BITS) / 8), (BITS) / 8, n, RACE_WRITE);                                      \
        race_call_end(&call);                                                                                          \
    }

#define WRAP_SET_COLLECTIVES(BITS)                                                                                     \
    WRAP_SET_BROADCAST(BITS)                                                                                           \
    WRAP_SET_GATHER(collect, BITS, one, one)                                                                           \
    WRAP_SET_GATHER(fcollect, BITS, n, one)                                                                            \
    WRAP_SET_GATHER(alltoall, BITS, n, n)                                                                              \
    WRAP_SET_ALLTOALLS(BITS)
WRAP_SET_COLLECTIVES(32)
WRAP_SET_COLLECTIVES(64)

#define WRAP_TO_ALL(NAME, TYPE, OP)                                                                                    \
    RACE_WRAPPER void shmem_##NAME##_##OP##_to_all(TYPE *dest, const TYPE *source, int nreduce, ACTIVE_SET,            \
                                                   TYPE *pWrk, long *pSync)                                            \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #NAME "_" #OP "_to_all", SHMEM_CTX_DEFAULT);                                               \
        const size_t size = (size_t)nreduce * sizeof(TYPE);                                                            \
        const struct race_buffers buffers = {dest, source, size, size};                                                \
        const struct race_collective collective =                                                                      \
            race_buffers_begin(&call, set_of(&call, PASSED_SET), RACE_ALL, 0, &buffers);                               \
        pshmem_##NAME##_##OP##_to_all(dest, source, nreduce, PASSED_SET, pWrk, pSync);                                 \
        race_buffers_end(&collective, &buffers);                                                                       \
    }
SHMEMI_FOR_SET_BITS_TYPES(WRAP_TO_ALL, and)
SHMEMI_FOR_SET_BITS_TYPES(WRAP_TO_ALL, or)
SHMEMI_FOR_SET_BITS_TYPES(WRAP_TO_ALL, xor)
SHMEMI_FOR_SET_ORDER_TYPES(WRAP_TO_ALL, max)
SHMEMI_FOR_SET_ORDER_TYPES(WRAP_TO_ALL, min)
SHMEMI_FOR_SET_ARITHMETIC_TYPES(WRAP_TO_ALL, sum)
SHMEMI_FOR_SET_ARITHMETIC_TYPES(WRAP_TO_ALL, prod)
