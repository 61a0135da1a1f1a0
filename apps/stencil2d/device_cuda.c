/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA through its driver interface. The driver is opened at run time, so that the program also starts where there
 * is none. It works in the primary context of the device, as programs that use the CUDA runtime do.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

#include "stencil2d.h"

#define BLOCK_COLS 64
#define BLOCK_ROWS 4
#define STRIP_ROWS 8 /* as in stencil2d.cu */
#define MAX_GRID_Y 65535

/* cuda.h renames some functions (cuMemAlloc to cuMemAlloc_v2); the second macro of a pair sees the new name. */
#define CUDA_FUNCTIONS(X)                                                                                              \
    X(cuInit)                                                                                                          \
    X(cuGetErrorString)                                                                                                \
    X(cuDeviceGetCount)                                                                                                \
    X(cuDeviceGet)                                                                                                     \
    X(cuDeviceGetName)                                                                                                 \
    X(cuDevicePrimaryCtxRetain)                                                                                        \
    X(cuCtxSetCurrent)                                                                                                 \
    X(cuModuleLoadData)                                                                                                \
    X(cuModuleUnload)                                                                                                  \
    X(cuModuleGetFunction)                                                                                             \
    X(cuStreamCreate)                                                                                                  \
    X(cuStreamDestroy)                                                                                                 \
    X(cuStreamSynchronize)                                                                                             \
    X(cuMemAlloc)                                                                                                      \
    X(cuMemFree)                                                                                                       \
    X(cuMemcpyHtoDAsync)                                                                                               \
    X(cuMemcpyDtoHAsync)                                                                                               \
    X(cuMemcpy2DAsync)                                                                                                 \
    X(cuLaunchKernel)

#define FIELD(name) FIELD_(name)
#define FIELD_(name) __typeof__(name) *name;
#define SYMBOL(name) SYMBOL_(name)
#define SYMBOL_(name) { #name, offsetof(struct cuda, name) },

struct cuda {
    CUDA_FUNCTIONS(FIELD)
};

struct device {
    struct cuda cuda;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUmodule module;
    CUfunction sweep_sp, sweep_dp;
    char name[128];
};

struct buffer {
    CUdeviceptr address;
};

/* The kernels for all architectures: a fat binary made by nvcc. */
static const _Alignas(64) unsigned char kernels[] = {
#include "stencil2d.fatbin.inc"
};

/* Returns false where there is no driver. */
static bool load(struct cuda *cuda)
{
    static const struct {
        const char *name;
        size_t field;
    } symbols[] = { CUDA_FUNCTIONS(SYMBOL) };
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

    for (size_t i = 0; lib && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void **field = (void **)((char *)cuda + symbols[i].field);

        *field = dlsym(lib, symbols[i].name);
        if (!*field)
            return false;
    }
    return lib && cuda->cuInit(0) == CUDA_SUCCESS;
}

static void check(const struct device *dev, CUresult rc, const char *what)
{
    const char *text = NULL;

    if (rc == CUDA_SUCCESS)
        return;
    dev->cuda.cuGetErrorString(rc, &text);
    die("%s: CUDA error %d: %s", what, (int)rc, text ? text : "unknown");
}

static int count(void)
{
    struct cuda cuda;
    int n = 0;

    if (!load(&cuda) || cuda.cuDeviceGetCount(&n) != CUDA_SUCCESS)
        return 0;
    return n;
}

static void load_kernels(struct device *dev)
{
    check(dev, dev->cuda.cuModuleLoadData(&dev->module, kernels), "loading the kernels");
    check(dev, dev->cuda.cuModuleGetFunction(&dev->sweep_sp, dev->module, "sweep_sp"), "kernel sweep_sp");
    check(dev, dev->cuda.cuModuleGetFunction(&dev->sweep_dp, dev->module, "sweep_dp"), "kernel sweep_dp");
}

static struct device *open_device(int index)
{
    struct device *dev = calloc(1, sizeof(*dev));
    int n = count();

    if (!dev)
        die("no host memory");
    if (n == 0 || !load(&dev->cuda))
        die("no CUDA device: the driver is missing or sees none; use -d opencl");
    if (index >= n)
        die("no CUDA device %d: there are %d, counted from 0", index, n);
    check(dev, dev->cuda.cuDeviceGet(&dev->device, index), "cuDeviceGet");
    check(dev, dev->cuda.cuDeviceGetName(dev->name, sizeof(dev->name), dev->device), "cuDeviceGetName");
    check(dev, dev->cuda.cuDevicePrimaryCtxRetain(&dev->context, dev->device), "cuDevicePrimaryCtxRetain");
    check(dev, dev->cuda.cuCtxSetCurrent(dev->context), "cuCtxSetCurrent");
    check(dev, dev->cuda.cuStreamCreate(&dev->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    load_kernels(dev);
    return dev;
}

static const char *label(const struct device *dev)
{
    return dev->name;
}

/* The context stays current until the end: the library may still need it. */
static void close_device(struct device *dev)
{
    check(dev, dev->cuda.cuModuleUnload(dev->module), "cuModuleUnload");
    check(dev, dev->cuda.cuStreamDestroy(dev->stream), "cuStreamDestroy");
    free(dev);
}

static struct buffer *alloc_buffer(struct device *dev, size_t bytes)
{
    struct buffer *buf = malloc(sizeof(*buf));
    char what[64];

    if (!buf)
        die("no host memory");
    snprintf(what, sizeof(what), "cuMemAlloc of %zu bytes", bytes);
    check(dev, dev->cuda.cuMemAlloc(&buf->address, bytes), what);
    return buf;
}

static void *map_object(struct buffer *buf)
{
    return (void *)buf->address;
}

static void free_buffer(struct device *dev, struct buffer *buf)
{
    check(dev, dev->cuda.cuMemFree(buf->address), "cuMemFree");
    free(buf);
}

static void finish(struct device *dev)
{
    check(dev, dev->cuda.cuStreamSynchronize(dev->stream), "stencil kernel or copy");
}

static void upload(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes)
{
    check(dev, dev->cuda.cuMemcpyHtoDAsync(buf->address + offset, source, bytes, dev->stream), "copy to the device");
    finish(dev);
}

static void download(struct device *dev, const struct buffer *buf, size_t offset, void *dest, size_t bytes)
{
    check(dev, dev->cuda.cuMemcpyDtoHAsync(dest, buf->address + offset, bytes, dev->stream), "copy from the device");
    finish(dev);
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

    check(dev, dev->cuda.cuMemcpy2DAsync(&copy, dev->stream), "2-D copy to the device");
    finish(dev);
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

    check(dev, dev->cuda.cuMemcpy2DAsync(&copy, dev->stream), "2-D copy from the device");
    finish(dev);
}

static unsigned int blocks(int n, int size)
{
    return ((unsigned int)n + (unsigned int)size - 1) / (unsigned int)size;
}

static void launch(struct device *dev, const struct sweep *sweep)
{
    CUdeviceptr in = sweep->in->address + sweep->origin * sweep->element_size;
    CUdeviceptr out = sweep->out->address + sweep->origin * sweep->element_size;
    size_t pitch = sweep->pitch;
    int rows = sweep->rows;
    int cols = sweep->cols;
    double dp[3] = { sweep->weights[0], sweep->weights[1], sweep->weights[2] };
    float sp[3] = { (float)dp[0], (float)dp[1], (float)dp[2] };
    bool single = sweep->element_size == sizeof(float);
    void *w[3] = { single ? (void *)&sp[0] : &dp[0], single ? (void *)&sp[1] : &dp[1],
                   single ? (void *)&sp[2] : &dp[2] };
    void *args[] = { &in, &out, &pitch, &rows, &cols, w[0], w[1], w[2] };
    unsigned int grid_y = blocks(rows, BLOCK_ROWS * STRIP_ROWS);

    check(dev,
          dev->cuda.cuLaunchKernel(single ? dev->sweep_sp : dev->sweep_dp, blocks(cols, BLOCK_COLS),
                                   grid_y < MAX_GRID_Y ? grid_y : MAX_GRID_Y, 1, BLOCK_COLS, BLOCK_ROWS, 1, 0,
                                   dev->stream, args, NULL),
          "launching the stencil kernel");
}

const struct device_ops device_cuda = {
    .name = "cuda",
    .memtype = OSHM_MEMTYPE_CUDA,
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
