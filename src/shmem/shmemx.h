/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Extensions of MapSHMEM: symmetric memory on GPUs, and operations on CUDA streams and OpenCL queues. Includes the deep
 * copies of shmemx_deep.h. Unless a routine says otherwise, any thread may call it between initialisation and
 * finalisation.
 *
 * Source: Potluri et al., "Extending OpenSHMEM for GPU Computing" (shmmap, shmumap, OSHM_MEMTYPE_*).
 */
#ifndef SHMEMX_H
#define SHMEMX_H

#include "shmem.h" /* that of this folder: Open MPI has one, too */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Start without a launcher ----------------------------------------------------------------------------------------
 *
 * The processes of a program that was started by other means (MPI, a shell, a scheduler, a notebook) become the PEs of a
 * job. One of them asks for a unique id; the program takes its 128 bytes to all others by whatever it has (MPI_Bcast, a
 * file, a TCP store); each calls shmemx_init_attr:
 *
 *     shmemx_uniqueid_t id;
 *     shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
 *     if (rank == 0)
 *         shmemx_get_uniqueid(&id);
 *     MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
 *     attr.pe = rank;
 *     attr.n_pes = size;
 *     attr.uniqueid = &id;
 *     shmemx_init_attr(&attr, NULL);
 *
 * shmem_init needs none of this: it asks the launcher (oshrun, mpirun, srun), and under torchrun it starts by RANK,
 * WORLD_SIZE, MASTER_ADDR and MASTER_PORT. */

/* Where the PEs of a job meet: addresses, a port, and the key that lets them in. The bytes are for sending only. They are a
 * secret: whoever has them can become a PE. */
typedef struct {
    unsigned char bytes[128];
} shmemx_uniqueid_t;

/* Make a unique id, which serves one start; each call makes another. A thread of this process waits for the PEs, over TCP
 * at the addresses of this machine (SHMEM_RENDEZVOUS_INTERFACE: at those of one interface only), until all have come. The
 * process need not be a PE, but must live until all PEs have finalised: when it ends earlier, so does the job.
 *
 * Before initialisation, or at any other time; any thread. Returns 0, or logs the cause and returns a negative errno value:
 * -EINVAL for NULL, -EADDRNOTAVAIL if there is no such interface, or what the system says. */
int shmemx_get_uniqueid(shmemx_uniqueid_t *id);

/* How to start. Begin with SHMEMX_INIT_ATTR_INITIALIZER: a later release may add members, which it sets. */
typedef struct {
    size_t size;                       /* sizeof(shmemx_init_attr_t) */
    int thread_level;                  /* SHMEM_THREAD_*, as for shmem_init_thread */
    int pe, n_pes;                     /* the number of this PE, from 0, and of all; 0 and 0 without a unique id */
    const shmemx_uniqueid_t *uniqueid; /* NULL: start as shmem_init_thread does */
} shmemx_init_attr_t;

#define SHMEMX_INIT_ATTR_INITIALIZER                                                                                   \
    {                                                                                                                  \
        sizeof(shmemx_init_attr_t), SHMEM_THREAD_SINGLE, 0, 0, NULL                                                    \
    }

/* As shmem_init_thread, by the unique id of attr; a launcher and SHMEM_BOOTSTRAP do not matter then. Collective: n_pes PEs
 * call it within SHMEM_TIMEOUT seconds, each with another pe. *provided is the thread level; provided may be NULL. It counts
 * as an initialisation, which one shmem_finalize undoes. Meant for up to some hundreds of PEs.
 *
 * Returns 0; or logs the cause and returns -EINVAL with nothing done: attr is NULL or of another size, the thread level or a
 * number is out of range, the id is not one of this release, or the library is initialised already with other numbers.
 * Whatever goes wrong later ends the process with a line, and the job, as in shmem_init: a PE that does not come, two with
 * one number, different n_pes. Until shmem_finalize the job ends when a PE does, or the process that made the id. */
int shmemx_init_attr(const shmemx_init_attr_t *attr, int *provided);

/* Types of memory that can be mapped. */
#define OSHM_MEMTYPE_CUDA 1   /* obj is a CUDA device pointer; it may point into the middle of an allocation */
#define OSHM_MEMTYPE_OPENCL 2 /* obj is the address of a cl_mem buffer: cl_mem * */

/* Map size bytes of a GPU buffer into the symmetric address range.
 *
 * Collective over all PEs: each passes its own buffer, and all pass the same size and type. The result is a symmetric
 * address for every communication routine; no CPU instruction may read or write it. The buffer remains the user's:
 * kernels and other libraries go on using its own pointer, and it must not be freed before shmumap. The program must
 * order kernels that write the source, or read the destination, of a transfer with that transfer (stream or queue
 * synchronisation, and shmem_quiet or shmem_barrier_all). The same holds for synchronous calls that write memory of
 * pools or of cuMemCreate: CUDA lets cudaMemset, and cudaMemcpy from pageable memory, return before the data is there.
 *
 * Returns NULL on every PE if any PE refuses; nothing is changed then, and shmemx_strerror gives the PE and the cause.
 * shmmap(NULL, 0, 0) refuses, without a line on stderr: for a PE that could not allocate what the others map.
 * Causes are: an unknown type, or one that this machine or build lacks; size 0; sizes or types that differ between PEs;
 * a pointer that is not GPU memory; a size past the end of the allocation; a range that is already mapped; a full
 * window. With SHMEM_GPU_STRICT=1 memory is also refused if other PEs of the node can reach it only slowly, for a
 * reason that can be remedied; otherwise that is a warning. oshinfo --routes prints which memory takes which route.
 * Implies a barrier. Only one thread of a PE may call shmmap and shmumap at a time. */
void *shmmap(void *obj, size_t size, int type);

/* Undo shmmap. Collective; implies a barrier on entry, which completes all transfers. NULL does nothing. */
void shmumap(void *ptr);

/* shmmap and shmumap under the standard's extension prefix. attr->type is the type above; attr->flags must be 0. */
typedef struct {
    int type;
    long flags;
} shmemx_map_attr_t;

void *shmemx_map(void *obj, size_t size, const shmemx_map_attr_t *attr);
void shmemx_unmap(void *ptr);

/* Text of the last refusal of shmmap on this PE; never NULL, but empty if there was none. */
const char *shmemx_strerror(void);

/* The last error that the library has reported in the calling thread: the line on stderr, without its end. For language
 * bindings, which put it into exceptions. Each line is returned once; the result is empty if there is no new one, and
 * valid until the thread's next error. Never NULL. Any thread, at any time. */
const char *shmemx_last_error(void);

/* Name of the route that a put to addr on pe takes ("shm", "cma", "ucx", "cuda-ipc", "shared", "cuda-shadow", "gdr", "staged",
 * "naive", "local"), or NULL if addr is not symmetric. */
const char *shmemx_route(const void *addr, int pe);

/* Index of the device that this PE should use: the PEs of a machine, whatever nodes SHMEM_NODE_SIZE makes of them, are
 * spread over its devices, nearest first. For OSHM_MEMTYPE_CUDA it is a CUDA ordinal; for OSHM_MEMTYPE_OPENCL an index into the devices of all platforms in the
 * order in which OpenCL lists them, GPUs only if there are any. -1 if there is no device. */
int shmemx_my_device(int type);

/* May kernels of this PE wait for what other PEs do? 0 where several PEs use this PE's device in turns, as they do
 * without NVIDIA's MPS: a kernel that waits would keep the device until its turn ends, and the PE that it waits for could
 * not go on. 0 also for OpenCL, and where there is no such memory. shmmap finds it out, so call this after the first map.
 * Waits in streams (shmemx_signal_wait_until_on_stream) may be used everywhere; but on a device that is used in turns no
 * stream of another priority should wait for such a stream. */
int shmemx_kernels_may_wait(int type);

/* Prepare host memory that many transfers will use: it is page-locked for CUDA and registered with the network, so that
 * transfers between it and GPU memory, or other nodes, go at full speed. Meant for private memory (malloc, stack,
 * static data); symmetric heap memory is accepted but does not need it. Preparing takes about as long as copying the
 * range a few times. Without it, transfers are correct but slower. The same holds if the system refuses to lock a part
 * of the range (a limit on locked memory), which is logged once. CUDA's part is done at once if the program has used
 * CUDA before, else by the first shmmap.
 *
 * Returns 0, or logs the cause and returns a negative errno value: -EINVAL for NULL, size 0, GPU memory and mapped
 * addresses; -EEXIST if the range overlaps a prepared one without being the same; -ENOMEM. The same range may be
 * prepared several times, and then needs as many releases. shmem_finalize releases what is left. shmemx_prepared tells
 * what of it succeeded.
 *
 * Local: no other PE takes part. The memory must stay allocated until it is released, and transfers from and to it must
 * be complete by then (shmem_quiet).
 *
 * Source: the prepare and release calls of SYCL (sycl_ext_oneapi_copy_optimize). */
int shmemx_prepare(void *ptr, size_t size);
/* Undo one shmemx_prepare of the range that begins at ptr. Returns 0, or -EINVAL if no such range is prepared. */
int shmemx_release(void *ptr);

/* What has become of size bytes at ptr, as a sum of these; 0 for memory that was never prepared. Local.
 *
 *   PREPARED     all of it lies in one prepared range
 *   LOCKED       it is page-locked for a GPU; this holds, too, if the program has done that itself
 *   REGISTERED   the network has registered the range; never in a job of one node, where no transfer between PEs needs
 *                it */
#define SHMEMX_MEMORY_PREPARED 1
#define SHMEMX_MEMORY_LOCKED 2
#define SHMEMX_MEMORY_REGISTERED 4
int shmemx_prepared(const void *ptr, size_t size);

/* ---- Boxes: parts of arrays of three dimensions ---------------------------------------------------------------------
 *
 * A box has layers, a layer has rows, a row is width contiguous bytes. The pitches are the bytes from the start of a row
 * to that of the next one, and from the start of a layer to that of the next one; so the arrays that dest and source lie
 * in may have different extents. A row pitch is at least width, a layer pitch at least rows * row pitch; pitches are
 * ignored where there is only one row or layer. dest and source point to the first byte of the box on their sides, in
 * any memory that shmem_putmem or shmem_getmem accepts there. If an extent is 0 nothing happens.
 *
 * A column of tiles of a grid [nz][ny][nx] of doubles with a border all around, one tile to the right:
 *
 *     shmemx_box_t face = {.width = sizeof(double), .rows = ny, .layers = nz,
 *                          .dest_row_pitch = row, .dest_layer_pitch = layer,       // row = (nx + 2) * sizeof(double)
 *                          .source_row_pitch = row, .source_layer_pitch = layer};  // layer = (ny + 2) * row
 *     shmemx_put_box_nbi(&grid[1][1][0], &grid[1][1][nx], &face, right);
 *
 * put_box returns when the source may be used again, get_box when the data have arrived; the nbi forms are complete
 * after shmem_quiet, as are those of shmem_putmem and shmem_getmem, and order is that of these. Errors end the job.
 *
 * Source: cuMemcpy3D and clEnqueueCopyBufferRect, made one-sided. */
typedef struct {
    size_t width, rows, layers;
    size_t dest_row_pitch, dest_layer_pitch;
    size_t source_row_pitch, source_layer_pitch;
} shmemx_box_t;

void shmemx_put_box(void *dest, const void *source, const shmemx_box_t *box, int pe);
void shmemx_get_box(void *dest, const void *source, const shmemx_box_t *box, int pe);
void shmemx_put_box_nbi(void *dest, const void *source, const shmemx_box_t *box, int pe);
void shmemx_get_box_nbi(void *dest, const void *source, const shmemx_box_t *box, int pe);
void shmemx_ctx_put_box(shmem_ctx_t ctx, void *dest, const void *source, const shmemx_box_t *box, int pe);
void shmemx_ctx_get_box(shmem_ctx_t ctx, void *dest, const void *source, const shmemx_box_t *box, int pe);
void shmemx_ctx_put_box_nbi(shmem_ctx_t ctx, void *dest, const void *source, const shmemx_box_t *box, int pe);
void shmemx_ctx_get_box_nbi(shmem_ctx_t ctx, void *dest, const void *source, const shmemx_box_t *box, int pe);

/* State of this PE's symmetric heap, in bytes. Local. */
typedef struct {
    size_t size;         /* of the whole heap */
    size_t used;         /* by allocations */
    size_t largest_free; /* the most that one allocation could get */
} shmemx_heap_info_t;

void shmemx_heap_info(shmemx_heap_info_t *info);

/* ---- Operations on CUDA streams and OpenCL queues -------------------------------------------------------------------
 *
 * shmemx_NAME_on_stream enqueues an operation in a CUDA stream and returns; shmemx_NAME_on_queue does so in an OpenCL
 * command queue. The operation begins when everything before it in the stream is complete. What is enqueued after it
 * begins when the operation has reached this point:
 *
 *   putmem             the source may be used again
 *   getmem             the data are in dest
 *   putmem_signal      as putmem; the signal is updated after the data have been delivered
 *   signal_op          as putmem_signal without data: it comes after the earlier puts of the stream to that PE
 *   signal_wait_until  the comparison holds; data that were put with that signal are there
 *   quiet              all earlier putmem, putmem_signal and signal_op of the stream have been delivered
 *   sync_all           all PEs have reached their sync_all or barrier_all
 *   barrier_all        quiet, then sync_all
 *
 * On the routes "local", "cuda-ipc", "shared" and "shm" (for page-locked memory, such as the symmetric heap) the GPU does
 * everything: no CPU thread waits or takes part, and putmem ends when the data have been delivered. On other
 * routes the stream waits while a thread of the library does the operation. The same applies to SHMEM_SIGNAL_ADD, to
 * host memory that is not page-locked, and to all OpenCL queues. But an OpenCL queue that works in order does not wait
 * for a putmem or putmem_signal of up to 256 KiB from a buffer of its context: it copies the source aside. Between
 * nodes a CUDA stream, unless it is a default stream, does the same with up to 32 KiB of GPU memory. Host memory that is
 * not symmetric should come from cudaMallocHost or the like.
 *
 * A kernel of the library does putmem_signal of up to 32 KiB between GPUs where a launch has a priority of its own and
 * overlaps with the kernel before it (compute capability 9, CUDA 12.3), and in CUDA streams whose priority is above the
 * default. There, a kernel also waits for words in GPU memory, in graphs and in the first 16 streams of a context. It
 * needs room on the GPU: a kernel of the program that fills the GPU until such a put or wait is over never ends. With
 * SHMEM_STREAM_PUT=engine copy engines and the driver do both, which need no room and take 2 to 4 us longer; =kernel
 * makes kernels do all such puts.
 *
 * Such operations belong to their stream, not to a context: shmem_quiet and shmem_barrier_all do not complete them.
 * Synchronising the stream does, except that delivery needs its quiet. In turn, they complete nothing that was issued
 * outside the stream, but what kernels have handed to the library (shmemx_device.h). PE numbers are those of
 * SHMEM_TEAM_WORLD. shmem_finalize and shmumap wait until everything enqueued is complete.
 *
 * Every PE must enqueue its sync_all and barrier_all in the same order. They take place one after the other in this
 * order, whichever streams they are in.
 *
 * GT, GE, LT and LE compare as the GPU does: the sign of the difference decides, so values must be less than 2^63
 * apart. If a stream (with SHMEM_SIGNAL_SET) and something else update a signal in mapped GPU memory at the same time,
 * these updates are not atomic with each other.
 *
 * Errors end the job. A stream may belong to any CUDA context. Into a stream that is being captured into a graph, only
 * operations that the GPU does alone can be enqueued; others end the job. mapshmem/streams.h says more. An
 * operation that waits blocks other streams that share a hardware queue of the device with it: programs with more than
 * a few waiting streams set CUDA_DEVICE_MAX_CONNECTIONS (default 8, at most 32), which slows the start. Under MPS the library
 * sets it, to 8 to 32 by how many processes share the GPU, unless the program has set it or has started CUDA before.
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
 * (There are two halves of each halo because a neighbour can be one step ahead; it cannot be further ahead, since it
 * waits for this PE's rows as well.)
 *
 * Source: NVSHMEM's *_on_stream; Intel SHMEM's *_on_queue. */

/* A cudaStream_t or CUstream, a cl_command_queue, and a cl_event. */
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

/* The operations above on a queue. Each begins after the n_events events of the list, which may be NULL if n_events is 0.
 * Unless event is NULL, *event is complete when a stream would go on; the caller releases it. In an out-of-order queue
 * only commands that wait for that event come after the operation. If an event of the list has failed, the operation is
 * not done, and its own event fails. */
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

#include <mapshmem/streams.h>

#ifdef __cplusplus
}
#endif

#include "shmemx_deep.h"
#include <mapshmem/stream_collectives.h>
#include <mapshmem/half.h>

#endif
