/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The library's device kernels; one fat binary, embedded in the library (cuda_kernels.c). Each kind of kernel is a file
 * of its own.
 */
#include "gpu/kernel_arguments.h"

#include "gpu/kernels_end.cuh"
#include "gpu/kernels_list.cuh"
#include "gpu/kernels_stream.cuh"
#include "gpu/kernels_rows.cuh"
#include "gpu/kernels_combine.cuh"
