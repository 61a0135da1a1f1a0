/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The vendor's OpenCL library, opened at run time, and its devices. Private to the OpenCL kind of memory and its unit
 * test: nothing else includes cl.h, and nothing links libOpenCL.
 */
#ifndef SHMEMI_OPENCL_LIBRARY_H
#define SHMEMI_OPENCL_LIBRARY_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <stdbool.h>
#include <stdint.h>

#define SHMEMI_OPENCL_FUNCTIONS(X)                                                                                     \
    X(clGetPlatformIDs)                                                                                                \
    X(clGetDeviceIDs)                                                                                                  \
    X(clGetDeviceInfo)                                                                                                 \
    X(clGetContextInfo)                                                                                                \
    X(clCreateContext)                                                                                                 \
    X(clRetainContext)                                                                                                 \
    X(clReleaseContext)                                                                                                \
    X(clCreateCommandQueue)                                                                                            \
    X(clReleaseCommandQueue)                                                                                           \
    X(clGetCommandQueueInfo)                                                                                           \
    X(clCreateBuffer)                                                                                                  \
    X(clRetainMemObject)                                                                                               \
    X(clReleaseMemObject)                                                                                              \
    X(clGetMemObjectInfo)                                                                                              \
    X(clEnqueueReadBuffer)                                                                                             \
    X(clEnqueueReadBufferRect)                                                                                         \
    X(clEnqueueWriteBuffer)                                                                                            \
    X(clEnqueueWriteBufferRect)                                                                                        \
    X(clEnqueueCopyBuffer)                                                                                             \
    X(clEnqueueCopyBufferRect)                                                                                         \
    X(clEnqueueMapBuffer)                                                                                              \
    X(clEnqueueUnmapMemObject)                                                                                         \
    X(clEnqueueMarkerWithWaitList)                                                                                     \
    X(clFlush)                                                                                                         \
    X(clFinish)                                                                                                        \
    X(clWaitForEvents)                                                                                                 \
    X(clGetEventInfo)                                                                                                  \
    X(clCreateUserEvent)                                                                                               \
    X(clSetUserEventStatus)                                                                                            \
    X(clRetainEvent)                                                                                                   \
    X(clReleaseEvent)

#define SHMEMI_OPENCL_FIELD(_name) __typeof__(&_name) _name;

/* The library's functions; valid once shmemi_opencl_load has returned 0. */
struct shmemi_opencl {
    SHMEMI_OPENCL_FUNCTIONS(SHMEMI_OPENCL_FIELD)
};
extern struct shmemi_opencl shmemi_opencl;

/* Open the library and list the devices of all platforms, GPUs only if there are any. -ENODEV, with an info line,
 * when there is no library or no device. The library stays open for good: its threads cannot be unloaded. */
int shmemi_opencl_load(void);
void shmemi_opencl_unload(void); /* forgets the devices */

int shmemi_opencl_device_count(void);
cl_device_id shmemi_opencl_device(int index);        /* NULL when there is none with this index */
int shmemi_opencl_device_index(cl_device_id device); /* -1 when it is not in the list */

/* When a platform is reached through an ICD loader, each of its objects starts with the address of the platform's table
 * of functions. True when this is the address of such a table. */
bool shmemi_opencl_is_dispatch(uintptr_t address);

/* Read a word at an address that may be invalid: 0, or -EFAULT where a load would have crashed. */
int shmemi_opencl_peek(const void *address, uintptr_t *value_p);

const char *shmemi_opencl_error_name(cl_int status);
int shmemi_opencl_errno(cl_int status); /* 0 or -errno, logs nothing */

/* 0, or -errno after one line that names the call and the error. */
int shmemi_opencl_check(cl_int status, const char *call);

#endif
