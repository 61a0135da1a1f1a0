/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the CUDA files: the driver's functions, the device and its queues.
 */
#ifndef SUPPORT_CUDA_DRIVER_H
#define SUPPORT_CUDA_DRIVER_H

#include <cuda.h>

#include "device.h"

/* cuda.h renames some functions (cuMemAlloc to cuMemAlloc_v2); the second macro of a pair sees the new name. */
#define CUDA_FUNCTIONS(X)                                                                                              \
    X(cuInit)                                                                                                          \
    X(cuGetErrorString)                                                                                                \
    X(cuDeviceGetCount)                                                                                                \
    X(cuDeviceGet)                                                                                                     \
    X(cuDeviceGetName)                                                                                                 \
    X(cuDevicePrimaryCtxRetain)                                                                                        \
    X(cuCtxSetCurrent)                                                                                                 \
    X(cuCtxGetStreamPriorityRange)                                                                                     \
    X(cuModuleLoadData)                                                                                                \
    X(cuModuleUnload)                                                                                                  \
    X(cuModuleGetFunction)                                                                                             \
    X(cuFuncGetAttribute)                                                                                              \
    X(cuStreamCreateWithPriority)                                                                                      \
    X(cuStreamDestroy)                                                                                                 \
    X(cuStreamSynchronize)                                                                                             \
    X(cuStreamWaitEvent)                                                                                               \
    X(cuEventCreate)                                                                                                   \
    X(cuEventDestroy)                                                                                                  \
    X(cuEventRecord)                                                                                                   \
    X(cuMemAlloc)                                                                                                      \
    X(cuMemFree)                                                                                                       \
    X(cuMemGetInfo)                                                                                                    \
    X(cuMemHostRegister)                                                                                               \
    X(cuMemHostUnregister)                                                                                             \
    X(cuMemcpyAsync)                                                                                                   \
    X(cuMemcpyHtoD)                                                                                                    \
    X(cuMemcpyDtoH)                                                                                                    \
    X(cuMemcpyHtoDAsync)                                                                                               \
    X(cuMemcpyDtoHAsync)                                                                                               \
    X(cuMemcpyDtoDAsync)                                                                                               \
    X(cuMemcpy2DAsync)                                                                                                 \
    X(cuMemsetD32Async)                                                                                                \
    X(cuLaunchKernel)                                                                                                  \
    X(cuStreamBeginCapture)                                                                                            \
    X(cuStreamEndCapture)                                                                                              \
    X(cuGraphInstantiateWithFlags)                                                                                     \
    X(cuGraphDestroy)                                                                                                  \
    X(cuGraphUpload)                                                                                                   \
    X(cuGraphLaunch)                                                                                                   \
    X(cuGraphExecDestroy)                                                                                              \
    X(cuLaunchCooperativeKernel)                                                                                       \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                                     \
    X(cuDeviceGetAttribute)

#define CUDA_FIELD(name) CUDA_FIELD_(name)
#define CUDA_FIELD_(name) __typeof__(name) *name;

struct cuda_functions {
    CUDA_FUNCTIONS(CUDA_FIELD)
};

extern struct cuda_functions cuda;

struct cuda_device;

struct queue {
    struct cuda_device *dev;
    CUstream stream;
    CUevent event; /* for queues that wait for this one */
};

struct cuda_device {
    struct device device;
    CUcontext context;
    CUdevice number;
    CUmodule module; /* NULL: the program has no kernels */
    struct queue first;
    struct kernel *kernels;
    char name[128];
};

/* Opens the driver's library at its first call, so that a program also starts where there is none: false then. */
bool cuda_load(void);

/* Ends the job with a line about `what` unless rc is CUDA_SUCCESS. */
void cuda_check(CUresult rc, const char *what);

static inline struct cuda_device *cuda_device(const struct device *dev)
{
    return (struct cuda_device *)dev;
}

static inline CUdeviceptr cuda_address(const void *buffer)
{
    return (CUdeviceptr)(uintptr_t)buffer;
}

/* Makes the device's context current in the calling thread: a process may have several devices. */
static inline void cuda_enter(const struct cuda_device *dev)
{
    cuda_check(cuda.cuCtxSetCurrent(dev->context), "cuCtxSetCurrent");
}

/* The stream and the event of a queue. */
void cuda_queue_init(struct queue *queue, struct cuda_device *dev, bool urgent);
void cuda_queue_end(struct queue *queue);
/* Frees the kernels of a device that is being closed. */
void cuda_kernels_end(struct cuda_device *dev);

/* The functions of queue_cuda.c for struct gpu_ops. */
struct kernel *cuda_kernel(struct device *dev, const char *name, const char *opencl_options);
struct queue *cuda_first_queue(struct device *dev);
struct queue *cuda_queue_open(struct device *dev);
struct queue *cuda_urgent_queue_open(struct device *dev);
void cuda_queue_close(struct queue *queue);
void *cuda_queue_object(struct queue *queue);
void cuda_launch(struct queue *queue, struct kernel *kernel, const struct launch *launch,
                 const struct argument *arguments, int n_arguments);
bool cuda_has_kernel(struct device *dev, const char *name);
size_t cuda_most_groups(struct device *dev, struct kernel *kernel, size_t group);
void cuda_launch_together(struct queue *queue, struct kernel *kernel, const struct launch *launch,
                          const struct argument *arguments, int n_arguments);
void cuda_fill(struct queue *queue, struct buffer *buf, size_t offset, uint32_t value, size_t words);
void cuda_copy(struct queue *queue, struct buffer *dest, size_t dest_offset, const struct buffer *source,
               size_t source_offset, size_t bytes);
void cuda_finish(struct queue *queue);
void cuda_follow(struct queue *queue, struct queue *earlier);
void cuda_put_signal(struct queue *queue, void *dest, const void *source, size_t bytes, uint64_t *signal,
                     uint64_t value, int pe);
void cuda_signal_wait(struct queue *queue, uint64_t *signal, uint64_t value);
void cuda_capture(struct queue *queue); /* graph_cuda.c */
struct graph *cuda_captured(struct queue *queue);
void cuda_replay(struct queue *queue, struct graph *graph);
void cuda_graph_close(struct graph *graph);

#endif
