/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA through its driver interface: devices, their memory, and the plain copies that benchmarks time. It works in the
 * primary context of the device, as programs that use the CUDA runtime do.
 */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda_driver.h"
#include "util.h"

_Static_assert(DEVICE_TYPE_CUDA == OSHM_MEMTYPE_CUDA, "the type that shmmap knows");

/* ---- Device ------------------------------------------------------------------------------------------------------ */

static int count(void)
{
    int n = 0;

    if (!cuda_load() || cuda.cuDeviceGetCount(&n) != CUDA_SUCCESS)
        return 0;
    return n;
}

static struct device *open_device(int index, const struct kernel_code *code)
{
    struct cuda_device *dev;

    if (index < 0 || index >= count())
        return NULL;
    dev = host_alloc(sizeof(*dev));
    *dev = (struct cuda_device){.device = {&device_cuda_ops}};
    cuda_check(cuda.cuDeviceGet(&dev->number, index), "cuDeviceGet");
    cuda_check(cuda.cuDeviceGetName(dev->name, sizeof(dev->name), dev->number), "cuDeviceGetName");
    cuda_check(cuda.cuDevicePrimaryCtxRetain(&dev->context, dev->number), "cuDevicePrimaryCtxRetain");
    cuda_queue_init(&dev->first, dev, false);
    if (code)
        cuda_check(cuda.cuModuleLoadData(&dev->module, code->fatbin), "loading the kernels");
    return &dev->device;
}

/* The context stays until the end: the library may still need it. */
static void close_device(struct device *device)
{
    struct cuda_device *dev = cuda_device(device);

    cuda_queue_end(&dev->first);
    if (dev->module)
        cuda_check(cuda.cuModuleUnload(dev->module), "cuModuleUnload");
    cuda_kernels_end(dev);
    free(dev);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static void refuse_alloc(CUresult rc, size_t bytes)
{
    char what[64];

    snprintf(what, sizeof(what), "cuMemAlloc of %zu bytes", bytes);
    cuda_check(rc, what);
}

static struct buffer *alloc_buffer(struct device *dev, size_t bytes)
{
    CUdeviceptr address = 0;
    CUresult rc;

    cuda_enter(cuda_device(dev));
    rc = cuda.cuMemAlloc(&address, bytes > 0 ? bytes : 1);
    if (rc != CUDA_SUCCESS)
        refuse_alloc(rc, bytes);
    return (struct buffer *)(uintptr_t)address;
}

static void free_buffer(struct device *dev, struct buffer *buf)
{
    cuda_enter(cuda_device(dev));
    cuda_check(cuda.cuMemFree(cuda_address(buf)), "cuMemFree");
}

static CUstream stream_of(struct device *dev)
{
    return cuda_device(dev)->first.stream;
}

static void plain_synchronize(struct device *dev)
{
    cuda_check(cuda.cuStreamSynchronize(stream_of(dev)), "cuStreamSynchronize");
}

static void write_bytes(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes)
{
    cuda_enter(cuda_device(dev));
    cuda_check(cuda.cuMemcpyHtoDAsync(cuda_address(buf) + offset, source, bytes, stream_of(dev)), "copy to the device");
    plain_synchronize(dev);
}

static void read_bytes(struct device *dev, void *dest, const struct buffer *buf, size_t offset, size_t bytes)
{
    cuda_enter(cuda_device(dev));
    cuda_check(cuda.cuMemcpyDtoHAsync(dest, cuda_address(buf) + offset, bytes, stream_of(dev)), "copy from the device");
    plain_synchronize(dev);
}

/* ---- Plain copies: no context is made current here --------------------------------------------------------------- */

static void plain_write(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes)
{
    (void)dev;
    cuda_check(cuda.cuMemcpyHtoD(cuda_address(buf) + offset, source, bytes), "cuMemcpyHtoD");
}

static void plain_read(struct device *dev, void *dest, const struct buffer *buf, size_t offset, size_t bytes)
{
    (void)dev;
    cuda_check(cuda.cuMemcpyDtoH(dest, cuda_address(buf) + offset, bytes), "cuMemcpyDtoH");
}

static CUresult start_dtod(const struct device_copy *copy, size_t bytes, CUstream stream)
{
    return cuda.cuMemcpyDtoDAsync(cuda_address(copy->dest), cuda_address(copy->source), bytes, stream);
}

static CUresult start_htod(const struct device_copy *copy, size_t bytes, CUstream stream)
{
    return cuda.cuMemcpyHtoDAsync(cuda_address(copy->dest), copy->source, bytes, stream);
}

static CUresult start_dtoh(const struct device_copy *copy, size_t bytes, CUstream stream)
{
    return cuda.cuMemcpyDtoHAsync(copy->dest, cuda_address(copy->source), bytes, stream);
}

static void plain_enqueue(struct device *dev, const struct device_copy *copy, size_t bytes)
{
    static CUresult (*const starts[2])(const struct device_copy *, size_t, CUstream) = {start_dtoh, start_htod};
    CUresult (*start)(const struct device_copy *, size_t, CUstream) =
        copy->source_on_device && copy->dest_on_device ? start_dtod : starts[copy->dest_on_device];

    cuda_check(start(copy, bytes, stream_of(dev)), "cuMemcpyAsync");
}

static bool plain_copy(struct device *dev, const struct device_copy *copy, size_t bytes, long count)
{
    for (long i = 0; i < count; i++) {
        plain_enqueue(dev, copy, bytes);
        plain_synchronize(dev);
    }
    return true;
}

static void plain_copy_words(struct device *dev, const struct device_words *words)
{
    CUdeviceptr dest = cuda_address(words->dest), source = cuda_address(words->source);
    CUstream stream = stream_of(dev);

    for (size_t i = 0; i < words->count; i++)
        cuda_check(cuda.cuMemcpyDtoDAsync(dest + i * words->distance, source + i * words->distance, 8, stream),
                   "cuMemcpyDtoDAsync");
    plain_synchronize(dev);
}

static void plain_copy_2d(struct device *dev, const struct device_block *block)
{
    const struct device_copy *ends = &block->ends;
    const CUDA_MEMCPY2D copy = {
        .srcMemoryType = ends->source_on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
        .srcHost = ends->source,
        .srcDevice = cuda_address(ends->source),
        .srcPitch = block->source_distance,
        .dstMemoryType = ends->dest_on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
        .dstHost = ends->dest,
        .dstDevice = cuda_address(ends->dest),
        .dstPitch = block->dest_distance,
        .WidthInBytes = block->width,
        .Height = block->rows,
    };

    cuda_check(cuda.cuMemcpy2DAsync(&copy, stream_of(dev)), "cuMemcpy2DAsync");
    plain_synchronize(dev);
}

static void *plain_stream(struct device *dev)
{
    return stream_of(dev);
}

static void lock(struct device *dev, void *host, size_t bytes)
{
    (void)dev;
    cuda_check(cuda.cuMemHostRegister(host, bytes, 0), "cuMemHostRegister");
}

static void unlock(struct device *dev, void *host)
{
    (void)dev;
    cuda_check(cuda.cuMemHostUnregister(host), "cuMemHostUnregister");
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static const char *label(const struct device *dev)
{
    return cuda_device(dev)->name;
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

    cuda_enter(cuda_device(dev));
    cuda_check(cuda.cuMemGetInfo(&available, &total), "cuMemGetInfo");
    return available;
}

const struct device_ops device_cuda_ops = {
    .name = "cuda",
    .absent = "no CUDA device on this machine: the driver is missing or sees none; use -d opencl",
    .memtype = DEVICE_TYPE_CUDA,
    .local_pointer = true,
    .count = count,
    .open = open_device,
    .close = close_device,
    .alloc = alloc_buffer,
    .free = free_buffer,
    .write = write_bytes,
    .read = read_bytes,
    .plain =
        {
            .write = plain_write,
            .read = plain_read,
            .copy = plain_copy,
            .copy_2d = plain_copy_2d,
            .stream = plain_stream,
            .synchronize = plain_synchronize,
        },
    .enqueues = {.enqueue = plain_enqueue, .copy_words = plain_copy_words},
    .locks = {.lock = lock, .unlock = unlock},
    .gpu =
        {
            .label = label,
            .has_double = has_double,
            .free_bytes = free_bytes,
            .kernel = cuda_kernel,
            .first_queue = cuda_first_queue,
            .queue_open = cuda_queue_open,
            .urgent_queue_open = cuda_urgent_queue_open,
            .queue_close = cuda_queue_close,
            .queue_object = cuda_queue_object,
            .launch = cuda_launch,
            .fill = cuda_fill,
            .copy = cuda_copy,
            .finish = cuda_finish,
            .follow = cuda_follow,
            .put_signal = cuda_put_signal,
            .signal_wait = cuda_signal_wait,
            .capture = cuda_capture,
            .captured = cuda_captured,
            .replay = cuda_replay,
            .graph_close = cuda_graph_close,
        },
    .together = {.has = cuda_has_kernel, .most_groups = cuda_most_groups, .launch = cuda_launch_together},
};
