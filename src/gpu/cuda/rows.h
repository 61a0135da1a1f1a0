/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided copies by a kernel. Private to the files of the CUDA kind of memory.
 *
 * -ENOTSUP, with nothing done, when the memory is not of one context, when rows of dest overlap, or when there are no
 * kernels or no way to see the end of one: the driver copies then. The context is current.
 */
#ifndef SHMEMI_CUDA_ROWS_H
#define SHMEMI_CUDA_ROWS_H

#include "gpu/cuda/context.h"

/* Is the kernel quicker than the driver's 2-D copy? */
bool shmemi_cuda_rows_pay(const struct shmemi_shape *shape);

int shmemi_cuda_rows_enqueue(const struct shmemi_place *dest, const struct shmemi_place *source,
                             const struct shmemi_shape *shape, CUstream stream);
/* On this thread's stream; complete on return. */
int shmemi_cuda_rows_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                          const struct shmemi_shape *shape);

#endif
