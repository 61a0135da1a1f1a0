/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads the library's device kernels into a context, and launches them.
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

static void warn_once(const struct shmemi_gpu_context *context, int result)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&warned))
        shmemi_warn("the library's kernels cannot be loaded on %s device %d: %s; small transfers, atomics and "
                    "reductions on GPU memory are slower",
                    shmemi_gpu.memory->title, context->device, shmemi_gpu.error_text(result));
}

/* With the context current and its lock held. */
static int load(struct shmemi_gpu_context *context)
{
    if (context->kernels.is_tried)
        return context->kernels.module ? 0 : -ENOTSUP;
    context->kernels.is_tried = true;
    if (!shmemi_gpu.kernels)
        return -ENOTSUP;
    int result = shmemi_gpu.module_load(&context->kernels.module, shmemi_gpu.kernels);
    if (!result)
        return 0;
    context->kernels.module = NULL;
    warn_once(context, result);
    return -ENOTSUP;
}

static int look_up(struct shmemi_gpu_context *context, enum shmemi_kernel kernel, void **function_p)
{
    void *function;
    pthread_mutex_lock(&context->lock);
    int rc = load(context);
    if (!rc)
        rc = GPU_CALL(module_function, &function, context->kernels.module, names[kernel]);
    if (!rc) {
        atomic_store_explicit(&context->kernels.function[kernel], function, memory_order_release);
        *function_p = function;
    }
    pthread_mutex_unlock(&context->lock);
    return rc;
}

int shmemi_gpu_kernel(struct shmemi_gpu_context *context, enum shmemi_kernel kernel, void **function_p)
{
    void *function = atomic_load_explicit(&context->kernels.function[kernel], memory_order_acquire);
    if (!function)
        return look_up(context, kernel, function_p);
    *function_p = function;
    return 0;
}

void shmemi_gpu_kernels_load(struct shmemi_gpu_context *context)
{
    void *function;
    for (int kernel = 0; kernel < SHMEMI_KERNELS; kernel++) {
        if (shmemi_gpu_kernel(context, (enum shmemi_kernel)kernel, &function))
            return;
        int result = shmemi_gpu.function_load ? shmemi_gpu.function_load(function) : 0;
        if (result)
            shmemi_debug("kernel %s: %s", names[kernel], shmemi_gpu.error_text(result));
    }
}

bool shmemi_gpu_has_kernels(struct shmemi_gpu_context *context)
{
    bool pushed;
    if (!shmemi_gpu.kernels || shmemi_gpu_enter(context, &pushed))
        return false;
    pthread_mutex_lock(&context->lock);
    int rc = load(context);
    pthread_mutex_unlock(&context->lock);
    shmemi_gpu_leave(pushed);
    return !rc;
}

int shmemi_gpu_launch(struct shmemi_gpu_context *context, enum shmemi_kernel kernel, unsigned blocks, unsigned threads,
                      void *stream, void **arguments)
{
    void *function;
    int rc = shmemi_gpu_kernel(context, kernel, &function);
    return rc ? rc : GPU_CALL(launch, function, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, NULL);
}

int shmemi_gpu_launch_early(struct shmemi_gpu_context *context, enum shmemi_kernel kernel, unsigned blocks,
                            unsigned threads, void *stream, void **arguments)
{
    void *function;
    if (!context->streams.overlaps_launches)
        return shmemi_gpu_launch(context, kernel, blocks, threads, stream, arguments);
    int rc = shmemi_gpu_kernel(context, kernel, &function);
    return rc ? rc
              : GPU_CALL(launch_early, function, blocks, threads, context->streams.highest_priority, stream, arguments);
}
