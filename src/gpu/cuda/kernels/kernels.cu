/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library's device kernels: one fat binary, embedded in the library (kernel_image.c) and loaded by kernel_load.c. Each kind of
 * kernel has a file of its own.
 */
#include "gpu/device/kernels/kernel_arguments.h"
#include "gpu/half_floats.h"

#include "gpu/cuda/kernels/end.cuh"
#include "gpu/cuda/kernels/list.cuh"
#include "gpu/cuda/kernels/stream.cuh"
#include "gpu/cuda/kernels/rows.cuh"
#include "gpu/cuda/kernels/combine.cuh"
#include "gpu/cuda/kernels/meet.cuh"
