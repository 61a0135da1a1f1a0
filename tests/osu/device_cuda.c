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

enum { CUDA_OK = 0, CUDA_STREAM_NON_BLOCKING = 1 };

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

static bool cuda_copy(const struct device_copy *copy, size_t size, long count)
{
    static int (*const starts[2])(const struct device_copy *, size_t) = {start_dtoh, start_htod};
    int (*start)(const struct device_copy *, size_t) =
        copy->source_on_device && copy->dest_on_device ? start_dtod : starts[copy->dest_on_device];
    for (long i = 0; i < count; i++) {
        check(start(copy, size), "cuMemcpyAsync");
        check(cuda.cuStreamSynchronize(stream), "cuStreamSynchronize");
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
};
