/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels, as the device layer takes them. Without nvcc there is no fat binary, and no device that takes one.
 */
#include "bfs.h"

static const _Alignas(64) unsigned char fatbin[] = {
#include "bfs.fatbin.inc"
};

static const char opencl[] = {
#include "bfs.cl.inc"
    0};

const struct kernel_code search_kernels = {.fatbin = fatbin, .opencl = opencl};
