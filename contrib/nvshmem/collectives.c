/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations of the host.
 */
#include "scatter.h"

#include <stdlib.h>

static int refuse_team(const char *routine, nvshmem_team_t team)
{
    nvs_enter(routine);
    shmemi_error("%s: this PE has no team %d", routine, (int)team);
    return NVSHMEMX_ERROR_INVALID_VALUE;
}

NVS_EXPORT void nvshmem_barrier_all(void)
{
    nvs_enter("nvshmem_barrier_all");
    shmem_barrier_all();
}

NVS_EXPORT void nvshmem_sync_all(void)
{
    nvs_enter("nvshmem_sync_all");
    shmem_sync_all();
}

NVS_EXPORT int nvshmem_team_sync(nvshmem_team_t team)
{
    const shmem_team_t ours = nvs_team(team);
    return ours == SHMEM_TEAM_INVALID ? refuse_team("nvshmem_team_sync", team) : shmem_team_sync(ours);
}

NVS_EXPORT int nvshmem_barrier(nvshmem_team_t team)
{
    const shmem_team_t ours = nvs_team(team);
    if (ours == SHMEM_TEAM_INVALID)
        return refuse_team("nvshmem_barrier", team);
    shmem_quiet();
    return shmem_team_sync(ours);
}

#define DEFINE_COLLECTIVES(BROADCAST, FCOLLECT, ALLTOALL, ELEMENT, BYTES)                                              \
    NVS_EXPORT int nvshmem_##BROADCAST(nvshmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems,       \
                                       int PE_root)                                                                    \
    {                                                                                                                  \
        const shmem_team_t ours = nvs_team(team);                                                                      \
        if (ours == SHMEM_TEAM_INVALID)                                                                                \
            return refuse_team("nvshmem_" #BROADCAST, team);                                                           \
        return shmem_broadcastmem(ours, nvs_symmetric(dest), nvs_symmetric(source), nvs_bytes(nelems, BYTES),          \
                                  PE_root);                                                                            \
    }                                                                                                                  \
    DEFINE_EXCHANGE(FCOLLECT, fcollectmem, ELEMENT, BYTES)                                                             \
    DEFINE_EXCHANGE(ALLTOALL, alltoallmem, ELEMENT, BYTES)
#define DEFINE_EXCHANGE(NAME, ROUTINE, ELEMENT, BYTES)                                                                 \
    NVS_EXPORT int nvshmem_##NAME(nvshmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems)            \
    {                                                                                                                  \
        const shmem_team_t ours = nvs_team(team);                                                                      \
        if (ours == SHMEM_TEAM_INVALID)                                                                                \
            return refuse_team("nvshmem_" #NAME, team);                                                                \
        return shmem_##ROUTINE(ours, nvs_symmetric(dest), nvs_symmetric(source), nvs_bytes(nelems, BYTES));            \
    }
#define DEFINE_TYPED(NAME, TYPE, ...)                                                                                  \
    DEFINE_COLLECTIVES(NAME##_broadcast, NAME##_fcollect, NAME##_alltoall, TYPE, sizeof(TYPE))
NVSHMEMI_FOR_RMA_TYPES(DEFINE_TYPED, )
DEFINE_COLLECTIVES(broadcastmem, fcollectmem, alltoallmem, void, 1)

static int nvs_no_product(shmem_team_t team, const void *dest, const void *source, size_t nreduce)
{
    (void)team, (void)dest, (void)source, (void)nreduce;
    shmemi_error("nvshmem_half_prod_reduce and its kin: MapSHMEM has no products of numbers of 16 bits");
    return NVSHMEMX_ERROR_NOT_SUPPORTED;
}

#define DEFINE_REDUCE(NAME, TYPE, OP, ...)                                                                             \
    static int NAME##_##OP(shmem_team_t team, void *dest, const void *source, size_t nreduce)                          \
    {                                                                                                                  \
        return shmem_##NAME##_##OP##_reduce(team, dest, source, nreduce);                                              \
    }                                                                                                                  \
    NVS_EXPORT int nvshmem_##NAME##_##OP##_reduce(nvshmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce) \
    {                                                                                                                  \
        const shmem_team_t ours = nvs_team(team);                                                                      \
        if (ours == SHMEM_TEAM_INVALID)                                                                                \
            return refuse_team("nvshmem_" #NAME "_" #OP "_reduce", team);                                              \
        return NAME##_##OP(ours, nvs_symmetric(dest), nvs_symmetric(source), nreduce);                                 \
    }                                                                                                                  \
    NVS_EXPORT int nvshmem_##NAME##_##OP##_reducescatter(nvshmem_team_t team, TYPE *dest, const TYPE *source,          \
                                                         size_t nreduce)                                               \
    {                                                                                                                  \
        const struct nvs_scatter scatter = {                                                                           \
            "nvshmem_" #NAME "_" #OP "_reducescatter", team, dest, source, nreduce, sizeof(TYPE)};                     \
        return nvs_reducescatter(&scatter, NAME##_##OP);                                                               \
    }
NVSHMEMI_FOR_REDUCTIONS(DEFINE_REDUCE, )
