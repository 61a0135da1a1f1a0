/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel in OpenCL; kernel.h follows.
 */
#pragma OPENCL FP_CONTRACT OFF
#define KERNEL __kernel
#define GLOBAL __global
#define CELL ((long)get_global_id(0))

