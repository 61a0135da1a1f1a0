/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library's device kernels in a context.
 */
#ifndef SHMEMI_KERNEL_LOAD_H
#define SHMEMI_KERNEL_LOAD_H

#include "gpu/device/gpu_calls.h"
#include "gpu/device/kernels/kernel_arguments.h"

struct shmemi_gpu_context;

enum shmemi_kernel {
#define KERNEL(name) SHMEMI_KERNEL_##name,
    SHMEMI_FOR_KERNELS(KERNEL)
#undef KERNEL
        SHMEMI_KERNELS
};

/* A kernel, loaded into the context, which is current, on first use. -ENOTSUP when this build has no kernels, or none
 * that this device can run (logged once as a warning): the caller does without. */
int shmemi_gpu_kernel(struct shmemi_gpu_context *context, enum shmemi_kernel kernel, void **function_p);

/* Load all of them into the current context, early: the driver may wait for every stream of the context when it loads a
 * kernel, and would wait for ever once a stream waits for what that kernel will do. */
void shmemi_gpu_kernels_load(struct shmemi_gpu_context *context);

/* Can kernels be used in this context? Loads them; the context need not be current. */
bool shmemi_gpu_has_kernels(struct shmemi_gpu_context *context);

/* Enqueue a kernel of a single dimension in the context, which is current; -ENOTSUP when there is none. arguments are
 * pointers to its arguments, as the driver wants them. */
int shmemi_gpu_launch(struct shmemi_gpu_context *context, enum shmemi_kernel kernel, unsigned blocks, unsigned threads,
                      void *stream, void **arguments);
/* Enqueue a kernel that begins with WAIT_FOR_STREAM (stream.cuh): where the device can, its launch overlaps with the end
 * of the kernel before it, and its blocks come before those of other kernels that wait for room. */
int shmemi_gpu_launch_early(struct shmemi_gpu_context *context, enum shmemi_kernel kernel, unsigned blocks,
                            unsigned threads, void *stream, void **arguments);

#endif
