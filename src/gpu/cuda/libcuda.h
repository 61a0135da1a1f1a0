/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA driver, opened at run time, so that one build runs with and without a GPU. Private to the files of the
 * CUDA kind of memory: nothing else includes cuda.h, and nothing links libcuda.
 *
 * To use another function of the driver, add it to the list; its type comes from cuda.h. By macros, cuda.h renames many
 * functions to their newest version. The list is expanded with these macros, so that field, call and symbol agree.
 */
#ifndef SHMEMI_CUDA_DRIVER_H
#define SHMEMI_CUDA_DRIVER_H

#include "base/likely.h"

#include <cuda.h>

#include <stdbool.h>

#define SHMEMI_CUDA_FUNCTIONS(X)                                                                                       \
    X(cuInit)                                                                                                          \
    X(cuGetErrorName)                                                                                                  \
    X(cuGetErrorString)                                                                                                \
    X(cuDeviceGetCount)                                                                                                \
    X(cuDeviceGet)                                                                                                     \
    X(cuDeviceGetName)                                                                                                 \
    X(cuDeviceGetUuid)                                                                                                 \
    X(cuDeviceGetAttribute)                                                                                            \
    X(cuDeviceCanAccessPeer)                                                                                           \
    X(cuDeviceGetP2PAttribute)                                                                                         \
    X(cuDevicePrimaryCtxRetain)                                                                                        \
    X(cuDevicePrimaryCtxRelease)                                                                                       \
    X(cuDevicePrimaryCtxGetState)                                                                                      \
    X(cuCtxGetCurrent)                                                                                                 \
    X(cuCtxGetDevice)                                                                                                  \
    X(cuCtxPushCurrent)                                                                                                \
    X(cuCtxPopCurrent)                                                                                                 \
    X(cuCtxSynchronize)                                                                                                \
    X(cuCtxGetStreamPriorityRange)                                                                                     \
    X(cuPointerGetAttribute)                                                                                           \
    X(cuPointerSetAttribute)                                                                                           \
    X(cuPointerGetAttributes)                                                                                          \
    X(cuMemAlloc)                                                                                                      \
    X(cuMemFree)                                                                                                       \
    X(cuMemsetD8)                                                                                                      \
    X(cuMemsetD8Async)                                                                                                 \
    X(cuMemGetAddressRange)                                                                                            \
    X(cuMemRetainAllocationHandle)                                                                                     \
    X(cuMemRelease)                                                                                                    \
    X(cuMemGetAllocationPropertiesFromHandle)                                                                          \
    X(cuMemExportToShareableHandle)                                                                                    \
    X(cuMemImportFromShareableHandle)                                                                                  \
    X(cuMemAddressReserve)                                                                                             \
    X(cuMemAddressFree)                                                                                                \
    X(cuMemMap)                                                                                                        \
    X(cuMemUnmap)                                                                                                      \
    X(cuMemSetAccess)                                                                                                  \
    X(cuMemPoolExportToShareableHandle)                                                                                \
    X(cuMemPoolImportFromShareableHandle)                                                                              \
    X(cuMemPoolExportPointer)                                                                                          \
    X(cuMemPoolImportPointer)                                                                                          \
    X(cuMemPoolSetAccess)                                                                                              \
    X(cuMemPoolDestroy)                                                                                                \
    X(cuStreamCreate)                                                                                                  \
    X(cuStreamCreateWithPriority)                                                                                      \
    X(cuStreamDestroy)                                                                                                 \
    X(cuStreamSynchronize)                                                                                             \
    X(cuStreamQuery)                                                                                                   \
    X(cuStreamGetCtx)                                                                                                  \
    X(cuStreamGetPriority)                                                                                             \
    X(cuStreamIsCapturing)                                                                                             \
    X(cuThreadExchangeStreamCaptureMode)                                                                               \
    X(cuStreamBatchMemOp)                                                                                              \
    X(cuStreamWaitEvent)                                                                                               \
    X(cuEventCreate)                                                                                                   \
    X(cuEventDestroy)                                                                                                  \
    X(cuEventRecord)                                                                                                   \
    X(cuEventQuery)                                                                                                    \
    X(cuEventElapsedTime)                                                                                              \
    X(cuEventSynchronize)                                                                                              \
    X(cuMemcpyAsync)                                                                                                   \
    X(cuMemcpyHtoDAsync)                                                                                               \
    X(cuMemcpyDtoHAsync)                                                                                               \
    X(cuMemcpyDtoDAsync)                                                                                               \
    X(cuMemcpyPeerAsync)                                                                                               \
    X(cuMemcpy2DAsync)                                                                                                 \
    X(cuMemcpy3DAsync)                                                                                                 \
    X(cuMemcpy3DPeerAsync)                                                                                             \
    X(cuIpcGetMemHandle)                                                                                               \
    X(cuIpcOpenMemHandle)                                                                                              \
    X(cuIpcCloseMemHandle)                                                                                             \
    X(cuMemHostAlloc)                                                                                                  \
    X(cuMemFreeHost)                                                                                                   \
    X(cuMemHostRegister)                                                                                               \
    X(cuMemHostUnregister)                                                                                             \
    X(cuModuleLoadData)                                                                                                \
    X(cuModuleUnload)                                                                                                  \
    X(cuModuleGetFunction)                                                                                             \
    X(cuLaunchKernel)

#define SHMEMI_CUDA_FIELD(_name) __typeof__(&_name) _name;

/* The driver's functions; valid once shmemi_cuda_load has returned 0. */
struct shmemi_cuda {
    SHMEMI_CUDA_FUNCTIONS(SHMEMI_CUDA_FIELD)
};
extern struct shmemi_cuda shmemi_cuda;

/* cuFuncLoad; NULL with older drivers, which load a function when it is looked up. */
extern CUresult (*shmemi_cuda_load_function)(CUfunction function);
/* cuStreamGetId; NULL with older drivers. */
extern CUresult (*shmemi_cuda_stream_id)(CUstream stream, unsigned long long *id);
/* cuLaunchKernelEx, if the driver can capture what the library launches with it; otherwise NULL. */
extern CUresult (*shmemi_cuda_launch_kernel_ex)(const CUlaunchConfig *config, CUfunction function, void **arguments,
                                                void **extra);

/* Open libcuda and look up all functions. -ENODEV when there is no libcuda (quiet) or it is too old (logged). Does not
 * start CUDA. libcuda stays open for good. */
int shmemi_cuda_load(void);

/* Start CUDA if it has not been started. -ENODEV when it cannot be used: logged once, unless there is no device. */
int shmemi_cuda_start(void);

const char *shmemi_cuda_error_text(CUresult result);
int shmemi_cuda_errno(CUresult result); /* 0 or -errno; logs nothing */

/* Log a failed call, and return its -errno. Logs nothing when CUDA has been shut down, as it is when programs end. */
int shmemi_cuda_failed(CUresult result, const char *call) __attribute__((cold));

static inline int shmemi_cuda_check(CUresult result, const char *call)
{
    return shmemi_likely(result == CUDA_SUCCESS) ? 0 : shmemi_cuda_failed(result, call);
}

/* Call a driver function: 0, or -errno after one line that names the call and the error. */
#define CUDA_CALL(_name, ...) shmemi_cuda_check(shmemi_cuda._name(__VA_ARGS__), #_name "(" #__VA_ARGS__ ")")

#endif
