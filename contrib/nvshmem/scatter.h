/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions whose result is scattered over the members of a team. MapSHMEM has none: they are as many reductions of blocks
 * as there are members, of which each member keeps one. So each member moves as many bytes as for a reduction of the
 * whole source.
 */
#ifndef NVS_SCATTER_H
#define NVS_SCATTER_H

#include "library.h"

/* A reduction of MapSHMEM on a team, of symmetric addresses. */
typedef int (*nvs_reduction)(shmem_team_t team, void *dest, const void *source, size_t nreduce);
typedef int (*nvs_stream_reduction)(shmem_team_t team, void *dest, const void *source, size_t nreduce,
                                    cudaStream_t stream);

struct nvs_scatter {
    const char *routine;
    nvshmem_team_t team;
    void *dest;           /* nreduce elements */
    const void *source;   /* as many for each member */
    size_t nreduce, size; /* size: of an element */
};

/* Return an nvshmemx_status. */
int nvs_reducescatter(const struct nvs_scatter *scatter, nvs_reduction reduce) __attribute__((visibility("hidden")));
int nvs_reducescatter_on_stream(const struct nvs_scatter *scatter, nvs_stream_reduction reduce, cudaStream_t stream)
    __attribute__((visibility("hidden")));

#endif
