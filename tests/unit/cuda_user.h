/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A user's program in the tests of CUDA memory: what it calls of the driver, next to what the library calls. A failed
 * check is reported and counted, and the test goes on.
 */
#ifndef CUDA_USER_H
#define CUDA_USER_H

#include "gpu/cuda_context.h"

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

/* What a user's program calls, next to what the library calls. */
#define USER_FUNCTIONS(X)                                                                                              \
    X(cuCtxSetCurrent)                                                                                                 \
    X(cuCtxDestroy)                                                                                                    \
    X(cuDevicePrimaryCtxReset)                                                                                         \
    X(cuMemAlloc)                                                                                                      \
    X(cuMemFree)                                                                                                       \
    X(cuMemAllocManaged)                                                                                               \
    X(cuMemAllocAsync)                                                                                                 \
    X(cuMemFreeAsync)                                                                                                  \
    X(cuMemAllocHost)                                                                                                  \
    X(cuMemFreeHost)                                                                                                   \
    X(cuMemAddressReserve)                                                                                             \
    X(cuMemAddressFree)                                                                                                \
    X(cuMemCreate)                                                                                                     \
    X(cuMemMap)                                                                                                        \
    X(cuMemUnmap)                                                                                                      \
    X(cuMemSetAccess)                                                                                                  \
    X(cuMemGetAllocationGranularity)                                                                                   \
    X(cuMemcpyHtoD)                                                                                                    \
    X(cuMemcpyDtoH)
#define STRING(_text) #_text
#define LOAD(_name) *(void **)&user._name = dlsym(library, STRING(_name));

static struct {
    USER_FUNCTIONS(SHMEMI_CUDA_FIELD)
    /* cuCtxCreate has had four forms; this is the second */
    CUresult (*create_context)(CUcontext *, unsigned, CUdevice);
} user;

static const struct shmemi_memory *const memory = &shmemi_memory_cuda;
static char host_a[BOX], host_b[BOX];

static inline void load_user_functions(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY);
    USER_FUNCTIONS(LOAD)
    *(void **)&user.create_context = dlsym(library, "cuCtxCreate_v2");
    CHECK(user.create_context);
}

static inline void fill(char *bytes, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)((i * 2654435761u + seed * 40503u) >> 15);
}

static inline CUdeviceptr device_alloc(size_t size)
{
    CUdeviceptr pointer = 0;
    USE(user.cuMemAlloc(&pointer, size));
    return pointer;
}

static inline int open_object(CUdeviceptr pointer, size_t size, struct shmemi_allocation *allocation_p, char *reason)
{
    reason[0] = '\0';
    return memory->open_object((void *)pointer, size, allocation_p, reason, 160);
}

#endif
