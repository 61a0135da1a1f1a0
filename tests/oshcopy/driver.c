/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A stand-in for libcuda.so.1 for tests of oshcopy: memory of the GPU is host memory that is known to be the GPU's, all
 * is done at once, and what the driver was asked to do is counted.
 */
#define _GNU_SOURCE
#include "tests/oshcopy/driver.h"

#include "gpu/cuda/libcuda.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { RANGES = 256 };

struct range {
    uintptr_t start;
    size_t size;
    CUmemorytype type;
    bool is_managed;
    unsigned generation;
    unsigned long long id;
};

static struct fake state = {.context = (void *)0x1000};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range ranges[RANGES];
static unsigned long long last_id;

fake_t fake;
fake_managed_t fake_managed;

struct fake *fake(void)
{
    return &state;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static void add(uintptr_t start, size_t size, CUmemorytype type, bool is_managed)
{
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < RANGES - 1 && ranges[i].size)
        i++;
    ranges[i] = (struct range){start, size, type, is_managed, state.generation, ++last_id};
    pthread_mutex_unlock(&lock);
}

static bool find(uintptr_t address, struct range *range_p)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < RANGES && !found; i++) {
        bool is_known = ranges[i].type == CU_MEMORYTYPE_DEVICE || ranges[i].generation == state.generation;
        found = is_known && address >= ranges[i].start && address < ranges[i].start + ranges[i].size;
        if (found)
            *range_p = ranges[i];
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void drop(uintptr_t start)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < RANGES; i++)
        if (ranges[i].start == start)
            ranges[i].size = 0;
    pthread_mutex_unlock(&lock);
}

void *fake_managed(size_t nbytes)
{
    void *memory = malloc(nbytes);
    add((uintptr_t)memory, nbytes, CU_MEMORYTYPE_DEVICE, true);
    return memory;
}

CUresult cuMemAlloc(CUdeviceptr *address_p, size_t nbytes)
{
    void *memory = malloc(nbytes);
    add((uintptr_t)memory, nbytes, CU_MEMORYTYPE_DEVICE, false);
    *address_p = (CUdeviceptr)memory;
    return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **address_p, size_t nbytes, unsigned flags)
{
    (void)flags;
    *address_p = malloc(nbytes);
    add((uintptr_t)*address_p, nbytes, CU_MEMORYTYPE_HOST, false);
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address)
{
    drop((uintptr_t)address);
    free(address);
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void *address, size_t nbytes, unsigned flags)
{
    (void)flags;
    add((uintptr_t)address, nbytes, CU_MEMORYTYPE_HOST, false);
    return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *address)
{
    drop((uintptr_t)address);
    return CUDA_SUCCESS;
}

static CUresult tell(void *value, CUpointer_attribute attribute, const struct range *range)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(CUmemorytype *)value = range->type;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(bool *)value = range->is_managed;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)value = range->start;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)value = range->size;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)value = range->id;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* On a coherent system the driver tells of any host memory: its type is 0. */
CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    struct range range = {.start = address};
    const bool is_told = find(address, &range) || getenv("FAKE_IS_COHERENT");
    return is_told ? tell(value, attribute, &range) : CUDA_ERROR_INVALID_VALUE;
}

/* As the driver does: nothing is known about other memory, and that is no error. */
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **values, CUdeviceptr address)
{
    struct range range;
    for (unsigned i = 0; find(address, &range) && i < count; i++)
        tell(values[i], attributes[i], &range);
    return CUDA_SUCCESS;
}

/* ---- Devices, contexts, streams, events -------------------------------------------------------------------------- */

CUresult cuInit(unsigned flags)
{
    (void)flags;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count_p)
{
    *count_p = FAKE_DEVICES;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device_p, int ordinal)
{
    *device_p = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context_p)
{
    *context_p = state.context;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device_p)
{
    *device_p = state.context == (void *)0x1000 ? 0 : 1;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags_p, int *active_p)
{
    (void)device;
    *flags_p = 0;
    *active_p = 1;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context_p, CUdevice device)
{
    *context_p = device == 0 ? (void *)0x1000 : (void *)0x2000;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    (void)device;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least_p, int *greatest_p)
{
    *least_p = *greatest_p = 0;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *stream_p, unsigned flags, int priority)
{
    (void)flags;
    (void)priority;
    *stream_p = (void *)0x7000;
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    if (!state.counts.awaited)
        state.counts.awaited = stream;
    return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status_p)
{
    (void)stream;
    *status_p = state.is_captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static _Thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUstreamCaptureMode before = current;
    current = *mode;
    *mode = before;
    __atomic_add_fetch(&state.mode_swaps, 1, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event_p, unsigned flags)
{
    (void)flags;
    *event_p = (void *)0x8000;
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    (void)event;
    (void)stream;
    return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult result, const char **text_p)
{
    (void)result;
    *text_p = "an error of the stand-in";
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult result, const char **text_p)
{
    return cuGetErrorString(result, text_p);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static CUresult copy_rows(uintptr_t dest, size_t dest_pitch, uintptr_t source, size_t source_pitch, size_t width,
                          size_t height)
{
    struct range to, from;
    const size_t to_extent = (height - 1) * dest_pitch + width, from_extent = (height - 1) * source_pitch + width;
    bool to_known = find(dest, &to), from_known = find(source, &from);
    bool is_direct = !to_known || !from_known;
    __atomic_add_fetch(is_direct ? &state.counts.direct : &state.counts.pieces, 1, __ATOMIC_RELAXED);
    if (state.error)
        return (CUresult)state.error;
    if ((to_known && dest + to_extent > to.start + to.size) ||
        (from_known && source + from_extent > from.start + from.size))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t row = 0; row < height; row++)
        memcpy((void *)(dest + row * dest_pitch), (const void *)(source + row * source_pitch), width);
    return CUDA_SUCCESS;
}

static CUresult copy(uintptr_t dest, uintptr_t source, size_t nbytes)
{
    return copy_rows(dest, 0, source, 0, nbytes, 1);
}

_Static_assert(sizeof(struct fake_rows) == sizeof(CUDA_MEMCPY2D) &&
                   offsetof(struct fake_rows, source.pitch) == offsetof(CUDA_MEMCPY2D, srcPitch) &&
                   offsetof(struct fake_rows, dest.type) == offsetof(CUDA_MEMCPY2D, dstMemoryType) &&
                   offsetof(struct fake_rows, dest.gpu) == offsetof(CUDA_MEMCPY2D, dstDevice) &&
                   offsetof(struct fake_rows, height) == offsetof(CUDA_MEMCPY2D, Height),
               "tests/oshcopy/driver.h describes rows as the driver does");

static uintptr_t first_byte(const struct fake_side *side)
{
    const uintptr_t base = side->type == FAKE_HOST    ? (uintptr_t)side->host
                           : side->type == FAKE_ARRAY ? (uintptr_t)side->array
                                                      : side->gpu;
    return base + side->y * side->pitch + side->x;
}

static CUresult copy_described(const struct fake_rows *rows)
{
    return copy_rows(first_byte(&rows->dest), rows->dest.pitch, first_byte(&rows->source), rows->source.pitch,
                     rows->width, rows->height);
}

/* The symbols themselves, whatever cuda.h makes of their names. */
#define SYNC(_symbol)                                                                                                  \
    CUresult fake_##_symbol(uintptr_t dest, uintptr_t source, size_t nbytes) __asm__(#_symbol);                        \
    CUresult fake_##_symbol(uintptr_t dest, uintptr_t source, size_t nbytes)                                           \
    {                                                                                                                  \
        return copy(dest, source, nbytes);                                                                             \
    }
#define ASYNC(_symbol)                                                                                                 \
    CUresult fake_##_symbol(uintptr_t dest, uintptr_t source, size_t nbytes, CUstream stream) __asm__(#_symbol);       \
    CUresult fake_##_symbol(uintptr_t dest, uintptr_t source, size_t nbytes, CUstream stream)                          \
    {                                                                                                                  \
        (void)stream;                                                                                                  \
        return copy(dest, source, nbytes);                                                                             \
    }
#undef cuMemcpy
#undef cuMemcpyAsync
SYNC(cuMemcpy)
SYNC(cuMemcpy_ptds)
SYNC(cuMemcpyHtoD_v2)
SYNC(cuMemcpyHtoD_v2_ptds)
SYNC(cuMemcpyDtoH_v2)
SYNC(cuMemcpyDtoH_v2_ptds)
ASYNC(cuMemcpyAsync)
ASYNC(cuMemcpyAsync_ptsz)
ASYNC(cuMemcpyHtoDAsync_v2)
ASYNC(cuMemcpyHtoDAsync_v2_ptsz)
ASYNC(cuMemcpyDtoHAsync_v2)
ASYNC(cuMemcpyDtoHAsync_v2_ptsz)

#define ROWS(_symbol)                                                                                                  \
    CUresult fake_##_symbol(const struct fake_rows *rows, CUstream stream) __asm__(#_symbol);                          \
    CUresult fake_##_symbol(const struct fake_rows *rows, CUstream stream)                                             \
    {                                                                                                                  \
        (void)stream;                                                                                                  \
        return copy_described(rows);                                                                                   \
    }
ROWS(cuMemcpy2D_v2)
ROWS(cuMemcpy2D_v2_ptds)
ROWS(cuMemcpy2DUnaligned_v2)
ROWS(cuMemcpy2DUnaligned_v2_ptds)
ROWS(cuMemcpy2DAsync_v2)
ROWS(cuMemcpy2DAsync_v2_ptsz)

/* ---- cuGetProcAddress -------------------------------------------------------------------------------------------- */

#define HOOK(symbol, base, is_per_thread, ...) {#symbol, #base, is_per_thread, (void *)fake_##symbol},
static const struct {
    const char *symbol, *base;
    bool per_thread;
    void *function;
} copies[] = {
#include "contrib/oshcopy/hooks.def"
};
#undef HOOK

CUresult fake_get_proc_address(const char *symbol, void **function_p, int version,
                               cuuint64_t flags) __asm__("cuGetProcAddress");

static CUresult look_up(const char *symbol, void **function_p, int version, cuuint64_t flags)
{
    bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    *function_p = NULL;
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
        if (!strcmp(copies[i].base, symbol) && copies[i].per_thread == per_thread)
            *function_p = copies[i].function;
    if (!strcmp(symbol, "cuGetProcAddress"))
        *function_p = version >= 12000 ? (void *)cuGetProcAddress_v2 : (void *)fake_get_proc_address;
    if (!strcmp(symbol, "cuInit"))
        *function_p = (void *)cuInit;
    return *function_p ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult fake_get_proc_address(const char *symbol, void **function_p, int version, cuuint64_t flags)
{
    return look_up(symbol, function_p, version, flags);
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function_p, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status_p)
{
    CUresult result = look_up(symbol, function_p, version, flags);
    if (status_p)
        *status_p = result ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
    return result;
}
