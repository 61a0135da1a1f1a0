/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of cuMemCreate and cuMemMap: there is a file descriptor for each piece that the owner has mapped, in the order
 * of the addresses. All pieces of an object are passed on, or none. The other process maps them side by side again.
 */
#include "gpu/cuda/ipc/handle.h"

#include <stdlib.h>

/* ---- The owner --------------------------------------------------------------------------------------------------- */

/* The mapped piece at this address: its end, its id, and a file descriptor for it. */
static CUresult export_piece(CUdeviceptr address, CUdeviceptr *end_p, unsigned long long *id_p, int *fd_p)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr start;
    size_t size;
    CUresult result = shmemi_cuda.cuMemGetAddressRange(&start, &size, address);
    if (result == CUDA_SUCCESS && start != address)
        result = CUDA_ERROR_INVALID_VALUE; /* the address must be the start of a piece */
    if (result == CUDA_SUCCESS)
        result = shmemi_cuda.cuPointerGetAttribute(id_p, CU_POINTER_ATTRIBUTE_BUFFER_ID, address);
    if (result == CUDA_SUCCESS)
        result = shmemi_cuda.cuMemRetainAllocationHandle(&handle, (void *)address);
    if (result != CUDA_SUCCESS)
        return result;
    result = shmemi_cuda.cuMemExportToShareableHandle(fd_p, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    shmemi_cuda.cuMemRelease(handle);
    *end_p = start + size;
    return result;
}

/* Hash the ids of all pieces into one number (FNV-1a), which changes when a piece does. 0: not known. */
static uint64_t combine(uint64_t sum, unsigned long long id)
{
    return sum && id ? (sum ^ id) * 0x100000001b3u : 0;
}

static CUresult vmm_export(const struct shmemi_allocation *allocation, struct shmemi_cuda_ticket *ticket,
                           struct shmemi_memory_handle *handle, struct shmemi_descriptors *descriptors)
{
    (void)ticket;
    CUdeviceptr at = allocation->base, end = at + allocation->size;
    CUresult result = CUDA_SUCCESS;
    uint64_t sum = 0xcbf29ce484222325u;
    while (at < end && result == CUDA_SUCCESS) {
        unsigned long long id = 0;
        unsigned i = descriptors->count;
        CUdeviceptr next = at;
        if (i == SHMEMI_DESCRIPTORS_MAX)
            return CUDA_ERROR_NOT_SUPPORTED;
        result = export_piece(at, &next, &id, &descriptors->fd[i]);
        if (result != CUDA_SUCCESS)
            break;
        descriptors->size[i] = next - at;
        descriptors->count++;
        sum = combine(sum, id);
        at = next;
    }
    handle->buffer_id = sum;
    return result;
}

/* ---- The other processes ----------------------------------------------------------------------------------------- */

/* The sizes of the pieces that are mapped. */
struct pieces {
    unsigned count;
    size_t size[SHMEMI_DESCRIPTORS_MAX];
};

static CUresult map_piece(CUdeviceptr address, size_t size, int fd)
{
    CUmemGenericAllocationHandle handle;
    CUresult result = shmemi_cuda.cuMemImportFromShareableHandle(&handle, (void *)(uintptr_t)fd,
                                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (result != CUDA_SUCCESS)
        return result;
    result = shmemi_cuda.cuMemMap(address, size, 0, handle, 0);
    shmemi_cuda.cuMemRelease(handle); /* the mapping keeps the memory */
    return result;
}

static CUresult unmap_pieces(CUdeviceptr base, size_t size, struct pieces *pieces)
{
    CUresult first = CUDA_SUCCESS;
    CUdeviceptr at = base;
    for (unsigned i = 0; i < pieces->count; i++) {
        CUresult result = shmemi_cuda.cuMemUnmap(at, pieces->size[i]);
        first = first == CUDA_SUCCESS ? result : first;
        at += pieces->size[i];
    }
    CUresult result = shmemi_cuda.cuMemAddressFree(base, size);
    free(pieces);
    return first == CUDA_SUCCESS ? result : first;
}

static CUresult map_pieces(CUdeviceptr base, const struct shmemi_descriptors *descriptors, struct pieces *pieces)
{
    CUresult result = CUDA_SUCCESS;
    CUdeviceptr at = base;
    for (unsigned i = 0; i < descriptors->count && result == CUDA_SUCCESS; i++) {
        result = map_piece(at, descriptors->size[i], descriptors->fd[i]);
        if (result != CUDA_SUCCESS)
            break;
        pieces->size[pieces->count++] = descriptors->size[i];
        at += descriptors->size[i];
    }
    return result;
}

static bool fills(const struct shmemi_descriptors *descriptors, uint64_t size)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < descriptors->count; i++)
        if (!descriptors->size[i] || __builtin_add_overflow(sum, descriptors->size[i], &sum))
            return false;
    return sum == size;
}

static CUresult vmm_map(struct shmemi_cuda_import *import, const struct shmemi_descriptors *descriptors)
{
    CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = import->context->handle},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    CUdeviceptr base;
    if (!fills(descriptors, import->size))
        return CUDA_ERROR_INVALID_VALUE;
    struct pieces *pieces = calloc(1, sizeof *pieces);
    if (!pieces)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = shmemi_cuda.cuMemAddressReserve(&base, import->size, 0, 0, 0);
    if (result != CUDA_SUCCESS) {
        free(pieces);
        return result;
    }
    result = map_pieces(base, descriptors, pieces);
    if (result == CUDA_SUCCESS)
        result = shmemi_cuda.cuMemSetAccess(base, import->size, &access, 1);
    if (result != CUDA_SUCCESS) {
        unmap_pieces(base, import->size, pieces);
        return result;
    }
    import->mapped = base;
    import->extra = pieces;
    return CUDA_SUCCESS;
}

static CUresult vmm_unmap(struct shmemi_cuda_import *import)
{
    return unmap_pieces(import->mapped, import->size, import->extra);
}

const struct shmemi_cuda_way shmemi_cuda_way_vmm = {
    .export = vmm_export,
    .map = vmm_map,
    .unmap = vmm_unmap,
};
