/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations in streams of the program. Private to the files of the CUDA kind of memory.
 */
#ifndef SHMEMI_CUDA_STREAM_H
#define SHMEMI_CUDA_STREAM_H

#include "gpu/cuda/context.h"

extern const struct shmemi_streams shmemi_cuda_streams;

/* Nothing may be under way, and host memory is not page-locked any more. */
void shmemi_cuda_streams_close(void);

#endif
