/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Page-locks host memory for CUDA. The ranges that the library has registered are remembered, since those that the
 * program has registered itself must stay registered.
 */
#include "base/log.h"
#include "gpu/device/gpu_context.h"

#include <errno.h>
#include <stdlib.h>

struct pinned {
    void *address;
    size_t size;
    struct pinned *next;
};

static pthread_mutex_t pinned_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pinned *pinned;

bool shmemi_cuda_is_locked(const void *address)
{
    CUmemorytype type = 0;
    CUresult result = shmemi_cuda.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)address);
    return result == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST;
}

bool shmemi_cuda_is_locked_range(const void *address, size_t size)
{
    CUmemorytype type = 0;
    CUdeviceptr start = 0, end = (CUdeviceptr)address + size;
    size_t range = 0;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&type, &start, &range};
    CUresult result = shmemi_cuda.cuPointerGetAttributes(3, names, values, (CUdeviceptr)address);
    return result == CUDA_SUCCESS && type == CU_MEMORYTYPE_HOST && end <= start + range;
}

/* Called with any context current: portable memory is page-locked for all. */
static int register_range(void *address, size_t size)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    if (shmemi_cuda_is_locked_range(address, size))
        return 0;
    struct pinned *range = malloc(sizeof *range);
    if (!range)
        return -ENOMEM;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED; /* this thread may be capturing a stream */
    shmemi_cuda.cuThreadExchangeStreamCaptureMode(&mode);
    CUresult result = shmemi_cuda.cuMemHostRegister(address, size, CU_MEMHOSTREGISTER_PORTABLE);
    shmemi_cuda.cuThreadExchangeStreamCaptureMode(&mode);
    if (result == CUDA_SUCCESS) {
        *range = (struct pinned){.address = address, .size = size, .next = pinned};
        pinned = range;
        return 0;
    }
    free(range);
    if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
        return 0;
    if (!atomic_flag_test_and_set(&warned))
        shmemi_warn("%zu bytes of host memory cannot be page-locked for CUDA: %s; copies to and from the GPU are slower"
                    " (ulimit -l limits it)",
                    size, shmemi_cuda_error_text(result));
    return shmemi_cuda_errno(result);
}

/* Enter any context: one in which the library copies, or else the thread's current one. None is created for this. */
static int enter_any(bool *pushed_p)
{
    const struct shmemi_cuda_context *context = shmemi_cuda_context_any();
    CUcontext current = NULL;
    *pushed_p = false;
    if (context)
        return shmemi_cuda_enter(context, pushed_p);
    if (shmemi_cuda_is_over)
        return -ENODEV;
    return shmemi_cuda.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current ? 0 : -ENODEV;
}

int shmemi_cuda_pin(void *address, size_t size)
{
    bool pushed;
    int rc = enter_any(&pushed);
    if (rc)
        return rc;
    const CUstreamCaptureMode mode = shmemi_cuda_relax();
    pthread_mutex_lock(&pinned_lock);
    rc = register_range(address, size);
    pthread_mutex_unlock(&pinned_lock);
    shmemi_cuda_restore(mode);
    shmemi_cuda_leave(pushed);
    return rc;
}

void shmemi_cuda_pinned_renew(void)
{
    bool pushed;
    if (enter_any(&pushed))
        return;
    pthread_mutex_lock(&pinned_lock);
    for (const struct pinned *range = pinned; range; range = range->next)
        if (!shmemi_cuda_is_locked_range(range->address, range->size))
            (void)CUDA_CALL(cuMemHostRegister, range->address, range->size, CU_MEMHOSTREGISTER_PORTABLE);
    pthread_mutex_unlock(&pinned_lock);
    shmemi_cuda_leave(pushed);
}

static void unregister_range(struct pinned **link)
{
    bool pushed;
    struct pinned *range = *link;
    *link = range->next;
    if (!enter_any(&pushed)) {
        CUresult result = shmemi_cuda.cuMemHostUnregister(range->address);
        if (result != CUDA_SUCCESS)
            shmemi_debug("cuMemHostUnregister: %s", shmemi_cuda_error_text(result));
        shmemi_cuda_leave(pushed);
    }
    free(range);
}

static void unpin(void *address, size_t size)
{
    (void)size;
    pthread_mutex_lock(&pinned_lock);
    struct pinned **link = &pinned;
    while (*link && (*link)->address != address)
        link = &(*link)->next;
    if (*link)
        unregister_range(link);
    pthread_mutex_unlock(&pinned_lock);
}

void shmemi_cuda_pinned_close(void)
{
    pthread_mutex_lock(&pinned_lock);
    while (pinned)
        unregister_range(&pinned);
    pthread_mutex_unlock(&pinned_lock);
}

static bool helps(const struct shmemi_place *place)
{
    (void)place;
    return true;
}

const struct shmemi_pinning shmemi_cuda_pinning = {
    .pin = shmemi_cuda_pin,
    .unpin = unpin,
    .is_pinned = shmemi_cuda_is_locked_range,
    .helps = helps,
};
