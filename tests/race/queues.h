/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queues, and a mapped OpenCL buffer, for the programs with queues.
 */
#ifndef RACE_QUEUES_H
#define RACE_QUEUES_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include "choose.h"

#include <shmemx.h>

#include <stdlib.h>

enum { MAPPED_BYTES = 4096 };

static cl_context context;
static cl_device_id device;
static cl_command_queue queue, other_queue;
static cl_mem buffer;
static char *mapped;

static void find_device(void)
{
    cl_platform_id platform;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        exit(77);
}

static cl_command_queue new_queue(cl_command_queue_properties properties)
{
    return clCreateCommandQueue(context, device, properties, NULL);
}

static void open_queues(void)
{
    find_device();
    context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    queue = new_queue(0);
    other_queue = new_queue(0);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, MAPPED_BYTES, NULL, NULL);
    mapped = shmmap(&buffer, MAPPED_BYTES, OSHM_MEMTYPE_OPENCL);
    if (!queue || !other_queue || !mapped)
        exit(1);
}

static void close_queues(void)
{
    clFinish(queue);
    clFinish(other_queue);
    shmem_barrier_all();
    shmumap(mapped);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    clReleaseCommandQueue(other_queue);
    clReleaseContext(context);
}

#endif
