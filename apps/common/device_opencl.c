/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenCL 1.2. The loader is opened at run time, so that the program also starts where there is none. Devices are
 * numbered as shmemx_my_device does: those of all platforms in order, GPUs only if there are any. A device has one
 * context, also where it is opened several times.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "shape.h"
#include "util.h"

#define MAX_PLATFORMS 16
#define MAX_DEVICES 64

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

#define FIELD(name) __typeof__(name) *name;
#define SYMBOL(name) {#name, (void **)&cl.name},

static struct {
    OPENCL_FUNCTIONS(FIELD)
} cl;

struct queue {
    struct device *dev;
    cl_command_queue queue;
};

/* The source, compiled with some options. */
struct program {
    struct program *next;
    const char *options;
    cl_program program;
};

struct kernel {
    struct kernel *next;
    const char *name;
    cl_kernel kernel;
    size_t max_group;
};

struct device {
    struct device *next; /* in the list of those that are open */
    const char *source;
    cl_device_id id;
    cl_context context;
    struct queue *first;
    struct program *programs;
    struct kernel *kernels;
    char name[128];
};

struct buffer {
    cl_mem mem;
};

static struct device *open_devices;

/* Returns false where there is no loader. */
static bool load(void)
{
    static const struct {
        const char *name;
        void **field;
    } symbols[] = {OPENCL_FUNCTIONS(SYMBOL)};
    static enum { NOT_TRIED, LOADED, MISSING } state;
    void *lib;

    if (state != NOT_TRIED)
        return state == LOADED;
    state = MISSING;
    lib = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_GLOBAL);
    for (size_t i = 0; lib && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        *symbols[i].field = dlsym(lib, symbols[i].name);
        if (!*symbols[i].field)
            return false;
    }
    state = lib ? LOADED : MISSING;
    return state == LOADED;
}

static void check(cl_int rc, const char *what)
{
    if (rc != CL_SUCCESS)
        die("%s: OpenCL error %d", what, (int)rc);
}

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
    int n = load() ? list_type(CL_DEVICE_TYPE_GPU, ids) : 0;

    return n > 0 || !load() ? n : list_type(CL_DEVICE_TYPE_ALL, ids);
}

static int count(void)
{
    cl_device_id ids[MAX_DEVICES];

    return list(ids);
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static struct queue *queue_open(struct device *dev)
{
    struct queue *queue = host_alloc(sizeof(*queue));
    cl_int rc;

    queue->dev = dev;
    queue->queue = cl.clCreateCommandQueue(dev->context, dev->id, 0, &rc);
    check(rc, "clCreateCommandQueue");
    return queue;
}

static struct queue *urgent_queue_open(struct device *dev)
{
    return queue_open(dev);
}

static struct queue *first_queue(struct device *dev)
{
    return dev->first;
}

static void queue_close(struct queue *queue)
{
    check(cl.clReleaseCommandQueue(queue->queue), "clReleaseCommandQueue");
    free(queue);
}

static void *queue_object(struct queue *queue)
{
    return queue->queue;
}

static void finish(struct queue *queue)
{
    check(cl.clFinish(queue->queue), "kernel or copy");
}

static void flush(struct queue *queue)
{
    check(cl.clFlush(queue->queue), "clFlush");
}

/* On a thread of OpenCL's. */
static void CL_CALLBACK pass_on(cl_event event, cl_int status, void *user_event)
{
    (void)event;
    cl.clSetUserEventStatus(user_event, status < 0 ? status : CL_COMPLETE);
    cl.clReleaseEvent(user_event);
}

/* An event of `context` that completes with event, which is of another context; event is given up for it. */
static cl_event carry_over(cl_context context, cl_event event)
{
    cl_int rc;
    cl_event theirs = cl.clCreateUserEvent(context, &rc);

    check(rc, "clCreateUserEvent");
    check(cl.clRetainEvent(theirs), "clRetainEvent");
    check(cl.clSetEventCallback(event, CL_COMPLETE, pass_on, theirs), "clSetEventCallback");
    check(cl.clReleaseEvent(event), "clReleaseEvent");
    return theirs;
}

static void follow(struct queue *queue, struct queue *earlier)
{
    cl_event event;

    check(cl.clEnqueueMarkerWithWaitList(earlier->queue, 0, NULL, &event), "clEnqueueMarkerWithWaitList");
    flush(earlier);
    if (queue->dev->context != earlier->dev->context)
        event = carry_over(queue->dev->context, event);
    check(cl.clEnqueueBarrierWithWaitList(queue->queue, 1, &event, NULL), "clEnqueueBarrierWithWaitList");
    check(cl.clReleaseEvent(event), "clReleaseEvent");
}

/* ---- Device ------------------------------------------------------------------------------------------------------ */

static void open_context(struct device *dev)
{
    cl_int rc;

    for (const struct device *other = open_devices; other; other = other->next)
        if (other->id == dev->id) {
            dev->context = other->context;
            check(cl.clRetainContext(dev->context), "clRetainContext");
            return;
        }
    dev->context = cl.clCreateContext(NULL, 1, &dev->id, NULL, NULL, &rc);
    check(rc, "clCreateContext");
}

static struct device *open_device(int index, const struct kernel_code *code)
{
    struct device *dev = host_alloc(sizeof(*dev));
    cl_device_id ids[MAX_DEVICES];
    int n = list(ids);

    if (n == 0)
        die("no OpenCL device: install the driver of the GPU, or PoCL to run on the CPU");
    if (index >= n)
        die("no OpenCL device %d: there are %d, counted from 0", index, n);
    *dev = (struct device){.source = code->opencl, .id = ids[index]};
    check(cl.clGetDeviceInfo(dev->id, CL_DEVICE_NAME, sizeof(dev->name) - 1, dev->name, NULL), "device name");
    open_context(dev);
    dev->next = open_devices;
    open_devices = dev;
    dev->first = queue_open(dev);
    return dev;
}

static const char *label(const struct device *dev)
{
    return dev->name;
}

static bool has_double(const struct device *dev)
{
    cl_device_fp_config config = 0;

    return cl.clGetDeviceInfo(dev->id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(config), &config, NULL) == CL_SUCCESS &&
           config != 0;
}

static size_t free_bytes(const struct device *dev)
{
    cl_ulong all = 0;

    check(cl.clGetDeviceInfo(dev->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(all), &all, NULL), "memory size");
    return (size_t)all;
}

static void release_kernels(struct device *dev)
{
    while (dev->kernels) {
        struct kernel *kernel = dev->kernels;

        dev->kernels = kernel->next;
        check(cl.clReleaseKernel(kernel->kernel), "clReleaseKernel");
        free(kernel);
    }
    while (dev->programs) {
        struct program *program = dev->programs;

        dev->programs = program->next;
        check(cl.clReleaseProgram(program->program), "clReleaseProgram");
        free(program);
    }
}

static void close_device(struct device *dev)
{
    struct device **link = &open_devices;

    while (*link != dev)
        link = &(*link)->next;
    *link = dev->next;
    release_kernels(dev);
    queue_close(dev->first);
    check(cl.clReleaseContext(dev->context), "clReleaseContext");
    free(dev);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static cl_int try_alloc(struct device *dev, size_t bytes, struct buffer **buf)
{
    cl_int rc;
    cl_mem mem = cl.clCreateBuffer(dev->context, CL_MEM_READ_WRITE, bytes > 0 ? bytes : 1, NULL, &rc);

    if (rc != CL_SUCCESS)
        return rc;
    *buf = host_alloc(sizeof(**buf));
    (*buf)->mem = mem;
    return CL_SUCCESS;
}

static struct buffer *alloc_buffer(struct device *dev, size_t bytes)
{
    struct buffer *buf = NULL;
    char what[64];

    snprintf(what, sizeof(what), "clCreateBuffer of %zu bytes", bytes);
    check(try_alloc(dev, bytes, &buf), what);
    return buf;
}

static bool no_room(cl_int rc)
{
    return rc == CL_MEM_OBJECT_ALLOCATION_FAILURE || rc == CL_OUT_OF_RESOURCES || rc == CL_OUT_OF_HOST_MEMORY ||
           rc == CL_INVALID_BUFFER_SIZE;
}

static struct buffer *alloc_or_null(struct device *dev, size_t bytes)
{
    struct buffer *buf = NULL;
    cl_int rc = try_alloc(dev, bytes, &buf);

    if (!no_room(rc))
        check(rc, "clCreateBuffer");
    return buf;
}

static void *map_object(struct buffer *buf)
{
    return &buf->mem;
}

static struct buffer *adopt(void *object)
{
    struct buffer *buf = host_alloc(sizeof(*buf));

    buf->mem = *(cl_mem *)object;
    return buf;
}

static void disown(struct buffer *buf)
{
    free(buf);
}

static void free_buffer(struct device *dev, struct buffer *buf)
{
    (void)dev;
    check(cl.clReleaseMemObject(buf->mem), "clReleaseMemObject");
    free(buf);
}

static void upload(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes)
{
    check(cl.clEnqueueWriteBuffer(dev->first->queue, buf->mem, CL_TRUE, offset, bytes, source, 0, NULL, NULL),
          "copy to the device");
}

static void download(struct device *dev, const struct buffer *buf, size_t offset, void *dest, size_t bytes)
{
    check(cl.clEnqueueReadBuffer(dev->first->queue, buf->mem, CL_TRUE, offset, bytes, dest, 0, NULL, NULL),
          "copy from the device");
}

/* The offset is given as row and byte in it: not every implementation takes an origin beyond its pitch. */
static void upload_2d(struct device *dev, struct buffer *buf, const struct block *block, const void *source)
{
    const size_t device_origin[3] = {block->offset % block->pitch, block->offset / block->pitch, 0};
    const size_t host_origin[3] = {0, 0, 0};
    const size_t region[3] = {block->width, block->height, 1};

    check(cl.clEnqueueWriteBufferRect(dev->first->queue, buf->mem, CL_TRUE, device_origin, host_origin, region,
                                      block->pitch, 0, block->width, 0, source, 0, NULL, NULL),
          "2-D copy to the device");
}

static void download_2d(struct device *dev, const struct buffer *buf, const struct block *block, void *dest)
{
    const size_t device_origin[3] = {block->offset % block->pitch, block->offset / block->pitch, 0};
    const size_t host_origin[3] = {0, 0, 0};
    const size_t region[3] = {block->width, block->height, 1};

    check(cl.clEnqueueReadBufferRect(dev->first->queue, buf->mem, CL_TRUE, device_origin, host_origin, region,
                                     block->pitch, 0, block->width, 0, dest, 0, NULL, NULL),
          "2-D copy from the device");
}

static void fill(struct queue *queue, struct buffer *buf, size_t offset, uint32_t value, size_t words)
{
    if (words == 0)
        return;
    check(cl.clEnqueueFillBuffer(queue->queue, buf->mem, &value, sizeof(value), offset, words * sizeof(value), 0, NULL,
                                 NULL),
          "filling device memory");
    flush(queue);
}

static void copy(struct queue *queue, struct buffer *dest, size_t dest_offset, const struct buffer *source,
                 size_t source_offset, size_t bytes)
{
    if (bytes == 0)
        return;
    check(
        cl.clEnqueueCopyBuffer(queue->queue, source->mem, dest->mem, source_offset, dest_offset, bytes, 0, NULL, NULL),
        "copy on the device");
    flush(queue);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static void build_failed(const struct device *dev, cl_program program, cl_int rc)
{
    char log[400] = "";

    cl.clGetProgramBuildInfo(program, dev->id, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log, NULL);
    die("building the kernels: OpenCL error %d: %s", (int)rc, log);
}

static struct program *build(struct device *dev, const char *options)
{
    struct program *program = host_alloc(sizeof(*program));
    cl_int rc;

    *program = (struct program){.next = dev->programs, .options = options};
    program->program = cl.clCreateProgramWithSource(dev->context, 1, &dev->source, NULL, &rc);
    check(rc, "clCreateProgramWithSource");
    rc = cl.clBuildProgram(program->program, 1, &dev->id, options, NULL, NULL);
    if (rc != CL_SUCCESS)
        build_failed(dev, program->program, rc);
    dev->programs = program;
    return program;
}

static struct program *program_of(struct device *dev, const char *options)
{
    for (struct program *program = dev->programs; program; program = program->next)
        if (strcmp(program->options, options) == 0)
            return program;
    return build(dev, options);
}

static struct kernel *get_kernel(struct device *dev, const char *name, const char *opencl_options)
{
    struct program *program = program_of(dev, opencl_options ? opencl_options : "");
    struct kernel *kernel = host_alloc(sizeof(*kernel));
    cl_int rc;

    *kernel = (struct kernel){.next = dev->kernels, .name = name};
    kernel->kernel = cl.clCreateKernel(program->program, name, &rc);
    check(rc, name);
    check(cl.clGetKernelWorkGroupInfo(kernel->kernel, dev->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof(kernel->max_group),
                                      &kernel->max_group, NULL),
          name);
    dev->kernels = kernel;
    return kernel;
}

static void set_arguments(struct kernel *kernel, const struct argument *arguments, int n)
{
    for (int i = 0; i < n; i++) {
        const struct buffer *buf = arguments[i].buffer;

        check(cl.clSetKernelArg(kernel->kernel, (cl_uint)i, buf ? sizeof(buf->mem) : arguments[i].size,
                                buf ? &buf->mem : arguments[i].value),
              kernel->name);
    }
}

static void launch(struct queue *queue, struct kernel *kernel, const struct launch *launch,
                   const struct argument *arguments, int n_arguments)
{
    struct shape shape;

    if (!shape_launch(launch, kernel->name, kernel->max_group, n_arguments, &shape))
        return;
    set_arguments(kernel, arguments, n_arguments);
    check(cl.clEnqueueNDRangeKernel(queue->queue, kernel->kernel, 2, NULL, shape.global, shape.group, 0, NULL, NULL),
          kernel->name);
    flush(queue);
}

/* ---- Communication ----------------------------------------------------------------------------------------------- */

static void put_signal(struct queue *queue, void *dest, const void *source, size_t bytes, uint64_t *signal,
                       uint64_t value, int pe)
{
    shmemx_putmem_signal_on_queue(dest, source, bytes, signal, value, SHMEM_SIGNAL_SET, pe, queue->queue, 0, NULL,
                                  NULL);
}

static void signal_wait(struct queue *queue, uint64_t *signal, uint64_t value)
{
    shmemx_signal_wait_until_on_queue(signal, SHMEM_CMP_GE, value, queue->queue, 0, NULL, NULL);
}

const struct device_ops device_opencl = {
    .name = "opencl",
    .memtype = OSHM_MEMTYPE_OPENCL,
#include "device_ops.def"
};
