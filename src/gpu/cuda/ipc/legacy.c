/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of cudaMalloc: the driver makes a handle, which needs no file descriptor. A process may open it only once.
 */
#include "gpu/cuda/ipc/handle.h"

static CUresult legacy_export(const struct shmemi_allocation *allocation, struct shmemi_cuda_ticket *ticket,
                              struct shmemi_memory_handle *handle, struct shmemi_descriptors *descriptors)
{
    (void)handle, (void)descriptors;
    return shmemi_cuda.cuIpcGetMemHandle(&ticket->u.legacy, allocation->base);
}

static CUresult legacy_map(struct shmemi_cuda_import *import, const struct shmemi_descriptors *descriptors)
{
    (void)descriptors;
    return shmemi_cuda.cuIpcOpenMemHandle(&import->mapped, import->ticket.u.legacy, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

static CUresult legacy_unmap(struct shmemi_cuda_import *import)
{
    return shmemi_cuda.cuIpcCloseMemHandle(import->mapped);
}

const struct shmemi_cuda_way shmemi_cuda_way_legacy = {
    .export = legacy_export,
    .map = legacy_map,
    .unmap = legacy_unmap,
    .is_whole = true,
};
