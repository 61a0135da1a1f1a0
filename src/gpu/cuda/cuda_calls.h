/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA's driver as the table of calls that src/gpu/device works with (gpu/device/gpu_calls.h), and what the files of the
 * CUDA kind of memory share. Private to these files.
 */
#ifndef SHMEMI_CUDA_CALLS_H
#define SHMEMI_CUDA_CALLS_H

#include "gpu/cuda/libcuda.h"
#include "gpu/device/gpu_context.h"

/* The library's kernels: a fat binary; of length 0 in a build without nvcc. */
extern const unsigned char shmemi_kernels_image[];
extern const size_t shmemi_kernels_image_size;

/* Fill in the table; libcuda has been loaded. */
void shmemi_cuda_calls_fill(void);
/* The function of libcuda behind the name of the table's with which the call begins; *rest_p: what follows it. */
const char *shmemi_cuda_call_name(const char *call, const char **rest_p);

/* gpu/cuda/cuda_rows.c: copy_shape of the table */
int shmemi_cuda_copy_shape(const struct shmemi_place *dest, const struct shmemi_place *source,
                           const struct shmemi_shape *shape, void *stream);

/* gpu/cuda/mps.c: several processes on one GPU. prepare is called before anything starts CUDA. */
void shmemi_cuda_mps_prepare(void);
bool shmemi_cuda_uses_mps(int device);

/* gpu/cuda/ipc/ipc.c */
extern const struct shmemi_sharing shmemi_cuda_sharing;
void shmemi_cuda_ipc_close(void);

#endif
