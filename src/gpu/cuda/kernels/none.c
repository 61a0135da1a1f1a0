/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A build without nvcc has no device kernels.
 */
#include "gpu/cuda/kernels/load.h"

const unsigned char shmemi_kernels_image[] = {0};
const size_t shmemi_kernels_image_size = 0;
