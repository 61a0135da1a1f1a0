/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library's device kernels in a CUDA context. Private to the files of the CUDA kind of memory.
 */
#ifndef SHMEMI_CUDA_KERNELS_H
#define SHMEMI_CUDA_KERNELS_H

#include "gpu/cuda/libcuda.h"
#include "gpu/device/kernels/kernel_arguments.h"

struct shmemi_cuda_context;

enum shmemi_kernel {
#define KERNEL(name) SHMEMI_KERNEL_##name,
    SHMEMI_FOR_KERNELS(KERNEL)
#undef KERNEL
        SHMEMI_KERNELS
};

/* The fat binary; of length 0 in a build without nvcc. */
extern const unsigned char shmemi_kernels_image[];
extern const size_t shmemi_kernels_image_size;

/* A kernel, loaded into the context, which is current, on first use. -ENOTSUP when this build has no kernels, or none
 * that this device can run (logged once as a warning): the caller does without. */
int shmemi_cuda_kernel(struct shmemi_cuda_context *context, enum shmemi_kernel kernel, CUfunction *function_p);

/* Load all of them into the current context, early: the driver may wait for every stream of the context when it loads a
 * kernel, and would wait for ever once a stream waits for what that kernel will do. */
void shmemi_cuda_kernels_load(struct shmemi_cuda_context *context);

/* Can kernels be used in this context? Loads them; the context need not be current. */
bool shmemi_cuda_has_kernels(struct shmemi_cuda_context *context);

/* Enqueue a kernel of a single dimension. arguments are pointers to its arguments, as cuLaunchKernel wants them. */
int shmemi_cuda_launch(CUfunction function, unsigned blocks, unsigned threads, CUstream stream, void **arguments);
/* The same for a kernel that begins with WAIT_FOR_STREAM: where the device can, its launch overlaps with the end of the
 * kernel before it, and its blocks come before those of other kernels that wait for room. */
int shmemi_cuda_launch_early(const struct shmemi_cuda_context *context, CUfunction function, unsigned blocks,
                             unsigned threads, CUstream stream, void **arguments);

#endif
