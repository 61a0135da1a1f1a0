/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of a pool that can be exported as a file descriptor. The descriptor stands for the pool, which is opened once
 * in each context, however many of its allocations are open; each of these has a handle of its own.
 *
 * A pool is identified by its address in the owner, which another pool may have later. So it stays open as long as one
 * of its allocations is open, and no longer.
 */
#include "gpu/cuda/ipc/handle.h"

#include <stdlib.h>

static CUresult pool_export(const struct shmemi_allocation *allocation, struct shmemi_cuda_ticket *ticket,
                            struct shmemi_memory_handle *handle, struct shmemi_descriptors *descriptors)
{
    CUmemoryPool pool = NULL;
    (void)handle;
    CUresult result = shmemi_cuda.cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, allocation->base);
    if (result == CUDA_SUCCESS)
        result = shmemi_cuda.cuMemPoolExportPointer(&ticket->u.pool.pointer, allocation->base);
    if (result == CUDA_SUCCESS)
        result = shmemi_cuda.cuMemPoolExportToShareableHandle(&descriptors->fd[0], pool,
                                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result != CUDA_SUCCESS)
        return result;
    ticket->u.pool.number = (uint64_t)(uintptr_t)pool;
    descriptors->size[0] = 0;
    descriptors->count = 1;
    return CUDA_SUCCESS;
}

/* A pool of another process, open in this one. Protected by the lock of gpu/cuda/ipc/ipc.c. */
struct pool {
    uint64_t owner, number;
    const struct shmemi_gpu_context *context;
    CUmemoryPool pool;
    unsigned users;
    struct pool *next;
};

static struct pool *pools;

static struct pool *find(const struct shmemi_cuda_import *import)
{
    struct pool *pool = pools;
    while (pool && (pool->owner != import->ticket.owner || pool->number != import->ticket.u.pool.number ||
                    pool->context != import->context))
        pool = pool->next;
    return pool;
}

/* The pool's memory is accessible from its own device from the start. */
static CUresult open_pool(int fd, const struct shmemi_gpu_context *context, CUmemoryPool *pool_p)
{
    CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = context->handle},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    CUmemoryPool pool;
    CUresult result = shmemi_cuda.cuMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)fd,
                                                                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = shmemi_cuda.cuMemPoolSetAccess(pool, &access, 1);
    if (result == CUDA_SUCCESS)
        *pool_p = pool;
    else
        shmemi_cuda.cuMemPoolDestroy(pool);
    return result;
}

static CUresult add(const struct shmemi_cuda_import *import, int fd, struct pool **pool_p)
{
    struct pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pool = (struct pool){
        .owner = import->ticket.owner,
        .number = import->ticket.u.pool.number,
        .context = import->context,
        .next = pools,
    };
    CUresult result = open_pool(fd, import->context, &pool->pool);
    if (result != CUDA_SUCCESS) {
        free(pool);
        return result;
    }
    *pool_p = pools = pool;
    return CUDA_SUCCESS;
}

static CUresult remove_unused(struct pool *pool)
{
    struct pool **link = &pools;
    if (pool->users)
        return CUDA_SUCCESS;
    while (*link != pool)
        link = &(*link)->next;
    *link = pool->next;
    CUresult result = shmemi_cuda.cuMemPoolDestroy(pool->pool);
    free(pool);
    return result;
}

static CUresult pool_map(struct shmemi_cuda_import *import, const struct shmemi_descriptors *descriptors)
{
    if (descriptors->count != 1)
        return CUDA_ERROR_INVALID_VALUE;
    struct pool *pool = find(import);
    CUresult result = pool ? CUDA_SUCCESS : add(import, descriptors->fd[0], &pool);
    if (result != CUDA_SUCCESS)
        return result;
    result = shmemi_cuda.cuMemPoolImportPointer(&import->mapped, pool->pool, &import->ticket.u.pool.pointer);
    if (result == CUDA_SUCCESS)
        pool->users++;
    else
        remove_unused(pool);
    import->extra = pool;
    return result;
}

static CUresult pool_unmap(struct shmemi_cuda_import *import)
{
    struct pool *pool = import->extra;
    CUresult freed = shmemi_cuda.cuMemFree(import->mapped);
    pool->users--;
    CUresult result = remove_unused(pool);
    return freed == CUDA_SUCCESS ? result : freed;
}

const struct shmemi_cuda_way shmemi_cuda_way_pool = {
    .export = pool_export,
    .map = pool_map,
    .unmap = pool_unmap,
};
