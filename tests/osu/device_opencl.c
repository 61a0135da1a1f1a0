/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenCL buffers. An object is a cl_mem on the C heap, because shmmap takes the address of a cl_mem; as a local
 * argument of a transfer it can be named by its map address only.
 */
#define CL_TARGET_OPENCL_VERSION 120

#include "device.h"
#include "session.h"
#include "shmem_flavour.h"

#include <CL/cl.h>
#include <stdlib.h>

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

static cl_context context;
static cl_command_queue queue;

static void check(cl_int error, const char *call)
{
    if (error != CL_SUCCESS)
        osu_fail("%s: OpenCL error %d", call, (int)error);
}

/* The devices of all platforms in the order in which OpenCL lists them. */
static cl_uint list_devices(cl_device_type type, cl_device_id *devices)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n_platforms = 0, n_devices = 0;
    if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < n_platforms && i < MAX_PLATFORMS; i++) {
        cl_uint found = 0, room = MAX_DEVICES - n_devices;
        if (room > 0 && clGetDeviceIDs(platforms[i], type, room, devices + n_devices, &found) == CL_SUCCESS)
            n_devices += found < room ? found : room;
    }
    return n_devices;
}

static int opencl_open(int index)
{
    cl_device_id devices[MAX_DEVICES];
    cl_int error;
    cl_uint n = list_devices(CL_DEVICE_TYPE_GPU, devices);
    n = n ? n : list_devices(CL_DEVICE_TYPE_ALL, devices);
    if (index < 0 || (cl_uint)index >= n)
        return -1;
    context = clCreateContext(NULL, 1, &devices[index], NULL, NULL, &error);
    check(error, "clCreateContext");
    queue = clCreateCommandQueue(context, devices[index], 0, &error);
    check(error, "clCreateCommandQueue");
    return 0;
}

static void *opencl_alloc(size_t size)
{
    cl_int error;
    cl_mem *object = malloc(sizeof *object);
    if (!object)
        osu_fail("malloc: out of memory");
    *object = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &error);
    check(error, "clCreateBuffer");
    return object;
}

static void opencl_free(void *object)
{
    check(clReleaseMemObject(*(cl_mem *)object), "clReleaseMemObject");
    free(object);
}

static void opencl_write(void *object, size_t offset, const void *source, size_t size)
{
    check(clEnqueueWriteBuffer(queue, *(cl_mem *)object, CL_TRUE, offset, size, source, 0, NULL, NULL),
          "clEnqueueWriteBuffer");
}

static void opencl_read(void *dest, void *object, size_t offset, size_t size)
{
    check(clEnqueueReadBuffer(queue, *(cl_mem *)object, CL_TRUE, offset, size, dest, 0, NULL, NULL),
          "clEnqueueReadBuffer");
}

static void opencl_copy_2d(const struct device_block *block)
{
    const struct device_copy *ends = &block->ends;
    const size_t origin[3] = {0, 0, 0}, region[3] = {block->width, block->rows, 1};
    if (ends->dest_on_device)
        check(clEnqueueWriteBufferRect(queue, *(cl_mem *)ends->dest, CL_TRUE, origin, origin, region,
                                       block->dest_distance, 0, block->source_distance, 0, ends->source, 0, NULL, NULL),
              "clEnqueueWriteBufferRect");
    else
        check(clEnqueueReadBufferRect(queue, *(const cl_mem *)ends->source, CL_TRUE, origin, origin, region,
                                      block->source_distance, 0, block->dest_distance, 0, ends->dest, 0, NULL, NULL),
              "clEnqueueReadBufferRect");
}

static void *opencl_queue(void)
{
    return queue;
}

static void opencl_synchronize(void)
{
    check(clFinish(queue), "clFinish");
}

/* OpenCL has no pointer to the memory of another process. */
static bool opencl_copy(const struct device_copy *copy, size_t size, long count)
{
    (void)copy;
    (void)size;
    (void)count;
    return false;
}

const struct device_ops device_opencl = {
    .name = "opencl",
    .absent = "no OpenCL device on this machine",
    .type = OSU_TYPE_OPENCL,
    .local_pointer = false,
    .open = opencl_open,
    .alloc = opencl_alloc,
    .free = opencl_free,
    .write = opencl_write,
    .read = opencl_read,
    .copy = opencl_copy,
    .copy_2d = opencl_copy_2d,
    .stream = opencl_queue,
    .synchronize = opencl_synchronize,
};
