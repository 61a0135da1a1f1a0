/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions with a scattered result. Each block's reduction ends in dest on all members; the one that the block is for puts
 * it aside until the last reduction is over.
 */
#include "scatter.h"

#include "driver.h"

#include <stdlib.h>

static int refuse(const struct nvs_scatter *scatter, int status, const char *cause)
{
    shmemi_error("%s: %s", scatter->routine, cause);
    return status;
}

/* The symmetric addresses and the bytes of a block. */
struct blocks {
    shmem_team_t team;
    char *dest;
    const char *source;
    size_t bytes;
    int n, mine;
};

static int prepare(const struct nvs_scatter *scatter, struct blocks *blocks)
{
    const shmem_team_t team = nvs_team(scatter->team);
    *blocks = (struct blocks){.team = team, .n = shmem_team_n_pes(team), .mine = shmem_team_my_pe(team)};
    if (team == SHMEM_TEAM_INVALID)
        return refuse(scatter, NVSHMEMX_ERROR_INVALID_VALUE, "this PE has no such team");
    blocks->bytes = nvs_bytes(scatter->nreduce, scatter->size);
    const uintptr_t dest = (uintptr_t)scatter->dest, source = (uintptr_t)scatter->source;
    if (dest < source + nvs_bytes((size_t)blocks->n, blocks->bytes) && source < dest + blocks->bytes)
        return refuse(scatter, NVSHMEMX_ERROR_INVALID_VALUE, "dest and source overlap");
    blocks->dest = nvs_symmetric(scatter->dest);
    blocks->source = nvs_symmetric(scatter->source);
    return 0;
}

int nvs_reducescatter(const struct nvs_scatter *scatter, nvs_reduction reduce)
{
    struct blocks blocks;
    int status = prepare(scatter, &blocks);
    if (status || !blocks.bytes)
        return status;
    char *kept = malloc(blocks.bytes);
    if (!kept)
        return refuse(scatter, NVSHMEMX_ERROR_OUT_OF_MEMORY, "out of memory");
    for (int i = 0; i < blocks.n && !status; i++) {
        status = reduce(blocks.team, blocks.dest, blocks.source + (size_t)i * blocks.bytes, scatter->nreduce);
        if (!status && i == blocks.mine)
            shmem_getmem(kept, blocks.dest, blocks.bytes, shmem_my_pe());
    }
    if (!status)
        shmem_putmem(blocks.dest, kept, blocks.bytes, shmem_my_pe());
    free(kept);
    return status;
}

/* Ends the job, since the other members go on and would wait. */
static void need(const struct nvs_scatter *scatter, int error)
{
    if (nvs_driver_failed(scatter->routine, "put a block aside", error))
        shmem_global_exit(1);
}

int nvs_reducescatter_on_stream(const struct nvs_scatter *scatter, nvs_stream_reduction reduce, cudaStream_t stream)
{
    struct blocks blocks;
    nvs_device_address kept;
    int status = prepare(scatter, &blocks);
    if (status || !blocks.bytes)
        return status;
    need(scatter, nvs_driver.allocate_on_stream(&kept, blocks.bytes, stream));
    for (int i = 0; i < blocks.n && !status; i++) {
        status = reduce(blocks.team, blocks.dest, blocks.source + (size_t)i * blocks.bytes, scatter->nreduce, stream);
        if (!status && i == blocks.mine)
            need(scatter, nvs_driver.copy_on_stream(kept, (uintptr_t)scatter->dest, blocks.bytes, stream));
    }
    if (!status)
        need(scatter, nvs_driver.copy_on_stream((uintptr_t)scatter->dest, kept, blocks.bytes, stream));
    need(scatter, nvs_driver.release_on_stream(kept, stream));
    return status;
}
