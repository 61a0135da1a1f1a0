/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels, as the device layer takes them. Without nvcc the fat binary is a single byte.
 */
#include "bfs.h"

static const _Alignas(64) unsigned char fatbin[] = {
#include "bfs.fatbin.inc"
};

static const char opencl[] = {
#include "bfs.cl.inc"
    0};

const struct kernel_code search_kernels = {.fatbin = sizeof(fatbin) > 1 ? fatbin : NULL, .opencl = opencl};
