/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA driver, opened at run time, so that one build runs with and without a GPU. Private to the files of the
 * CUDA kind of memory: nothing else includes cuda.h, and nothing links libcuda.
 *
 * To use another function of the driver, add it to the list, with its slot in the table of calls (gpu/device/gpu_calls.h)
 * if it can take one as it is; its type comes from cuda.h. By macros, cuda.h renames many
 * functions to their newest version. The list is expanded with these macros, so that field, call and symbol agree.
 */
#ifndef SHMEMI_CUDA_DRIVER_H
#define SHMEMI_CUDA_DRIVER_H

#include "base/likely.h"

#include <cuda.h>

#include <stdbool.h>

#define SHMEMI_CUDA_FUNCTIONS(X, S)                                                                                    \
    X(cuInit)                                                                                                          \
    X(cuGetErrorName)                                                                                                  \
    X(cuGetErrorString)                                                                                                \
    S(cuDeviceGetCount, device_count)                                                                                  \
    S(cuDeviceGet, device_get)                                                                                         \
    X(cuDeviceGetName)                                                                                                 \
    S(cuDeviceGetUuid, device_uuid)                                                                                    \
    X(cuDeviceGetAttribute)                                                                                            \
    X(cuDeviceCanAccessPeer)                                                                                           \
    X(cuDeviceGetP2PAttribute)                                                                                         \
    S(cuDevicePrimaryCtxRetain, primary_retain)                                                                        \
    S(cuDevicePrimaryCtxRelease, primary_release)                                                                      \
    S(cuDevicePrimaryCtxGetState, primary_state)                                                                       \
    S(cuCtxGetCurrent, context_current)                                                                                \
    S(cuCtxGetDevice, context_device)                                                                                  \
    S(cuCtxPushCurrent, context_push)                                                                                  \
    S(cuCtxPopCurrent, context_pop)                                                                                    \
    S(cuCtxSynchronize, context_synchronize)                                                                           \
    S(cuCtxGetStreamPriorityRange, priority_range)                                                                     \
    X(cuPointerGetAttribute)                                                                                           \
    X(cuPointerSetAttribute)                                                                                           \
    X(cuPointerGetAttributes)                                                                                          \
    S(cuMemAlloc, allocate)                                                                                            \
    S(cuMemFree, free)                                                                                                 \
    S(cuMemsetD8, fill)                                                                                                \
    S(cuMemsetD8Async, fill_async)                                                                                     \
    X(cuMemGetAddressRange)                                                                                            \
    X(cuMemRetainAllocationHandle)                                                                                     \
    X(cuMemRelease)                                                                                                    \
    X(cuMemGetAllocationPropertiesFromHandle)                                                                          \
    X(cuMemExportToShareableHandle)                                                                                    \
    X(cuMemImportFromShareableHandle)                                                                                  \
    S(cuMemAddressReserve, addresses_reserve)                                                                          \
    S(cuMemAddressFree, addresses_free)                                                                                \
    X(cuMemMap)                                                                                                        \
    X(cuMemUnmap)                                                                                                      \
    X(cuMemSetAccess)                                                                                                  \
    X(cuMemPoolExportToShareableHandle)                                                                                \
    X(cuMemPoolImportFromShareableHandle)                                                                              \
    X(cuMemPoolExportPointer)                                                                                          \
    X(cuMemPoolImportPointer)                                                                                          \
    X(cuMemPoolSetAccess)                                                                                              \
    X(cuMemPoolDestroy)                                                                                                \
    S(cuStreamCreate, stream_create)                                                                                   \
    S(cuStreamCreateWithPriority, stream_create_with_priority)                                                         \
    S(cuStreamDestroy, stream_destroy)                                                                                 \
    S(cuStreamSynchronize, stream_synchronize)                                                                         \
    S(cuStreamQuery, stream_query)                                                                                     \
    S(cuStreamGetCtx, stream_context)                                                                                  \
    S(cuStreamGetPriority, stream_priority)                                                                            \
    X(cuStreamIsCapturing)                                                                                             \
    S(cuThreadExchangeStreamCaptureMode, capture_mode_exchange)                                                        \
    X(cuStreamBatchMemOp)                                                                                              \
    S(cuStreamWaitEvent, stream_wait_event)                                                                            \
    S(cuEventCreate, event_create)                                                                                     \
    S(cuEventDestroy, event_destroy)                                                                                   \
    S(cuEventRecord, event_record)                                                                                     \
    S(cuEventQuery, event_query)                                                                                       \
    S(cuEventElapsedTime, event_elapsed)                                                                               \
    S(cuEventSynchronize, event_synchronize)                                                                           \
    S(cuMemcpyAsync, copy_any)                                                                                         \
    S(cuMemcpyHtoDAsync, copy_in)                                                                                      \
    S(cuMemcpyDtoHAsync, copy_out)                                                                                     \
    S(cuMemcpyDtoDAsync, copy_within)                                                                                  \
    S(cuMemcpyPeerAsync, copy_across)                                                                                  \
    X(cuMemcpy2DAsync)                                                                                                 \
    X(cuMemcpy3DAsync)                                                                                                 \
    X(cuMemcpy3DPeerAsync)                                                                                             \
    X(cuIpcGetMemHandle)                                                                                               \
    X(cuIpcOpenMemHandle)                                                                                              \
    X(cuIpcCloseMemHandle)                                                                                             \
    S(cuMemHostAlloc, host_allocate)                                                                                   \
    S(cuMemFreeHost, host_free)                                                                                        \
    S(cuMemHostRegister, host_register)                                                                                \
    S(cuMemHostUnregister, host_unregister)                                                                            \
    S(cuModuleLoadData, module_load)                                                                                   \
    S(cuModuleUnload, module_unload)                                                                                   \
    S(cuModuleGetFunction, module_function)                                                                            \
    S(cuLaunchKernel, launch)

#define SHMEMI_CUDA_FIELD(_name, ...) __typeof__(&_name) _name;

/* The driver's functions; valid once shmemi_cuda_load has returned 0. */
struct shmemi_cuda {
    SHMEMI_CUDA_FUNCTIONS(SHMEMI_CUDA_FIELD, SHMEMI_CUDA_FIELD)
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

/* Of a CUresult. errno: 0 or -errno; logs nothing. */
const char *shmemi_cuda_error_text(int result);
int shmemi_cuda_errno(int result);

/* Log a failed call, and return its -errno. Logs nothing when CUDA has been shut down, as it is when programs end. */
int shmemi_cuda_failed(int result, const char *call) __attribute__((cold));

static inline int shmemi_cuda_check(CUresult result, const char *call)
{
    return shmemi_likely(result == CUDA_SUCCESS) ? 0 : shmemi_cuda_failed((int)result, call);
}

/* Call a driver function: 0, or -errno after one line that names the call and the error. */
#define CUDA_CALL(_name, ...) shmemi_cuda_check(shmemi_cuda._name(__VA_ARGS__), #_name "(" #__VA_ARGS__ ")")

#endif
