/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Extensions of MapSHMEM: symmetric memory that the user allocated on a GPU.
 *
 * Source: Potluri et al., "Extending OpenSHMEM for GPU Computing" (shmmap, shmumap, OSHM_MEMTYPE_*).
 */
#ifndef SHMEMX_H
#define SHMEMX_H

#include <shmem.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types of memory that can be mapped. */
#define OSHM_MEMTYPE_CUDA 1   /* obj is a CUDA device pointer; it may point into the middle of an allocation */
#define OSHM_MEMTYPE_OPENCL 2 /* obj is the address of a cl_mem buffer: cl_mem *                              */

/* Map size bytes of a GPU buffer into the symmetric address range.
 *
 * Collective over all PEs: each passes its own buffer, the same size and the same type. The result is a symmetric
 * address for every communication routine; no CPU instruction may read or write it. The buffer stays the user's: its
 * own pointer is valid for kernels and other libraries, and it must not be freed before shmumap. Kernels that write
 * the source, or read the destination, of a transfer must be ordered with it by the program (stream or queue
 * synchronisation, and shmem_quiet or shmem_barrier_all).
 *
 * Returns NULL on every PE when any PE refuses; nothing is changed then, and shmemx_strerror tells the PE and cause.
 * Refused are: an unknown type, one that this machine or build lacks, size 0, sizes or types that differ between PEs,
 * a pointer that is not GPU memory, a size past the end of the allocation, a range that is already mapped, a full
 * window; with SHMEM_GPU_STRICT=1 also memory that other PEs of the node reach slowly for a reason that could be mended.
 * Without it, that is a warning. oshinfo --routes prints which memory takes which route.
 * Implies a barrier. One thread at a time. */
void *shmmap(void *obj, size_t size, int type);

/* Undo shmmap. Collective; implies a barrier on entry, which completes all transfers. NULL does nothing. */
void shmumap(void *ptr);

/* The same under the standard's extension prefix. attr->type as above; flags must be 0. */
typedef struct {
    int type;
    long flags;
} shmemx_map_attr_t;

void *shmemx_map(void *obj, size_t size, const shmemx_map_attr_t *attr);
void shmemx_unmap(void *ptr);

/* Text of the last refusal of shmmap on this PE; never NULL, empty when there was none. */
const char *shmemx_strerror(void);

/* Name of the route that a put to addr on pe takes ("shm", "cma", "ucx", "cuda-ipc", "cuda-shadow", "staged", "naive",
 * "local"), or NULL when addr is not symmetric. */
const char *shmemx_route(const void *addr, int pe);

/* Index of the device that this PE should use: the PEs of a node are spread over its devices, nearest first. For
 * OSHM_MEMTYPE_CUDA it is a CUDA ordinal; for OSHM_MEMTYPE_OPENCL an index into the devices of all platforms in the
 * order in which OpenCL lists them, GPUs only if there are any. -1 when there is none. */
int shmemx_my_device(int type);

/* Prepare host memory for fast transfers, for as long as it is used for many: it is page-locked for CUDA and registered
 * with the network, so that transfers between it and GPU memory, or other nodes, go at full speed. For private memory
 * (malloc, stack, static data); symmetric heap memory is accepted and needs it not. It takes about as long as copying the
 * range a few times. Transfers are right without it, and when the system refuses a part of it (a limit of locked
 * memory): a line says so once, and they are only slower. CUDA's part is done at once if the program has used CUDA
 * before, else by the first shmmap.
 *
 * Returns 0, or a negative errno value after a line that names the cause: -EINVAL for NULL, size 0, GPU memory and
 * mapped addresses; -EEXIST if it overlaps, and is not the same as, a range that is prepared; -ENOMEM. The same range
 * may be prepared several times, and then needs as many releases. What is left at shmem_finalize is released there.
 *
 * Local: no other PE takes part. Any thread at any time between initialisation and finalisation. The memory must stay
 * allocated until it is released, and transfers from and to it must be complete by then (shmem_quiet).
 *
 * Source: the prepare and release calls of SYCL (sycl_ext_oneapi_copy_optimize). */
int shmemx_prepare(void *ptr, size_t size);
/* Undo one shmemx_prepare of the range that begins at ptr. 0, or -EINVAL if there is none. */
int shmemx_release(void *ptr);

/* State of this PE's symmetric heap, in bytes. Local; any thread. */
typedef struct {
    size_t size;         /* of the heap               */
    size_t used;         /* in allocations            */
    size_t largest_free; /* that one call could get   */
} shmemx_heap_info_t;

void shmemx_heap_info(shmemx_heap_info_t *info);

#ifdef __cplusplus
}
#endif

#endif
