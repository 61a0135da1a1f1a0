/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA buffers through the driver API. The driver is opened at run time, so that one build runs with and without a
 * GPU; the few types and calls are declared here and cuda.h is not needed.
 */
#include "device.h"
#include "session.h"
#include "shmem_flavour.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

typedef unsigned long long cuda_address_t;
typedef struct CUctx_st *cuda_context_t;
typedef struct CUstream_st *cuda_stream_t;

enum { CUDA_OK = 0, CUDA_STREAM_NON_BLOCKING = 1, CUDA_HOST_MEMORY = 1, CUDA_DEVICE_MEMORY = 2 };

/* One side of a 2-D copy, as the driver lays it out. */
struct cuda_side {
    size_t x, y;
    int type;
    void *host;
    cuda_address_t device;
    void *array;
    size_t pitch;
};

struct cuda_copy_2d {
    struct cuda_side source, dest;
    size_t width, height;
};

/* X(symbol, parameters); all return 0 or an error number. */
#define CUDA_CALLS(X)                                                                                                  \
    X(cuInit, (unsigned flags))                                                                                        \
    X(cuGetErrorString, (int error, const char **text))                                                                \
    X(cuDeviceGet, (int *device, int ordinal))                                                                         \
    X(cuDevicePrimaryCtxRetain, (cuda_context_t * context, int device))                                                \
    X(cuCtxSetCurrent, (cuda_context_t context))                                                                       \
    X(cuStreamCreate, (cuda_stream_t * stream, unsigned flags))                                                        \
    X(cuStreamSynchronize, (cuda_stream_t stream))                                                                     \
    X(cuMemAlloc_v2, (cuda_address_t * address, size_t size))                                                          \
    X(cuMemFree_v2, (cuda_address_t address))                                                                          \
    X(cuMemHostRegister_v2, (void *host, size_t size, unsigned flags))                                                 \
    X(cuMemHostUnregister, (void *host))                                                                               \
    X(cuMemcpy2DAsync_v2, (const struct cuda_copy_2d *copy, cuda_stream_t stream))                                     \
    X(cuMemcpyHtoD_v2, (cuda_address_t dest, const void *source, size_t size))                                         \
    X(cuMemcpyDtoH_v2, (void *dest, cuda_address_t source, size_t size))                                               \
    X(cuMemcpyHtoDAsync_v2, (cuda_address_t dest, const void *source, size_t size, cuda_stream_t stream))              \
    X(cuMemcpyDtoHAsync_v2, (void *dest, cuda_address_t source, size_t size, cuda_stream_t stream))                    \
    X(cuMemcpyDtoDAsync_v2, (cuda_address_t dest, cuda_address_t source, size_t size, cuda_stream_t stream))

#define CUDA_FIELD(symbol, parameters) int(*symbol) parameters;
#define CUDA_ROW(symbol, parameters) {#symbol, offsetof(struct cuda_driver, symbol)},

struct cuda_driver {
    CUDA_CALLS(CUDA_FIELD)
};

static struct cuda_driver cuda;
static cuda_stream_t stream;

static const struct {
    const char *symbol;
    size_t offset;
} cuda_calls[] = {CUDA_CALLS(CUDA_ROW)};

static void check(int error, const char *call)
{
    const char *text = NULL;
    if (error == CUDA_OK)
        return;
    cuda.cuGetErrorString(error, &text);
    osu_fail("%s: %s", call, text ? text : "unknown error");
}

static int load_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; library && i < sizeof cuda_calls / sizeof cuda_calls[0]; i++) {
        void *address = dlsym(library, cuda_calls[i].symbol);
        if (!address)
            return -1;
        memcpy((char *)&cuda + cuda_calls[i].offset, &address, sizeof address);
    }
    return library ? 0 : -1;
}

/* The primary context: the one that the CUDA runtime and the library use too. */
static int cuda_open(int index)
{
    int device;
    cuda_context_t context;
    if (load_driver() || cuda.cuInit(0) || cuda.cuDeviceGet(&device, index))
        return -1;
    check(cuda.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING), "cuStreamCreate");
    return 0;
}

static cuda_address_t address_of(const void *object)
{
    return (cuda_address_t)(uintptr_t)object;
}

static void *cuda_alloc(size_t size)
{
    cuda_address_t address = 0;
    check(cuda.cuMemAlloc_v2(&address, size), "cuMemAlloc");
    return (void *)(uintptr_t)address;
}

static void cuda_free(void *object)
{
    check(cuda.cuMemFree_v2(address_of(object)), "cuMemFree");
}

static void cuda_write(void *object, size_t offset, const void *source, size_t size)
{
    check(cuda.cuMemcpyHtoD_v2(address_of(object) + offset, source, size), "cuMemcpyHtoD");
}

static void cuda_read(void *dest, void *object, size_t offset, size_t size)
{
    check(cuda.cuMemcpyDtoH_v2(dest, address_of(object) + offset, size), "cuMemcpyDtoH");
}

static int start_dtod(const struct device_copy *copy, size_t size)
{
    return cuda.cuMemcpyDtoDAsync_v2(address_of(copy->dest), address_of(copy->source), size, stream);
}

static int start_htod(const struct device_copy *copy, size_t size)
{
    return cuda.cuMemcpyHtoDAsync_v2(address_of(copy->dest), copy->source, size, stream);
}

static int start_dtoh(const struct device_copy *copy, size_t size)
{
    return cuda.cuMemcpyDtoHAsync_v2(copy->dest, address_of(copy->source), size, stream);
}

static void cuda_synchronize(void)
{
    check(cuda.cuStreamSynchronize(stream), "cuStreamSynchronize");
}

static void cuda_enqueue(const struct device_copy *copy, size_t size)
{
    static int (*const starts[2])(const struct device_copy *, size_t) = {start_dtoh, start_htod};
    int (*start)(const struct device_copy *, size_t) =
        copy->source_on_device && copy->dest_on_device ? start_dtod : starts[copy->dest_on_device];
    check(start(copy, size), "cuMemcpyAsync");
}

static bool cuda_copy(const struct device_copy *copy, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        cuda_enqueue(copy, size);
        cuda_synchronize();
    }
    return true;
}

static void cuda_lock(void *host, size_t size)
{
    check(cuda.cuMemHostRegister_v2(host, size, 0), "cuMemHostRegister");
}

static void cuda_unlock(void *host)
{
    check(cuda.cuMemHostUnregister(host), "cuMemHostUnregister");
}

static void cuda_copy_words(const struct device_words *words)
{
    cuda_address_t dest = address_of(words->dest), source = address_of(words->source);
    for (size_t i = 0; i < words->count; i++)
        check(cuda.cuMemcpyDtoDAsync_v2(dest + i * words->distance, source + i * words->distance, 8, stream),
              "cuMemcpyDtoDAsync");
    cuda_synchronize();
}

static struct cuda_side cuda_side_of(const void *address, bool on_device, size_t distance)
{
    struct cuda_side host = {.type = CUDA_HOST_MEMORY, .host = (void *)address, .pitch = distance};
    struct cuda_side device = {.type = CUDA_DEVICE_MEMORY, .device = address_of(address), .pitch = distance};
    return on_device ? device : host;
}

static void cuda_copy_2d(const struct device_block *block)
{
    const struct device_copy *ends = &block->ends;
    struct cuda_copy_2d copy = {
        .source = cuda_side_of(ends->source, ends->source_on_device, block->source_distance),
        .dest = cuda_side_of(ends->dest, ends->dest_on_device, block->dest_distance),
        .width = block->width,
        .height = block->rows,
    };
    check(cuda.cuMemcpy2DAsync_v2(&copy, stream), "cuMemcpy2DAsync");
    cuda_synchronize();
}

static void *cuda_stream(void)
{
    return stream;
}

const struct device_ops device_cuda = {
    .name = "cuda",
    .absent = "no CUDA device on this machine",
    .type = OSU_TYPE_CUDA,
    .local_pointer = true,
    .open = cuda_open,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .write = cuda_write,
    .read = cuda_read,
    .copy = cuda_copy,
    .lock = cuda_lock,
    .unlock = cuda_unlock,
    .copy_words = cuda_copy_words,
    .copy_2d = cuda_copy_2d,
    .stream = cuda_stream,
    .enqueue = cuda_enqueue,
    .synchronize = cuda_synchronize,
};
