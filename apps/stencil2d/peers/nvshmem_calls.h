/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What stencil2d_nvshmem takes of NVSHMEM's host API, whose headers are C++. Errors end the process with a line.
 */
#ifndef STENCIL2D_NVSHMEM_CALLS_H
#define STENCIL2D_NVSHMEM_CALLS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The CUDA context of the device must be current. file (not there yet) carries the unique id from rank 0. */
void nv_start(int rank, int size, const char *file);
void nv_end(void);

/* Symmetric GPU memory, of zeros. Collective. */
void *nv_alloc(size_t bytes);
void nv_free(void *memory);

void nv_barrier(void);

/* stream is a CUstream. */
void nv_put_signal(void *dest, const void *source, size_t bytes, uint64_t *signal, uint64_t value, int rank,
                   void *stream);
void nv_wait(uint64_t *signal, uint64_t value, void *stream); /* until it is at least value */

/* The largest of all ranks' numbers. Collective. */
double nv_max(double number);

#ifdef __cplusplus
}
#endif

#endif
