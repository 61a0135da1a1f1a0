/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the OpenCL 1.2 files: the functions of its loader, the device and its queues.
 */
#ifndef SUPPORT_OPENCL_DRIVER_H
#define SUPPORT_OPENCL_DRIVER_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "device.h"

#define OPENCL_FUNCTIONS(X)                                                                                            \
    X(clGetPlatformIDs)                                                                                                \
    X(clGetDeviceIDs)                                                                                                  \
    X(clGetDeviceInfo)                                                                                                 \
    X(clCreateContext)                                                                                                 \
    X(clRetainContext)                                                                                                 \
    X(clReleaseContext)                                                                                                \
    X(clCreateCommandQueue)                                                                                            \
    X(clReleaseCommandQueue)                                                                                           \
    X(clCreateProgramWithSource)                                                                                       \
    X(clBuildProgram)                                                                                                  \
    X(clGetProgramBuildInfo)                                                                                           \
    X(clReleaseProgram)                                                                                                \
    X(clCreateKernel)                                                                                                  \
    X(clReleaseKernel)                                                                                                 \
    X(clGetKernelWorkGroupInfo)                                                                                        \
    X(clSetKernelArg)                                                                                                  \
    X(clCreateBuffer)                                                                                                  \
    X(clCreateSubBuffer)                                                                                               \
    X(clReleaseMemObject)                                                                                              \
    X(clEnqueueWriteBuffer)                                                                                            \
    X(clEnqueueReadBuffer)                                                                                             \
    X(clEnqueueWriteBufferRect)                                                                                        \
    X(clEnqueueReadBufferRect)                                                                                         \
    X(clEnqueueFillBuffer)                                                                                             \
    X(clEnqueueCopyBuffer)                                                                                             \
    X(clEnqueueNDRangeKernel)                                                                                          \
    X(clEnqueueMarkerWithWaitList)                                                                                     \
    X(clEnqueueBarrierWithWaitList)                                                                                    \
    X(clCreateUserEvent)                                                                                               \
    X(clSetUserEventStatus)                                                                                            \
    X(clSetEventCallback)                                                                                              \
    X(clRetainEvent)                                                                                                   \
    X(clReleaseEvent)                                                                                                  \
    X(clFlush)                                                                                                         \
    X(clFinish)

#define OPENCL_FIELD(name) __typeof__(name) *name;

struct opencl_functions {
    OPENCL_FUNCTIONS(OPENCL_FIELD)
};

extern struct opencl_functions cl;

struct opencl_device;

struct queue {
    struct opencl_device *dev;
    cl_command_queue queue;
};

struct opencl_device {
    struct device device;
    struct opencl_device *next; /* in the list of those that are open */
    const char *source;
    cl_device_id id;
    cl_context context;
    struct queue first;
    struct program *programs;
    struct kernel *kernels;
    char name[128];
};

struct buffer {
    cl_mem mem;
};

/* Opens the loader at its first call, so that a program also starts where there is none: false then. */
bool opencl_load(void);

/* Ends the job with a line about `what` unless rc is CL_SUCCESS. */
void opencl_check(cl_int rc, const char *what);

static inline struct opencl_device *opencl_device(const struct device *dev)
{
    return (struct opencl_device *)dev;
}

/* The command queue of a queue. */
void opencl_queue_init(struct queue *queue, struct opencl_device *dev);
void opencl_queue_end(struct queue *queue);
/* Releases the kernels and programs of a device that is being closed. */
void opencl_kernels_end(struct opencl_device *dev);

/* The functions of queue_opencl.c for struct gpu_ops. */
struct kernel *opencl_kernel(struct device *dev, const char *name, const char *opencl_options);
struct queue *opencl_first_queue(struct device *dev);
struct queue *opencl_queue_open(struct device *dev);
void opencl_queue_close(struct queue *queue);
void *opencl_queue_object(struct queue *queue);
void opencl_launch(struct queue *queue, struct kernel *kernel, const struct launch *launch,
                   const struct argument *arguments, int n_arguments);
void opencl_fill(struct queue *queue, struct buffer *buf, size_t offset, uint32_t value, size_t words);
void opencl_copy(struct queue *queue, struct buffer *dest, size_t dest_offset, const struct buffer *source,
                 size_t source_offset, size_t bytes);
void opencl_finish(struct queue *queue);
void opencl_follow(struct queue *queue, struct queue *earlier);
void opencl_put_signal(struct queue *queue, void *dest, const void *source, size_t bytes, uint64_t *signal,
                       uint64_t value, int pe);
void opencl_signal_wait(struct queue *queue, uint64_t *signal, uint64_t value);

#endif
