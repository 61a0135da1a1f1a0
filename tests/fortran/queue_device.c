/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An OpenCL queue and buffer for queue.f90.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stddef.h>

int open_device(cl_command_queue *queue_p, void **buffer_p, size_t nbytes);
void finish_event(cl_event event);
void finish_queue(cl_command_queue queue);

static cl_mem memory;

/* *buffer_p is what shmmap takes. */
int open_device(cl_command_queue *queue_p, void **buffer_p, size_t nbytes)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return 1;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (status)
        return 1;
    *queue_p = clCreateCommandQueue(context, device, 0, &status);
    if (!status)
        memory = clCreateBuffer(context, CL_MEM_READ_WRITE, nbytes, NULL, &status);
    *buffer_p = &memory;
    return status;
}

void finish_event(cl_event event)
{
    clWaitForEvents(1, &event);
    clReleaseEvent(event);
}

void finish_queue(cl_command_queue queue)
{
    clFinish(queue);
}
