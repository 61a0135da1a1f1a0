/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads the library's device kernels into a CUDA context, and launches them.
 */
#include "gpu/device/kernels/kernel_load.h"

#include "base/log.h"
#include "gpu/device/gpu_context.h"

#include <errno.h>

static const char *const names[SHMEMI_KERNELS] = {
#define KERNEL(name) "shmemi_kernel_" #name,
    SHMEMI_FOR_KERNELS(KERNEL)
#undef KERNEL
};

static void warn_once(const struct shmemi_cuda_context *context, CUresult result)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&warned))
        shmemi_warn("the library's kernels cannot be loaded on CUDA device %d: %s; small transfers, atomics and "
                    "reductions on GPU memory are slower",
                    context->device, shmemi_cuda_error_text(result));
}

/* With the context current and its lock held. */
static int load(struct shmemi_cuda_context *context)
{
    if (context->kernels.is_tried)
        return context->kernels.module ? 0 : -ENOTSUP;
    context->kernels.is_tried = true;
    if (!shmemi_kernels_image_size)
        return -ENOTSUP;
    CUresult result = shmemi_cuda.cuModuleLoadData(&context->kernels.module, shmemi_kernels_image);
    if (result == CUDA_SUCCESS)
        return 0;
    context->kernels.module = NULL;
    warn_once(context, result);
    return -ENOTSUP;
}

static int look_up(struct shmemi_cuda_context *context, enum shmemi_kernel kernel, CUfunction *function_p)
{
    CUfunction function;
    pthread_mutex_lock(&context->lock);
    int rc = load(context);
    if (!rc)
        rc = CUDA_CALL(cuModuleGetFunction, &function, context->kernels.module, names[kernel]);
    if (!rc) {
        atomic_store_explicit(&context->kernels.function[kernel], function, memory_order_release);
        *function_p = function;
    }
    pthread_mutex_unlock(&context->lock);
    return rc;
}

int shmemi_cuda_kernel(struct shmemi_cuda_context *context, enum shmemi_kernel kernel, CUfunction *function_p)
{
    CUfunction function = atomic_load_explicit(&context->kernels.function[kernel], memory_order_acquire);
    if (!function)
        return look_up(context, kernel, function_p);
    *function_p = function;
    return 0;
}

void shmemi_cuda_kernels_load(struct shmemi_cuda_context *context)
{
    CUfunction function;
    for (int kernel = 0; kernel < SHMEMI_KERNELS; kernel++) {
        if (shmemi_cuda_kernel(context, (enum shmemi_kernel)kernel, &function))
            return;
        CUresult result = shmemi_cuda_load_function ? shmemi_cuda_load_function(function) : CUDA_SUCCESS;
        if (result != CUDA_SUCCESS)
            shmemi_debug("cuFuncLoad(%s): %s", names[kernel], shmemi_cuda_error_text(result));
    }
}

bool shmemi_cuda_has_kernels(struct shmemi_cuda_context *context)
{
    bool pushed;
    if (!shmemi_kernels_image_size || shmemi_cuda_enter(context, &pushed))
        return false;
    pthread_mutex_lock(&context->lock);
    int rc = load(context);
    pthread_mutex_unlock(&context->lock);
    shmemi_cuda_leave(pushed);
    return !rc;
}

int shmemi_cuda_launch(CUfunction function, unsigned blocks, unsigned threads, CUstream stream, void **arguments)
{
    return CUDA_CALL(cuLaunchKernel, function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL);
}

int shmemi_cuda_launch_early(const struct shmemi_cuda_context *context, CUfunction function, unsigned blocks,
                             unsigned threads, CUstream stream, void **arguments)
{
    CUlaunchAttribute attributes[] = {
        {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value = {.priority = context->streams.highest_priority}},
        {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
         .value = {.programmaticStreamSerializationAllowed = 1}},
    };
    const CUlaunchConfig config = {
        .gridDimX = blocks,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = threads,
        .blockDimY = 1,
        .blockDimZ = 1,
        .hStream = stream,
        .attrs = attributes,
        .numAttrs = sizeof attributes / sizeof attributes[0],
    };
    if (!context->streams.overlaps_launches)
        return shmemi_cuda_launch(function, blocks, threads, stream, arguments);
    return shmemi_cuda_check(shmemi_cuda_launch_kernel_ex(&config, function, arguments, NULL), "cuLaunchKernelEx");
}
