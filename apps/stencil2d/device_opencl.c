/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenCL 1.2. The loader is opened at run time, so that the program also starts where there is none. Devices are
 * numbered as shmemx_my_device does: those of all platforms in order, GPUs only if there are any.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

#include "stencil2d.h"

#define MAX_PLATFORMS 16
#define MAX_DEVICES 64
#define GROUP_COLS 64
#define STRIP_ROWS 8 /* cells of a column that one work-item computes */

#define OPENCL_FUNCTIONS(X)                                                                                            \
    X(clGetPlatformIDs)                                                                                                \
    X(clGetDeviceIDs)                                                                                                  \
    X(clGetDeviceInfo)                                                                                                 \
    X(clCreateContext)                                                                                                 \
    X(clReleaseContext)                                                                                                \
    X(clCreateCommandQueue)                                                                                            \
    X(clReleaseCommandQueue)                                                                                           \
    X(clCreateProgramWithSource)                                                                                       \
    X(clBuildProgram)                                                                                                  \
    X(clGetProgramBuildInfo)                                                                                           \
    X(clReleaseProgram)                                                                                                \
    X(clCreateKernel)                                                                                                  \
    X(clReleaseKernel)                                                                                                 \
    X(clSetKernelArg)                                                                                                  \
    X(clCreateBuffer)                                                                                                  \
    X(clReleaseMemObject)                                                                                              \
    X(clEnqueueWriteBuffer)                                                                                            \
    X(clEnqueueReadBuffer)                                                                                             \
    X(clEnqueueWriteBufferRect)                                                                                        \
    X(clEnqueueReadBufferRect)                                                                                         \
    X(clEnqueueNDRangeKernel)                                                                                          \
    X(clFlush)                                                                                                         \
    X(clFinish)

#define FIELD(name) __typeof__(name) *name;
#define SYMBOL(name) { #name, offsetof(struct opencl, name) },

struct opencl {
    OPENCL_FUNCTIONS(FIELD)
};

struct device {
    struct opencl cl;
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cl_kernel sweep_sp, sweep_dp; /* built when first used */
    size_t group_cols;
    char name[128];
};

struct buffer {
    cl_mem mem;
};

static const char source_text[] = {
#include "stencil2d.cl.inc"
    0
};

/* Returns false where there is no loader. */
static bool load(struct opencl *cl)
{
    static const struct {
        const char *name;
        size_t field;
    } symbols[] = { OPENCL_FUNCTIONS(SYMBOL) };
    void *lib = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_GLOBAL);

    for (size_t i = 0; lib && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void **field = (void **)((char *)cl + symbols[i].field);

        *field = dlsym(lib, symbols[i].name);
        if (!*field)
            return false;
    }
    return lib != NULL;
}

static void check(cl_int rc, const char *what)
{
    if (rc != CL_SUCCESS)
        die("%s: OpenCL error %d", what, (int)rc);
}

static int list_type(const struct opencl *cl, cl_device_type type, cl_device_id *ids)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint platform_count = 0;
    int total = 0;

    if (cl->clGetPlatformIDs(MAX_PLATFORMS, platforms, &platform_count) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < platform_count && i < MAX_PLATFORMS && total < MAX_DEVICES; i++) {
        cl_uint room = (cl_uint)(MAX_DEVICES - total);
        cl_uint n = 0;

        if (cl->clGetDeviceIDs(platforms[i], type, room, ids + total, &n) == CL_SUCCESS)
            total += (int)(n < room ? n : room);
    }
    return total;
}

static int list(const struct opencl *cl, cl_device_id *ids)
{
    int n = list_type(cl, CL_DEVICE_TYPE_GPU, ids);

    return n > 0 ? n : list_type(cl, CL_DEVICE_TYPE_ALL, ids);
}

static int count(void)
{
    cl_device_id ids[MAX_DEVICES];
    struct opencl cl;

    return load(&cl) ? list(&cl, ids) : 0;
}

static void query_device(struct device *dev)
{
    size_t group = 1;

    check(dev->cl.clGetDeviceInfo(dev->id, CL_DEVICE_NAME, sizeof(dev->name) - 1, dev->name, NULL), "device name");
    check(dev->cl.clGetDeviceInfo(dev->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(group), &group, NULL),
          "work-group size");
    dev->group_cols = group < GROUP_COLS ? 1 : GROUP_COLS;
}

static struct device *open_device(int index)
{
    struct device *dev = calloc(1, sizeof(*dev));
    cl_device_id ids[MAX_DEVICES];
    cl_int rc;
    int n;

    if (!dev)
        die("no host memory");
    n = load(&dev->cl) ? list(&dev->cl, ids) : 0;
    if (n == 0)
        die("no OpenCL device: install the driver of the GPU, or PoCL to run on the CPU");
    if (index >= n)
        die("no OpenCL device %d: there are %d, counted from 0", index, n);
    dev->id = ids[index];
    query_device(dev);
    dev->context = dev->cl.clCreateContext(NULL, 1, &dev->id, NULL, NULL, &rc);
    check(rc, "clCreateContext");
    dev->queue = dev->cl.clCreateCommandQueue(dev->context, dev->id, 0, &rc);
    check(rc, "clCreateCommandQueue");
    return dev;
}

static const char *label(const struct device *dev)
{
    return dev->name;
}

static void close_device(struct device *dev)
{
    if (dev->sweep_sp)
        check(dev->cl.clReleaseKernel(dev->sweep_sp), "clReleaseKernel");
    if (dev->sweep_dp)
        check(dev->cl.clReleaseKernel(dev->sweep_dp), "clReleaseKernel");
    check(dev->cl.clReleaseCommandQueue(dev->queue), "clReleaseCommandQueue");
    check(dev->cl.clReleaseContext(dev->context), "clReleaseContext");
    free(dev);
}

static void build_failed(struct device *dev, cl_program program, cl_int rc)
{
    char log[400] = "";

    dev->cl.clGetProgramBuildInfo(program, dev->id, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log, NULL);
    die("building the kernel: OpenCL error %d: %s", (int)rc, log);
}

static cl_kernel build(struct device *dev, const char *real_options)
{
    const char *text = source_text;
    char options[128];
    cl_program program;
    cl_kernel kernel;
    cl_int rc;

    program = dev->cl.clCreateProgramWithSource(dev->context, 1, &text, NULL, &rc);
    check(rc, "clCreateProgramWithSource");
    snprintf(options, sizeof(options), "-DSTRIP_ROWS=%d %s", STRIP_ROWS, real_options);
    rc = dev->cl.clBuildProgram(program, 1, &dev->id, options, NULL, NULL);
    if (rc != CL_SUCCESS)
        build_failed(dev, program, rc);
    kernel = dev->cl.clCreateKernel(program, "sweep", &rc);
    check(rc, "clCreateKernel");
    check(dev->cl.clReleaseProgram(program), "clReleaseProgram");
    return kernel;
}

static void need_double(const struct device *dev)
{
    cl_device_fp_config config = 0;

    if (dev->cl.clGetDeviceInfo(dev->id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof(config), &config, NULL) != CL_SUCCESS ||
        config == 0)
        die("device %s has no double precision: use -p sp", dev->name);
}

static cl_kernel kernel_for(struct device *dev, size_t element_size)
{
    if (element_size == sizeof(float)) {
        if (!dev->sweep_sp)
            dev->sweep_sp = build(dev, "-DREAL=float");
        return dev->sweep_sp;
    }
    if (!dev->sweep_dp) {
        need_double(dev);
        dev->sweep_dp = build(dev, "-DREAL=double -DNEEDS_FP64");
    }
    return dev->sweep_dp;
}

static struct buffer *alloc_buffer(struct device *dev, size_t bytes)
{
    struct buffer *buf = malloc(sizeof(*buf));
    cl_int rc;

    if (!buf)
        die("no host memory");
    buf->mem = dev->cl.clCreateBuffer(dev->context, CL_MEM_READ_WRITE, bytes, NULL, &rc);
    if (rc != CL_SUCCESS)
        die("clCreateBuffer of %zu bytes: OpenCL error %d", bytes, (int)rc);
    return buf;
}

static void *map_object(struct buffer *buf)
{
    return &buf->mem;
}

static void free_buffer(struct device *dev, struct buffer *buf)
{
    check(dev->cl.clReleaseMemObject(buf->mem), "clReleaseMemObject");
    free(buf);
}

static void finish(struct device *dev)
{
    check(dev->cl.clFinish(dev->queue), "stencil kernel or copy");
}

static void upload(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes)
{
    check(dev->cl.clEnqueueWriteBuffer(dev->queue, buf->mem, CL_TRUE, offset, bytes, source, 0, NULL, NULL),
          "copy to the device");
}

static void download(struct device *dev, const struct buffer *buf, size_t offset, void *dest, size_t bytes)
{
    check(dev->cl.clEnqueueReadBuffer(dev->queue, buf->mem, CL_TRUE, offset, bytes, dest, 0, NULL, NULL),
          "copy from the device");
}

/* The offset is given as row and byte in it: not every implementation takes an origin beyond its pitch. */
static void upload_2d(struct device *dev, struct buffer *buf, const struct block *block, const void *source)
{
    const size_t device_origin[3] = { block->offset % block->pitch, block->offset / block->pitch, 0 };
    const size_t host_origin[3] = { 0, 0, 0 };
    const size_t region[3] = { block->width, block->height, 1 };

    check(dev->cl.clEnqueueWriteBufferRect(dev->queue, buf->mem, CL_TRUE, device_origin, host_origin, region,
                                           block->pitch, 0, block->width, 0, source, 0, NULL, NULL),
          "2-D copy to the device");
}

static void download_2d(struct device *dev, const struct buffer *buf, const struct block *block, void *dest)
{
    const size_t device_origin[3] = { block->offset % block->pitch, block->offset / block->pitch, 0 };
    const size_t host_origin[3] = { 0, 0, 0 };
    const size_t region[3] = { block->width, block->height, 1 };

    check(dev->cl.clEnqueueReadBufferRect(dev->queue, buf->mem, CL_TRUE, device_origin, host_origin, region,
                                          block->pitch, 0, block->width, 0, dest, 0, NULL, NULL),
          "2-D copy from the device");
}

static void set_arguments(const struct device *dev, cl_kernel kernel, const struct sweep *sweep)
{
    const cl_ulong origin = sweep->origin;
    const cl_ulong pitch = sweep->pitch;
    const cl_int rows = sweep->rows;
    const cl_int cols = sweep->cols;
    const struct {
        size_t size;
        const void *value;
    } args[] = {
        { sizeof(cl_mem), &sweep->in->mem },
        { sizeof(cl_mem), &sweep->out->mem },
        { sizeof(origin), &origin },
        { sizeof(pitch), &pitch },
        { sizeof(rows), &rows },
        { sizeof(cols), &cols },
    };
    const cl_uint n = sizeof(args) / sizeof(args[0]);

    for (cl_uint i = 0; i < n; i++)
        check(dev->cl.clSetKernelArg(kernel, i, args[i].size, args[i].value), "clSetKernelArg");
    for (cl_uint i = 0; i < 3; i++) {
        const float sp = (float)sweep->weights[i];
        const void *weight = sweep->element_size == sizeof(float) ? (const void *)&sp : &sweep->weights[i];

        check(dev->cl.clSetKernelArg(kernel, n + i, sweep->element_size, weight), "clSetKernelArg");
    }
}

static void launch(struct device *dev, const struct sweep *sweep)
{
    cl_kernel kernel = kernel_for(dev, sweep->element_size);
    const size_t group[2] = { dev->group_cols, 1 };
    const size_t global[2] = { ((size_t)sweep->cols + group[0] - 1) / group[0] * group[0],
                               ((size_t)sweep->rows + STRIP_ROWS - 1) / STRIP_ROWS };

    set_arguments(dev, kernel, sweep);
    check(dev->cl.clEnqueueNDRangeKernel(dev->queue, kernel, 2, NULL, global, group, 0, NULL, NULL),
          "launching the stencil kernel");
    check(dev->cl.clFlush(dev->queue), "clFlush");
}

const struct device_ops device_opencl = {
    .name = "opencl",
    .memtype = OSHM_MEMTYPE_OPENCL,
    .count = count,
    .open = open_device,
    .label = label,
    .close = close_device,
    .alloc = alloc_buffer,
    .map_object = map_object,
    .free = free_buffer,
    .upload = upload,
    .download = download,
    .upload_2d = upload_2d,
    .download_2d = download_2d,
    .launch = launch,
    .finish = finish,
};
