/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel in CUDA. Compile with --fmad=false: the check compares bit for bit.
 */
#define KERNEL extern "C" __global__
#define GLOBAL
#define CELL ((long)blockIdx.x * blockDim.x + threadIdx.x)
#include "kernel.h"
