/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes in advance what copies of the library need, for the time when a kernel waits for them: what the driver makes at
 * first use (streams, channels to the copy engines, memory through which pageable memory is copied) it may make only once
 * all kernels have ended.
 */
#include "gpu/device/gpu_context.h"

#include <stdlib.h>

enum { TRIAL_BYTES = 64 << 10, SMALL_BYTES = 8 };

/* Memory that is copied, and words that are set. */
struct trial {
    CUdeviceptr device;
    void *locked, *pageable;
};

static int open_trial(struct trial *trial)
{
    trial->pageable = calloc(1, TRIAL_BYTES);
    int rc = trial->pageable ? 0 : -ENOMEM;
    if (!rc)
        rc = CUDA_CALL(cuMemHostAlloc, &trial->locked, TRIAL_BYTES, CU_MEMHOSTALLOC_PORTABLE);
    return rc ? rc : CUDA_CALL(cuMemAlloc, &trial->device, TRIAL_BYTES);
}

static void close_trial(struct trial *trial)
{
    if (trial->device)
        shmemi_cuda.cuMemFree(trial->device);
    if (trial->locked)
        shmemi_cuda.cuMemFreeHost(trial->locked);
    free(trial->pageable);
}

static int copy_both_ways(CUdeviceptr device, void *host, size_t nbytes, CUstream stream)
{
    int rc = CUDA_CALL(cuMemcpyHtoDAsync, device, host, nbytes, stream);
    return rc ? rc : CUDA_CALL(cuMemcpyDtoHAsync, host, device, nbytes, stream);
}

static int set_words(const struct shmemi_cuda_context *context, const struct trial *trial, CUstream stream)
{
    CUstreamBatchMemOpParams operations[] = {
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64, .address = trial->device}},
        {.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32, .address = (CUdeviceptr)trial->locked}},
    };
    return context->streams.has_word_operations ? CUDA_CALL(cuStreamBatchMemOp, stream, 2, operations, 0) : 0;
}

static int try_stream(struct shmemi_cuda_context *context, const struct trial *trial, CUstream stream)
{
    const size_t sizes[] = {SMALL_BYTES, 4 << 10, TRIAL_BYTES};
    CUevent event;
    int rc = set_words(context, trial, stream);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0] && !rc; i++) {
        rc = copy_both_ways(trial->device, trial->locked, sizes[i], stream);
        if (!rc)
            rc = copy_both_ways(trial->device, trial->pageable, sizes[i], stream);
    }
    if (!rc)
        rc = CUDA_CALL(cuMemcpyDtoDAsync, trial->device, trial->device + TRIAL_BYTES / 2, SMALL_BYTES, stream);
    if (!rc)
        rc = shmemi_cuda_record(context, stream, &event);
    if (rc)
        return rc;
    rc = CUDA_CALL(cuEventSynchronize, event);
    shmemi_cuda_event_give(context, event);
    return rc;
}

static int try_streams(struct shmemi_cuda_context *context, const struct trial *trial)
{
    int rc = 0;
    for (unsigned i = 0; i < shmemi_cuda_streams_soon() && !rc; i++) {
        CUstream stream;
        rc = shmemi_cuda_stream_number(context, i, &stream);
        if (!rc)
            rc = try_stream(context, trial, stream);
    }
    return rc;
}

/* No more streams than threads will use: streams of which there are more than the GPU has queues share these, also with the
 * program's, and what is in a queue behind work that waits, waits too. */
static int make_ready(struct shmemi_cuda_context *context)
{
    struct trial trial = {0};
    bool pushed;
    int rc = shmemi_cuda_enter(context, &pushed);
    if (rc)
        return rc;
    rc = open_trial(&trial);
    if (!rc)
        rc = try_streams(context, &trial);
    close_trial(&trial);
    shmemi_cuda_leave(pushed);
    return rc;
}

int shmemi_cuda_make_ready(void)
{
    const CUstreamCaptureMode mode = shmemi_cuda_relax();
    const int rc = shmemi_cuda_contexts_visit(make_ready);
    shmemi_cuda_restore(mode);
    return rc;
}
