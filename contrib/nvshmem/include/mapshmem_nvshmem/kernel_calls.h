/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NVSHMEM's names in kernels, over shmemx_device.h: inline, so that programs need no device library. Included by nvshmem.h.
 *
 * Names without an ending are for one thread, those with _warp and _block for all threads of a warp or block together, which
 * have met before they call. doc/kernels.md tells order and completion: where NVSHMEM's documentation promises less, a
 * program may not rely on more.
 *
 * A symmetric address in the heap of nvshmem_malloc costs a comparison more than a call of shmemx_device.h. One in a buffer
 * that the program has registered is looked for. For the calling PE itself any memory will do. Any other address ends the
 * kernel with a trap, and the next call of the host says why, or the end of the program.
 *
 * What kernels can't do is not declared for them: tiles, multicast (nvshmemx_mc_ptr), queue pairs (nvshmemx_qp_*),
 * global_exit, maxloc reductions, collective operations of a warpgroup.
 */
#ifndef MAPSHMEM_NVSHMEM_KERNEL_CALLS_H
#define MAPSHMEM_NVSHMEM_KERNEL_CALLS_H

#include <mapshmem_nvshmem/shared_calls.h>
#include <mapshmem_nvshmem/unit_state.h>

#include <shmemx_device.h>

/* Programs rely on it: NVSHMEM includes it, too. That of CUDA 13 refuses older standards. */
#if defined(CUDART_VERSION) && !defined(__CUDACC_RTC__) && (__cplusplus >= 201703L || CUDART_VERSION < 13000)
#include <cooperative_groups.h>
#endif

/* Names that only kernels have. Those of shared_calls.h are defined in the pass for the GPU, where NVSHMEMI_FOR_KERNELS is
 * set, and are plain inline functions: their declaration says the rest. NVSHMEMI_PLAYED is for tests, in which threads of the
 * CPU play a kernel. */
#if defined(NVSHMEMI_PLAYED)
#define NVSHMEMI_FOR_KERNELS 1
#define NVSHMEMI_KERNEL static inline
#define NVSHMEMI_KERNEL_SHARED inline
#else
#if defined(__CUDA_ARCH__)
#define NVSHMEMI_FOR_KERNELS 1
#endif
#define NVSHMEMI_KERNEL static __device__ __forceinline__
#define NVSHMEMI_KERNEL_SHARED __device__ __forceinline__
#endif

#include <mapshmem_nvshmem/kernel_objects.h>

#include <mapshmem_nvshmem/kernel_transfers.h>

#include <mapshmem_nvshmem/kernel_words.h>

#include <mapshmem_nvshmem/kernel_collectives.h>

#endif
