/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The functions of the CUDA driver that the library looks up, all refusing; driver.c has those that do something.
 */
#include "gpu/cuda/libcuda.h"

#pragma GCC diagnostic ignored "-Wattribute-alias"

CUresult fake_unsupported(void);
CUresult fake_unsupported(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

#define STUB(_name, ...) extern __typeof__(_name) _name __attribute__((weak, alias("fake_unsupported")));
SHMEMI_CUDA_FUNCTIONS(STUB, STUB)
