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
 * synchronisation, and shmem_quiet or shmem_barrier_all). So must synchronous calls that write memory of pools or of
 * cuMemCreate: CUDA lets cudaMemset, and cudaMemcpy from pageable memory, return before the data is there.
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

/* Name of the route that a put to addr on pe takes ("shm", "cma", "ucx", "cuda-ipc", "cuda-shadow", "gdr", "staged",
 * "naive", "local"), or NULL when addr is not symmetric. */
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

/* ---- Operations on CUDA streams and OpenCL queues -------------------------------------------------------------------
 *
 * shmemx_NAME_on_stream enqueues an operation in a CUDA stream and returns; shmemx_NAME_on_queue does so in an OpenCL
 * command queue. The operation begins when all that is before it in the stream is complete, and what is enqueued later
 * begins when the operation has come so far:
 *
 *   putmem             the source may be used again
 *   getmem             the data are in dest
 *   putmem_signal      as putmem; the signal is updated after the data have been delivered
 *   signal_op          like putmem_signal without data: after the earlier puts of the stream to that PE
 *   signal_wait_until  the comparison holds; data that were put with that signal are there
 *   quiet              all earlier putmem, putmem_signal and signal_op of the stream have been delivered
 *   sync_all           all PEs have come to their sync_all or barrier_all
 *   barrier_all        quiet, then sync_all
 *
 * On the routes "local", "cuda-ipc" and "shm" (of memory that is page-locked, as the symmetric heap is) the GPU does
 * all of it: no thread of the CPU waits or takes part, and putmem goes on when the data have been delivered. Elsewhere
 * the stream waits while a thread of the library does the operation; so it does for SHMEM_SIGNAL_ADD, for host memory
 * that is not page-locked, and in all OpenCL queues. Host memory that is not symmetric should come
 * from cudaMallocHost or the like.
 *
 * In CUDA streams of a priority above the default, a kernel of the library does putmem_signal of up to 32 KiB between
 * GPUs: behind a kernel of the program the data are there 4 to 6 us sooner. In other streams the copy engine does, which
 * runs beside kernels and needs no room among them. SHMEM_STREAM_PUT=kernel or =engine decides for all streams.
 *
 * Such operations belong to their stream, to no context: shmem_quiet and shmem_barrier_all do not complete them, and
 * synchronising the stream does, except for delivery, which is quiet's. The other way round, they complete nothing that
 * was issued outside of the stream. PE numbers are those of SHMEM_TEAM_WORLD. shmem_finalize and shmumap wait until all
 * that was enqueued is complete.
 *
 * Every PE must enqueue its sync_all and barrier_all in the same order. They take place in this order one after the
 * other, in whichever streams.
 *
 * GT, GE, LT and LE compare as the GPU does: the sign of the difference decides, so values must be less than 2^63 apart.
 * Updates of a signal in mapped GPU memory by a stream (SHMEM_SIGNAL_SET) and by other means are not atomic with each
 * other when they take place at the same time.
 *
 * Errors end the job. Any thread may call. Streams of any context; into a stream that is being captured into a graph,
 * what the GPU does alone can be enqueued, except sync_all and barrier_all; the rest ends the job. What waits holds up
 * what shares one of the device's queues with the stream: programs with more than a few streams that wait set
 * CUDA_DEVICE_MAX_CONNECTIONS (8; at most 32), which makes the start slower.
 *
 *     for (int i = 1; i <= n; i++) {     // halos of a grid, cut into slices: no barrier, and the CPU waits nowhere
 *         step<<<grid, block, 0, stream>>>(u, halo_above[i % 2], halo_below[i % 2]);
 *         int half = (i + 1) % 2;
 *         shmemx_putmem_signal_on_stream(halo_below[half], first_row, nbytes, &from_below, i,
 *                                         SHMEM_SIGNAL_SET, above, stream);
 *         shmemx_putmem_signal_on_stream(halo_above[half], last_row, nbytes, &from_above, i,
 *                                         SHMEM_SIGNAL_SET, below, stream);
 *         shmemx_signal_wait_until_on_stream(&from_above, SHMEM_CMP_GE, i, stream);
 *         shmemx_signal_wait_until_on_stream(&from_below, SHMEM_CMP_GE, i, stream);
 *     }
 *     cudaStreamSynchronize(stream);
 *
 * (Halos come in two halves: a neighbour is at most one step ahead, since it waits for this PE's rows as well.)
 *
 * Source: NVSHMEM's *_on_stream; Intel SHMEM's *_on_queue. */

/* What cudaStream_t and CUstream, cl_command_queue and cl_event are. */
typedef struct CUstream_st *shmemx_stream_t;
typedef struct _cl_command_queue *shmemx_queue_t;
typedef struct _cl_event *shmemx_event_t;

void shmemx_putmem_on_stream(void *dest, const void *source, size_t nbytes, int pe, shmemx_stream_t stream);
void shmemx_getmem_on_stream(void *dest, const void *source, size_t nbytes, int pe, shmemx_stream_t stream);
void shmemx_putmem_signal_on_stream(void *dest, const void *source, size_t nbytes, uint64_t *sig_addr, uint64_t signal,
                                    int sig_op, int pe, shmemx_stream_t stream);
void shmemx_signal_op_on_stream(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, shmemx_stream_t stream);
void shmemx_signal_wait_until_on_stream(uint64_t *sig_addr, int cmp, uint64_t cmp_value, shmemx_stream_t stream);
void shmemx_quiet_on_stream(shmemx_stream_t stream);
void shmemx_sync_all_on_stream(shmemx_stream_t stream);
void shmemx_barrier_all_on_stream(shmemx_stream_t stream);

/* The same on a queue: after the n_events events of the list, which may be NULL when there are none. *event, unless
 * event is NULL, is the caller's to release, and complete when a stream would go on. In a queue that works out of order,
 * only what waits for that event comes after the operation. When an event of the list has failed, the operation is not
 * done, and its event fails. */
void shmemx_putmem_on_queue(void *dest, const void *source, size_t nbytes, int pe, shmemx_queue_t queue,
                            unsigned n_events, const shmemx_event_t *events, shmemx_event_t *event);
void shmemx_getmem_on_queue(void *dest, const void *source, size_t nbytes, int pe, shmemx_queue_t queue,
                            unsigned n_events, const shmemx_event_t *events, shmemx_event_t *event);
void shmemx_putmem_signal_on_queue(void *dest, const void *source, size_t nbytes, uint64_t *sig_addr, uint64_t signal,
                                   int sig_op, int pe, shmemx_queue_t queue, unsigned n_events,
                                   const shmemx_event_t *events, shmemx_event_t *event);
void shmemx_signal_op_on_queue(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, shmemx_queue_t queue,
                               unsigned n_events, const shmemx_event_t *events, shmemx_event_t *event);
void shmemx_signal_wait_until_on_queue(uint64_t *sig_addr, int cmp, uint64_t cmp_value, shmemx_queue_t queue,
                                       unsigned n_events, const shmemx_event_t *events, shmemx_event_t *event);
void shmemx_quiet_on_queue(shmemx_queue_t queue, unsigned n_events, const shmemx_event_t *events,
                           shmemx_event_t *event);
void shmemx_sync_all_on_queue(shmemx_queue_t queue, unsigned n_events, const shmemx_event_t *events,
                              shmemx_event_t *event);
void shmemx_barrier_all_on_queue(shmemx_queue_t queue, unsigned n_events, const shmemx_event_t *events,
                                 shmemx_event_t *event);

#ifdef __cplusplus
}
#endif

#include "shmemx_deep.h"

#endif
