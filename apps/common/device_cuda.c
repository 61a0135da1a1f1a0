/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA through its driver interface. The driver is opened at run time, so that the program also starts where there
 * is none. It works in the primary context of the device, as programs that use the CUDA runtime do; every function
 * makes the context of its device current, since a process may have several.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

#include "device.h"
#include "shape.h"
#include "util.h"

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
    X(cuMemcpyAsync)                                                                                                   \
    X(cuMemcpyHtoDAsync)                                                                                               \
    X(cuMemcpyDtoHAsync)                                                                                               \
    X(cuMemcpy2DAsync)                                                                                                 \
    X(cuMemsetD32Async)                                                                                                \
    X(cuLaunchKernel)

#define FIELD(name) FIELD_(name)
#define FIELD_(name) __typeof__(name) *name;
#define SYMBOL(name) SYMBOL_(name)
#define SYMBOL_(name) {#name, (void **)&cuda.name},

static struct {
    CUDA_FUNCTIONS(FIELD)
} cuda;

struct queue {
    struct device *dev;
    CUstream stream;
    CUevent event; /* for queues that follow */
};

struct kernel {
    struct kernel *next;
    const char *name;
    CUfunction function;
    size_t max_group;
};

struct device {
    CUdevice device;
    CUcontext context;
    CUmodule module;
    struct queue *first;
    struct kernel *kernels;
    char name[128];
};

struct buffer {
    CUdeviceptr address;
};

/* Returns false where there is no driver. */
static bool load(void)
{
    static const struct {
        const char *name;
        void **field;
    } symbols[] = {CUDA_FUNCTIONS(SYMBOL)};
    static enum { NOT_TRIED, LOADED, MISSING } state;
    void *lib;

    if (state != NOT_TRIED)
        return state == LOADED;
    state = MISSING;
    lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    for (size_t i = 0; lib && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        *symbols[i].field = dlsym(lib, symbols[i].name);
        if (!*symbols[i].field)
            return false;
    }
    if (lib && cuda.cuInit(0) == CUDA_SUCCESS)
        state = LOADED;
    return state == LOADED;
}

static void check(CUresult rc, const char *what)
{
    const char *text = NULL;

    if (rc == CUDA_SUCCESS)
        return;
    cuda.cuGetErrorString(rc, &text);
    die("%s: CUDA error %d: %s", what, (int)rc, text ? text : "unknown");
}

static void enter(const struct device *dev)
{
    check(cuda.cuCtxSetCurrent(dev->context), "cuCtxSetCurrent");
}

static int count(void)
{
    int n = 0;

    if (!load() || cuda.cuDeviceGetCount(&n) != CUDA_SUCCESS)
        return 0;
    return n;
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static struct queue *open_stream(struct device *dev, bool urgent)
{
    struct queue *queue = host_alloc(sizeof(*queue));
    int least = 0;
    int greatest = 0;

    enter(dev);
    queue->dev = dev;
    check(cuda.cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange");
    check(cuda.cuStreamCreateWithPriority(&queue->stream, CU_STREAM_NON_BLOCKING, urgent ? greatest : least),
          "cuStreamCreateWithPriority");
    check(cuda.cuEventCreate(&queue->event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    return queue;
}

static struct queue *queue_open(struct device *dev)
{
    return open_stream(dev, false);
}

static struct queue *urgent_queue_open(struct device *dev)
{
    return open_stream(dev, true);
}

static struct queue *first_queue(struct device *dev)
{
    return dev->first;
}

static void queue_close(struct queue *queue)
{
    enter(queue->dev);
    check(cuda.cuEventDestroy(queue->event), "cuEventDestroy");
    check(cuda.cuStreamDestroy(queue->stream), "cuStreamDestroy");
    free(queue);
}

static void *queue_object(struct queue *queue)
{
    return queue->stream;
}

static void finish(struct queue *queue)
{
    enter(queue->dev);
    check(cuda.cuStreamSynchronize(queue->stream), "kernel or copy");
}

/* A wait is for what was recorded when it was enqueued: the event can be used anew at once. */
static void follow(struct queue *queue, struct queue *earlier)
{
    enter(earlier->dev);
    check(cuda.cuEventRecord(earlier->event, earlier->stream), "cuEventRecord");
    enter(queue->dev);
    check(cuda.cuStreamWaitEvent(queue->stream, earlier->event, 0), "cuStreamWaitEvent");
}

/* ---- Device ------------------------------------------------------------------------------------------------------ */

static struct device *open_device(int index, const struct kernel_code *code)
{
    struct device *dev = host_alloc(sizeof(*dev));
    int n = count();

    if (n == 0)
        die("no CUDA device: the driver is missing or sees none; use -d opencl");
    if (index >= n)
        die("no CUDA device %d: there are %d, counted from 0", index, n);
    *dev = (struct device){.kernels = NULL};
    check(cuda.cuDeviceGet(&dev->device, index), "cuDeviceGet");
    check(cuda.cuDeviceGetName(dev->name, sizeof(dev->name), dev->device), "cuDeviceGetName");
    check(cuda.cuDevicePrimaryCtxRetain(&dev->context, dev->device), "cuDevicePrimaryCtxRetain");
    dev->first = queue_open(dev);
    check(cuda.cuModuleLoadData(&dev->module, code->fatbin), "loading the kernels");
    return dev;
}

static const char *label(const struct device *dev)
{
    return dev->name;
}

static bool has_double(const struct device *dev)
{
    (void)dev;
    return true;
}

static size_t free_bytes(const struct device *dev)
{
    size_t available = 0;
    size_t total = 0;

    enter(dev);
    check(cuda.cuMemGetInfo(&available, &total), "cuMemGetInfo");
    return available;
}

/* The context stays until the end: the library may still need it. */
static void close_device(struct device *dev)
{
    queue_close(dev->first);
    check(cuda.cuModuleUnload(dev->module), "cuModuleUnload");
    while (dev->kernels) {
        struct kernel *kernel = dev->kernels;

        dev->kernels = kernel->next;
        free(kernel);
    }
    free(dev);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static CUresult try_alloc(struct device *dev, size_t bytes, struct buffer **buf)
{
    CUdeviceptr address;
    CUresult rc;

    enter(dev);
    rc = cuda.cuMemAlloc(&address, bytes > 0 ? bytes : 1);
    if (rc != CUDA_SUCCESS)
        return rc;
    *buf = host_alloc(sizeof(**buf));
    (*buf)->address = address;
    return CUDA_SUCCESS;
}

static struct buffer *alloc_buffer(struct device *dev, size_t bytes)
{
    struct buffer *buf = NULL;
    char what[64];

    snprintf(what, sizeof(what), "cuMemAlloc of %zu bytes", bytes);
    check(try_alloc(dev, bytes, &buf), what);
    return buf;
}

static struct buffer *alloc_or_null(struct device *dev, size_t bytes)
{
    struct buffer *buf = NULL;
    CUresult rc = try_alloc(dev, bytes, &buf);

    if (rc != CUDA_ERROR_OUT_OF_MEMORY)
        check(rc, "cuMemAlloc");
    return buf;
}

static void *map_object(struct buffer *buf)
{
    return (void *)buf->address;
}

static struct buffer *adopt(void *object)
{
    struct buffer *buf = host_alloc(sizeof(*buf));

    buf->address = (CUdeviceptr)object;
    return buf;
}

static void disown(struct buffer *buf)
{
    free(buf);
}

static void free_buffer(struct device *dev, struct buffer *buf)
{
    enter(dev);
    check(cuda.cuMemFree(buf->address), "cuMemFree");
    free(buf);
}

static void upload(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes)
{
    enter(dev);
    check(cuda.cuMemcpyHtoDAsync(buf->address + offset, source, bytes, dev->first->stream), "copy to the device");
    finish(dev->first);
}

static void download(struct device *dev, const struct buffer *buf, size_t offset, void *dest, size_t bytes)
{
    enter(dev);
    check(cuda.cuMemcpyDtoHAsync(dest, buf->address + offset, bytes, dev->first->stream), "copy from the device");
    finish(dev->first);
}

static void upload_2d(struct device *dev, struct buffer *buf, const struct block *block, const void *source)
{
    const CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = source,
        .srcPitch = block->width,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = buf->address + block->offset,
        .dstPitch = block->pitch,
        .WidthInBytes = block->width,
        .Height = block->height,
    };

    enter(dev);
    check(cuda.cuMemcpy2DAsync(&copy, dev->first->stream), "2-D copy to the device");
    finish(dev->first);
}

static void download_2d(struct device *dev, const struct buffer *buf, const struct block *block, void *dest)
{
    const CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = buf->address + block->offset,
        .srcPitch = block->pitch,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = dest,
        .dstPitch = block->width,
        .WidthInBytes = block->width,
        .Height = block->height,
    };

    enter(dev);
    check(cuda.cuMemcpy2DAsync(&copy, dev->first->stream), "2-D copy from the device");
    finish(dev->first);
}

static void fill(struct queue *queue, struct buffer *buf, size_t offset, uint32_t value, size_t words)
{
    if (words == 0)
        return;
    enter(queue->dev);
    check(cuda.cuMemsetD32Async(buf->address + offset, value, words, queue->stream), "filling device memory");
}

static void copy(struct queue *queue, struct buffer *dest, size_t dest_offset, const struct buffer *source,
                 size_t source_offset, size_t bytes)
{
    enter(queue->dev);
    check(cuda.cuMemcpyAsync(dest->address + dest_offset, source->address + source_offset, bytes, queue->stream),
          "copy on the device");
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static struct kernel *get_kernel(struct device *dev, const char *name, const char *opencl_options)
{
    struct kernel *kernel = host_alloc(sizeof(*kernel));
    int max_group = 0;

    (void)opencl_options;
    enter(dev);
    *kernel = (struct kernel){.next = dev->kernels, .name = name};
    check(cuda.cuModuleGetFunction(&kernel->function, dev->module, name), name);
    check(cuda.cuFuncGetAttribute(&max_group, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel->function), name);
    kernel->max_group = (size_t)max_group;
    dev->kernels = kernel;
    return kernel;
}

static void launch(struct queue *queue, struct kernel *kernel, const struct launch *launch,
                   const struct argument *arguments, int n_arguments)
{
    void *addresses[MAX_ARGUMENTS];
    struct shape shape;

    if (!shape_launch(launch, kernel->name, kernel->max_group, n_arguments, &shape))
        return;
    for (int i = 0; i < n_arguments; i++)
        addresses[i] = arguments[i].buffer ? (void *)&arguments[i].buffer->address : (void *)arguments[i].value;
    enter(queue->dev);
    check(cuda.cuLaunchKernel(kernel->function, (unsigned int)(shape.global[0] / shape.group[0]),
                              (unsigned int)(shape.global[1] / shape.group[1]), 1, (unsigned int)shape.group[0],
                              (unsigned int)shape.group[1], 1, 0, queue->stream, addresses, NULL),
          kernel->name);
}

/* ---- Communication ----------------------------------------------------------------------------------------------- */

static void put_signal(struct queue *queue, void *dest, const void *source, size_t bytes, uint64_t *signal,
                       uint64_t value, int pe)
{
    enter(queue->dev);
    shmemx_putmem_signal_on_stream(dest, source, bytes, signal, value, SHMEM_SIGNAL_SET, pe, queue->stream);
}

static void signal_wait(struct queue *queue, uint64_t *signal, uint64_t value)
{
    enter(queue->dev);
    shmemx_signal_wait_until_on_stream(signal, SHMEM_CMP_GE, value, queue->stream);
}

const struct device_ops device_cuda = {
    .name = "cuda",
    .memtype = OSHM_MEMTYPE_CUDA,
#include "device_ops.def"
};
