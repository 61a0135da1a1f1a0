/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective operations on CUDA streams.
 */
#include "scatter.h"
#include "stream_use.h"

#include <stdlib.h>

/* 0, or the status of a call that is refused. */
static int check(const char *routine, nvshmem_team_t team)
{
    if (!nvs_has_streams(routine))
        return NVSHMEMX_ERROR_NOT_SUPPORTED;
    if (nvs_team(team) != SHMEM_TEAM_INVALID)
        return NVSHMEMX_SUCCESS;
    shmemi_error("%s: this PE has no team %d", routine, (int)team);
    return NVSHMEMX_ERROR_INVALID_VALUE;
}

NVS_EXPORT void nvshmemx_barrier_all_on_stream(cudaStream_t stream)
{
    nvs_need_stream("nvshmemx_barrier_all_on_stream");
    shmemx_barrier_all_on_stream(stream);
}

NVS_EXPORT void nvshmemx_sync_all_on_stream(cudaStream_t stream)
{
    nvs_need_stream("nvshmemx_sync_all_on_stream");
    shmemx_sync_all_on_stream(stream);
}

NVS_EXPORT int nvshmemx_barrier_on_stream(nvshmem_team_t team, cudaStream_t stream)
{
    const int status = check("nvshmemx_barrier_on_stream", team);
    return status ? status : shmemx_team_barrier_on_stream(nvs_team(team), stream);
}

NVS_EXPORT int nvshmemx_team_sync_on_stream(nvshmem_team_t team, cudaStream_t stream)
{
    const int status = check("nvshmemx_team_sync_on_stream", team);
    return status ? status : shmemx_team_sync_on_stream(nvs_team(team), stream);
}

#define DEFINE_COLLECTIVES(BROADCAST, FCOLLECT, ALLTOALL, ELEMENT, BYTES)                                              \
    NVS_EXPORT int nvshmemx_##BROADCAST##_on_stream(nvshmem_team_t team, ELEMENT *dest, const ELEMENT *source,         \
                                                    size_t nelems, int PE_root, cudaStream_t stream)                   \
    {                                                                                                                  \
        const int status = check("nvshmemx_" #BROADCAST "_on_stream", team);                                           \
        return status ? status                                                                                         \
                      : shmemx_broadcastmem_on_stream(nvs_team(team), nvs_symmetric(dest), nvs_symmetric(source),      \
                                                      nvs_bytes(nelems, BYTES), PE_root, stream);                      \
    }                                                                                                                  \
    DEFINE_EXCHANGE(FCOLLECT, fcollectmem, ELEMENT, BYTES)                                                             \
    DEFINE_EXCHANGE(ALLTOALL, alltoallmem, ELEMENT, BYTES)
#define DEFINE_EXCHANGE(NAME, ROUTINE, ELEMENT, BYTES)                                                                 \
    NVS_EXPORT int nvshmemx_##NAME##_on_stream(nvshmem_team_t team, ELEMENT *dest, const ELEMENT *source,              \
                                               size_t nelems, cudaStream_t stream)                                     \
    {                                                                                                                  \
        const int status = check("nvshmemx_" #NAME "_on_stream", team);                                                \
        return status ? status                                                                                         \
                      : shmemx_##ROUTINE##_on_stream(nvs_team(team), nvs_symmetric(dest), nvs_symmetric(source),       \
                                                     nvs_bytes(nelems, BYTES), stream);                                \
    }
#define DEFINE_TYPED(NAME, TYPE, ...)                                                                                  \
    DEFINE_COLLECTIVES(NAME##_broadcast, NAME##_fcollect, NAME##_alltoall, TYPE, sizeof(TYPE))
NVSHMEMI_FOR_RMA_TYPES(DEFINE_TYPED, )
DEFINE_COLLECTIVES(broadcastmem, fcollectmem, alltoallmem, void, 1)

static int nvs_no_product_on_stream(shmem_team_t team, const void *dest, const void *source, size_t nreduce,
                                    cudaStream_t stream)
{
    (void)team, (void)dest, (void)source, (void)nreduce, (void)stream;
    shmemi_error("nvshmemx_half_prod_reduce_on_stream and its kin: MapSHMEM has no products of numbers of 16 bits");
    return NVSHMEMX_ERROR_NOT_SUPPORTED;
}

#define DEFINE_REDUCE(NAME, TYPE, OP, ...)                                                                             \
    static int NAME##_##OP(shmem_team_t team, void *dest, const void *source, size_t nreduce, cudaStream_t stream)     \
    {                                                                                                                  \
        return shmemx_##NAME##_##OP##_reduce_on_stream(team, dest, source, nreduce, stream);                           \
    }                                                                                                                  \
    NVS_EXPORT int nvshmemx_##NAME##_##OP##_reduce_on_stream(nvshmem_team_t team, TYPE *dest, const TYPE *source,      \
                                                             size_t nreduce, cudaStream_t stream)                      \
    {                                                                                                                  \
        const int status = check("nvshmemx_" #NAME "_" #OP "_reduce_on_stream", team);                                 \
        return status ? status                                                                                         \
                      : NAME##_##OP(nvs_team(team), nvs_symmetric(dest), nvs_symmetric(source), nreduce, stream);      \
    }                                                                                                                  \
    NVS_EXPORT int nvshmemx_##NAME##_##OP##_reducescatter_on_stream(                                                   \
        nvshmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce, cudaStream_t stream)                      \
    {                                                                                                                  \
        static const char routine[] = "nvshmemx_" #NAME "_" #OP "_reducescatter_on_stream";                            \
        const struct nvs_scatter scatter = {routine, team, dest, source, nreduce, sizeof(TYPE)};                       \
        const int status = check(routine, team);                                                                       \
        return status ? status : nvs_reducescatter_on_stream(&scatter, NAME##_##OP, stream);                           \
    }
NVSHMEMI_FOR_REDUCTIONS(DEFINE_REDUCE, )
