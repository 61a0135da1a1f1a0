/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device kernels, for all architectures: a fat binary made by nvcc.
 */
#include "gpu/cuda/cuda_calls.h"

_Alignas(64) const unsigned char shmemi_kernels_image[] = {
#include "gpu/cuda/kernels/kernels.fatbin.inc"
};
const size_t shmemi_kernels_image_size = sizeof shmemi_kernels_image;
