/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the programs of doc/porting.md use of a GPU. It is not taken from support/, because a reader copies a program and
 * its headers and compiles them with oshcc or mpicc alone: the same few names over the CUDA runtime, when nvcc compiles,
 * and over OpenCL otherwise. Each is one or two calls of either, so that the programs look like a user's own.
 *
 *   KERNELS(...)                  the kernels of a program, each beginning with KERNEL; pointers to device memory are
 *                                 GLOBAL, INDEX is the number of the work-item
 *   DEVICE(type)                  a pointer to device memory, or a cl_mem
 *   LAUNCH(kernel, n, ...)        n work-items, in the order of the stream or queue; arguments as ARGUMENT(variable)
 *   gpu_open(index)               ends the program with status 77 where there is no device
 *   gpu_alloc, gpu_free, gpu_wait
 *   gpu_in, gpu_out               rows of host memory, packed, to and from a block of device memory; on return they are
 *                                 there
 *   MAP(buffer, bytes)            shmmap of it, of the type MAP_TYPE; this and what follows need shmemx.h
 *   PUT_SIGNAL_IN_ORDER(...)      shmemx_putmem_signal_on_stream or _on_queue
 *   WAIT_IN_ORDER(...)            shmemx_signal_wait_until_on_stream or _on_queue
 */
#ifndef PORTING_GPU_H
#define PORTING_GPU_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* height rows of width bytes, pitch bytes apart, from offset on */
struct block {
    size_t offset, pitch, width, height;
};

static inline struct block gpu_row(size_t offset, size_t bytes)
{
    struct block row = { offset, bytes, bytes, 1 };

    return row;
}

static inline void gpu_check(int rc, const char *call)
{
    if (rc == 0)
        return;
    fprintf(stderr, "%s: error %d\n", call, rc);
    exit(EXIT_FAILURE);
}

#define GPU_CALL(call) gpu_check((int)(call), #call)

#ifdef __CUDACC__
#include "gpu_cuda.h"
#else
#include "gpu_opencl.h"
#endif

#endif
