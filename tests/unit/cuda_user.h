/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A user's program in the tests of CUDA memory: what it calls of the driver, next to what the library calls. A failed
 * check is reported and counted, and the test goes on.
 */
#ifndef CUDA_USER_H
#define CUDA_USER_H

#include "gpu/cuda/libcuda.h"
#include "gpu/device/gpu_context.h"
#include "support/cuda_driver.h"
#include "support/util.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIP = 77, BOX = 1 << 20 };

static int n_failures;

#define CHECK(_condition)                                                                                              \
    do {                                                                                                               \
        if (!(_condition)) {                                                                                           \
            n_failures++;                                                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #_condition);                                           \
        }                                                                                                              \
    } while (0)
#define USE(_call) CHECK((_call) == CUDA_SUCCESS)

/* What a user's program calls of the driver, and neither the library nor support does: the calls for the classes of
 * memory that they do not need. */
#define USER_FUNCTIONS(X)                                                                                              \
    X(cuCtxDestroy)                                                                                                    \
    X(cuDevicePrimaryCtxReset)                                                                                         \
    X(cuMemAllocManaged)                                                                                               \
    X(cuMemAllocAsync)                                                                                                 \
    X(cuMemAllocFromPoolAsync)                                                                                         \
    X(cuMemPoolCreate)                                                                                                 \
    X(cuMemFreeAsync)                                                                                                  \
    X(cuMemAllocHost)                                                                                                  \
    X(cuMemFreeHost)                                                                                                   \
    X(cuMemAddressReserve)                                                                                             \
    X(cuMemAddressFree)                                                                                                \
    X(cuMemCreate)                                                                                                     \
    X(cuMemMap)                                                                                                        \
    X(cuMemUnmap)                                                                                                      \
    X(cuMemSetAccess)                                                                                                  \
    X(cuMemGetAllocationGranularity)
#define STRING(_text) #_text
#define LOAD(_name) *(void **)&user._name = dlsym(library, STRING(_name));

static struct {
    USER_FUNCTIONS(SHMEMI_CUDA_FIELD)
    /* cuCtxCreate has had four forms; this is the second */
    CUresult (*create_context)(CUcontext *, unsigned, CUdevice);
} user;

static const struct shmemi_memory *const memory = &shmemi_memory_cuda;
static char host_a[BOX] __attribute__((unused)), host_b[BOX] __attribute__((unused));

static inline bool owns(const void *address)
{
    return memory->addresses->claim(address) == SHMEMI_CLAIM_OWN;
}

static inline void load_user_functions(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY);
    cuda_load(); /* false where there is a driver without a device: the test finds that out itself */
    CHECK(cuda.cuMemAlloc);
    USER_FUNCTIONS(LOAD)
    *(void **)&user.create_context = dlsym(library, "cuCtxCreate_v2");
    CHECK(user.create_context);
}

static inline void fill(char *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)((i * 2654435761u + seed * 40503u) >> 15);
}

static inline CUdeviceptr user_alloc(size_t size)
{
    CUdeviceptr pointer = 0;
    USE(cuda.cuMemAlloc(&pointer, size));
    return pointer;
}

/* Memory of another device that the context, which is current, reaches; 0 when there is none. */
static inline CUdeviceptr allocate_on_peer(CUcontext mine, size_t size)
{
    CUresult (*enable)(CUcontext, unsigned);
    CUcontext theirs;
    CUdeviceptr pointer = 0;
    *(void **)&enable = dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuCtxEnablePeerAccess");
    if (memory->device_count() < 2 || shmemi_cuda.cuDevicePrimaryCtxRetain(&theirs, 1) != CUDA_SUCCESS)
        return 0;
    USE(cuda.cuCtxSetCurrent(theirs));
    USE(cuda.cuMemAlloc(&pointer, size));
    USE(cuda.cuCtxSetCurrent(mine));
    return enable && enable(theirs, 0) == CUDA_SUCCESS ? pointer : 0;
}

static inline int open_object(CUdeviceptr pointer, size_t size, struct shmemi_allocation *allocation_p, char *reason)
{
    reason[0] = '\0';
    return memory->open_object((void *)pointer, size, allocation_p, reason, 160);
}

/* Memory of cuMemCreate: pieces side by side, at the start of a reservation of more. */
struct vmm {
    CUdeviceptr base;
    size_t piece; /* bytes */
    unsigned n, n_reserved;
};

static inline bool vmm_make(struct vmm *vmm, CUdevice device, unsigned n, unsigned n_reserved, unsigned handle_types)
{
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = (CUmemAllocationHandleType)handle_types,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
    };
    CUmemAccessDesc access = {.location = prop.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    *vmm = (struct vmm){.n = n, .n_reserved = n_reserved};
    if (user.cuMemGetAllocationGranularity(&vmm->piece, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
        return false;
    USE(user.cuMemAddressReserve(&vmm->base, n_reserved * vmm->piece, 0, 0, 0));
    for (unsigned i = 0; i < n; i++) {
        CUmemGenericAllocationHandle handle;
        USE(user.cuMemCreate(&handle, vmm->piece, &prop, 0));
        USE(user.cuMemMap(vmm->base + i * vmm->piece, vmm->piece, 0, handle, 0));
        USE(shmemi_cuda.cuMemRelease(handle));
    }
    USE(user.cuMemSetAccess(vmm->base, n * vmm->piece, &access, 1));
    return true;
}

static inline void vmm_free(const struct vmm *vmm)
{
    for (unsigned i = 0; i < vmm->n; i++)
        USE(user.cuMemUnmap(vmm->base + i * vmm->piece, vmm->piece));
    USE(user.cuMemAddressFree(vmm->base, vmm->n_reserved * vmm->piece));
}

/* A pool whose memory other processes can open. */
static inline bool pool_make(CUmemoryPool *pool_p, CUdevice device)
{
    CUmemPoolProps properties = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
    };
    return user.cuMemPoolCreate(pool_p, &properties) == CUDA_SUCCESS;
}

#endif
