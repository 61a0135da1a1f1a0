/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenCL: devices, their memory, and the plain copies that benchmarks time. Devices are numbered as shmemx_my_device
 * does: those of all platforms in order, GPUs only if there are any. A device has one context, also where it is opened
 * several times.
 */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

#include "opencl_driver.h"
#include "util.h"

_Static_assert(DEVICE_TYPE_OPENCL == OSHM_MEMTYPE_OPENCL, "the type that shmmap knows");

#define MAX_PLATFORMS 16
#define MAX_DEVICES 64

static struct opencl_device *open_devices;

/* ---- Device ------------------------------------------------------------------------------------------------------ */

static int list_type(cl_device_type type, cl_device_id *ids)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint platform_count = 0;
    int total = 0;

    if (cl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &platform_count) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < platform_count && i < MAX_PLATFORMS && total < MAX_DEVICES; i++) {
        cl_uint room = (cl_uint)(MAX_DEVICES - total);
        cl_uint n = 0;

        if (cl.clGetDeviceIDs(platforms[i], type, room, ids + total, &n) == CL_SUCCESS)
            total += (int)(n < room ? n : room);
    }
    return total;
}

static int list(cl_device_id *ids)
{
    int n = opencl_load() ? list_type(CL_DEVICE_TYPE_GPU, ids) : 0;

    return n > 0 || !opencl_load() ? n : list_type(CL_DEVICE_TYPE_ALL, ids);
}

/* Under MPS NVIDIA's driver lists its devices, but refuses contexts. */
static bool has_contexts(cl_device_id id)
{
    static cl_device_id refused;
    cl_context context;
    cl_int rc;

    if (!getenv("CUDA_MPS_PIPE_DIRECTORY"))
        return true;
    if (refused == id)
        return false;
    context = cl.clCreateContext(NULL, 1, &id, NULL, NULL, &rc);
    if (rc == CL_SUCCESS)
        opencl_check(cl.clReleaseContext(context), "clReleaseContext");
    else
        refused = id;
    return rc == CL_SUCCESS;
}

/* Those that can be used. */
static int list_usable(cl_device_id *ids)
{
    int n = list(ids);

    return n > 0 && has_contexts(ids[0]) ? n : 0;
}

static int count(void)
{
    cl_device_id ids[MAX_DEVICES];

    return list_usable(ids);
}

static void open_context(struct opencl_device *dev)
{
    cl_int rc;

    for (const struct opencl_device *other = open_devices; other; other = other->next)
        if (other->id == dev->id) {
            dev->context = other->context;
            opencl_check(cl.clRetainContext(dev->context), "clRetainContext");
            return;
        }
    dev->context = cl.clCreateContext(NULL, 1, &dev->id, NULL, NULL, &rc);
    opencl_check(rc, "clCreateContext");
}

static struct device *open_device(int index, const struct kernel_code *code)
{
    struct opencl_device *dev;
    cl_device_id ids[MAX_DEVICES];

    if (index < 0 || index >= list_usable(ids))
        return NULL;
    dev = host_alloc(sizeof(*dev));
    *dev = (struct opencl_device){{&device_opencl_ops}, open_devices, code ? code->opencl : NULL, .id = ids[index]};
    opencl_check(cl.clGetDeviceInfo(dev->id, CL_DEVICE_NAME, sizeof(dev->name) - 1, dev->name, NULL), "device name");
    open_context(dev);
    open_devices = dev;
    opencl_queue_init(&dev->first, dev);
    return &dev->device;
}

static void close_device(struct device *device)
{
    struct opencl_device *dev = opencl_device(device), **link = &open_devices;

    while (*link != dev)
        link = &(*link)->next;
    *link = dev->next;
    opencl_kernels_end(dev);
    opencl_queue_end(&dev->first);
    opencl_check(cl.clReleaseContext(dev->context), "clReleaseContext");
    free(dev);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static void refuse_alloc(cl_int rc, size_t bytes)
{
    char what[64];

    snprintf(what, sizeof(what), "clCreateBuffer of %zu bytes", bytes);
    opencl_check(rc, what);
}

static struct buffer *alloc_buffer(struct device *dev, size_t bytes)
{
    struct buffer *buf = host_alloc(sizeof(*buf));
    cl_int rc;

    buf->mem = cl.clCreateBuffer(opencl_device(dev)->context, CL_MEM_READ_WRITE, bytes > 0 ? bytes : 1, NULL, &rc);
    if (rc != CL_SUCCESS)
        refuse_alloc(rc, bytes);
    return buf;
}

static void free_buffer(struct device *dev, struct buffer *buf)
{
    (void)dev;
    opencl_check(cl.clReleaseMemObject(buf->mem), "clReleaseMemObject");
    free(buf);
}

static cl_command_queue queue_of(struct device *dev)
{
    return opencl_device(dev)->first.queue;
}

static void write_bytes(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes)
{
    opencl_check(cl.clEnqueueWriteBuffer(queue_of(dev), buf->mem, CL_TRUE, offset, bytes, source, 0, NULL, NULL),
                 "copy to the device");
}

static void read_bytes(struct device *dev, void *dest, const struct buffer *buf, size_t offset, size_t bytes)
{
    opencl_check(cl.clEnqueueReadBuffer(queue_of(dev), buf->mem, CL_TRUE, offset, bytes, dest, 0, NULL, NULL),
                 "copy from the device");
}

/* OpenCL has no pointer to the memory of another process. */
static bool plain_copy(struct device *dev, const struct device_copy *copy, size_t bytes, long count)
{
    (void)dev;
    (void)copy;
    (void)bytes;
    (void)count;
    return false;
}

static void plain_copy_2d(struct device *dev, const struct device_block *block)
{
    const struct device_copy *ends = &block->ends;
    const struct buffer *dest = ends->dest, *source = ends->source;
    const size_t origin[3] = {0, 0, 0}, region[3] = {block->width, block->rows, 1};

    if (ends->dest_on_device)
        opencl_check(cl.clEnqueueWriteBufferRect(queue_of(dev), dest->mem, CL_TRUE, origin, origin, region,
                                                 block->dest_distance, 0, block->source_distance, 0, ends->source, 0,
                                                 NULL, NULL),
                     "2-D copy to the device");
    else
        opencl_check(cl.clEnqueueReadBufferRect(queue_of(dev), source->mem, CL_TRUE, origin, origin, region,
                                                block->source_distance, 0, block->dest_distance, 0, ends->dest, 0, NULL,
                                                NULL),
                     "2-D copy from the device");
}

static void *plain_stream(struct device *dev)
{
    return queue_of(dev);
}

static void plain_synchronize(struct device *dev)
{
    opencl_check(cl.clFinish(queue_of(dev)), "clFinish");
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static const char *label(const struct device *dev)
{
    return opencl_device(dev)->name;
}

static bool has_double(const struct device *dev)
{
    cl_device_fp_config config = 0;
    cl_int rc = cl.clGetDeviceInfo(opencl_device(dev)->id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(config), &config, NULL);

    return rc == CL_SUCCESS && config != 0;
}

static size_t free_bytes(const struct device *dev)
{
    cl_ulong all = 0;

    opencl_check(cl.clGetDeviceInfo(opencl_device(dev)->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(all), &all, NULL),
                 "memory size");
    return (size_t)all;
}

const struct device_ops device_opencl_ops = {
    .name = "opencl",
    .absent =
        "no OpenCL device on this machine: install the driver of the GPU, or PoCL to run on the CPU; NVIDIA's cannot "
        "be used under MPS",
    .memtype = DEVICE_TYPE_OPENCL,
    .local_pointer = false,
    .count = count,
    .open = open_device,
    .close = close_device,
    .alloc = alloc_buffer,
    .free = free_buffer,
    .write = write_bytes,
    .read = read_bytes,
    .plain =
        {
            .write = write_bytes,
            .read = read_bytes,
            .copy = plain_copy,
            .copy_2d = plain_copy_2d,
            .stream = plain_stream,
            .synchronize = plain_synchronize,
        },
    .gpu =
        {
            .label = label,
            .has_double = has_double,
            .free_bytes = free_bytes,
            .kernel = opencl_kernel,
            .first_queue = opencl_first_queue,
            .queue_open = opencl_queue_open,
            .urgent_queue_open = opencl_queue_open,
            .queue_close = opencl_queue_close,
            .queue_object = opencl_queue_object,
            .launch = opencl_launch,
            .fill = opencl_fill,
            .copy = opencl_copy,
            .finish = opencl_finish,
            .follow = opencl_follow,
            .put_signal = opencl_put_signal,
            .signal_wait = opencl_signal_wait,
        },
};
