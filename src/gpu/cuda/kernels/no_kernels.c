/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The image of the device kernels in a build without nvcc: there is none.
 */
#include "gpu/cuda/cuda_calls.h"

const unsigned char shmemi_kernels_image[] = {0};
const size_t shmemi_kernels_image_size = 0;
