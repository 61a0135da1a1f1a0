/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives over teams on CUDA streams and OpenCL queues. Included by shmemx.h; not for direct use.
 *
 * Each routine is that of shmem.h with the same name and arguments, enqueued: shmem_int_sum_reduce becomes
 *
 *     int shmemx_int_sum_reduce_on_stream(shmem_team_t team, int *dest, const int *source, size_t nreduce,
 *                                         shmemx_stream_t stream);
 *     int shmemx_int_sum_reduce_on_queue(shmem_team_t team, int *dest, const int *source, size_t nreduce,
 *                                        shmemx_queue_t queue, unsigned n_events, const shmemx_event_t *events,
 *                                        shmemx_event_t *event);
 *
 * It begins when everything before it in the stream is complete. What is enqueued after it begins when dest is complete
 * on this PE and source may be changed. team_sync waits for the members, and completes nothing; team_barrier first
 * completes the puts and signals of the stream, as shmemx_quiet_on_stream does.
 *
 * All members enqueue the team's collectives in the same order, blocking ones of the same team apart: they take place
 * one after the other in this order, whichever streams they are in. Collectives of different teams do not wait for each
 * other. Threads may use different streams and teams at once; one thread at a time enqueues collectives of a team. Host
 * memory that takes part must not be freed before the stream has passed the operation. shmem_team_destroy waits until
 * the team's collectives in streams are complete on this PE, as do shmumap and shmem_finalize.
 *
 * All return 0: errors end the job. If an event of a queue's list has failed, the job ends, too, since the others would
 * wait for this PE.
 *
 * Where a team has 2 to 16 members in one node, dest and source are CUDA memory that all of them reach directly (routes
 * "local" and "cuda-ipc"), and kernels of all PEs may wait (shmemx_kernels_may_wait), the GPUs do everything: reductions and
 * scans of aligned arrays, and team_sync and team_barrier once such memory has been mapped. A collect whose members have
 * more than dest can hold ends with an error of the CUDA context (cudaErrorLaunchFailure), and a line. What waits for other members is a kernel of at most 32 blocks; two members exchange up to 512 KiB each by it
 * alone (the more members, and teams beside the first four, the less). Beyond that, a kernel of one block waits before
 * and after a kernel that copies or combines, of at most SHMEM_STREAM_BLOCKS blocks, or copy engines, for 16 MiB and
 * more. Blocks come before those of other kernels that wait for room, where launches can have a priority (CUDA 12.3,
 * compute capability 9). All of it can be captured into a graph and launched any number of times, but not beside other
 * collectives of the same team in streams. A stream of another CUDA context than that of the memory, of another GPU for
 * example, waits while a stream of the library there does all this: some microseconds more. All members must use streams.
 * Otherwise the stream waits for a thread of the library, and cannot be captured.
 *
 * Source: NVSHMEM's collectives with on_stream in their names. */
#ifndef SHMEMI_STREAM_COLLECTIVES_H
#define SHMEMI_STREAM_COLLECTIVES_H

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
#define SHMEMI_DECLARE_ON(NAME, ...)                                                                                   \
    int shmemx_##NAME##_on_stream(__VA_ARGS__, shmemx_stream_t stream);                                                \
    int shmemx_##NAME##_on_queue(__VA_ARGS__, shmemx_queue_t queue, unsigned n_events, const shmemx_event_t *events,   \
                                 shmemx_event_t *event);

SHMEMI_DECLARE_ON(team_sync, shmem_team_t team)
SHMEMI_DECLARE_ON(team_barrier, shmem_team_t team)

#define SHMEMI_DECLARE_COLLECTIVES_ON(broadcast, collect, fcollect, alltoall, alltoalls, ELEMENT)                      \
    SHMEMI_DECLARE_ON(broadcast, shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems, int PE_root)  \
    SHMEMI_DECLARE_ON(collect, shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems)                 \
    SHMEMI_DECLARE_ON(fcollect, shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems)                \
    SHMEMI_DECLARE_ON(alltoall, shmem_team_t team, ELEMENT *dest, const ELEMENT *source, size_t nelems)                \
    SHMEMI_DECLARE_ON(alltoalls, shmem_team_t team, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst,               \
                      ptrdiff_t sst, size_t nelems)
#define SHMEMI_DECLARE_TYPED_COLLECTIVES_ON(NAME, TYPE, ...)                                                           \
    SHMEMI_DECLARE_COLLECTIVES_ON(NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall,                  \
                                  NAME##_alltoalls, TYPE)
SHMEMI_FOR_RMA_TYPES(SHMEMI_DECLARE_TYPED_COLLECTIVES_ON, )
SHMEMI_DECLARE_COLLECTIVES_ON(broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem, void)

#define SHMEMI_DECLARE_REDUCE_ON(NAME, TYPE, OP)                                                                       \
    SHMEMI_DECLARE_ON(NAME##_##OP##_reduce, shmem_team_t team, TYPE *dest, const TYPE *source, size_t nreduce)
#define SHMEMI_DECLARE_SCAN_ON(NAME, TYPE, SCAN)                                                                       \
    SHMEMI_DECLARE_ON(NAME##_sum_##SCAN, shmem_team_t team, TYPE *dest, const TYPE *source, size_t nelems)
SHMEMI_FOR_BITS_TYPES(SHMEMI_DECLARE_REDUCE_ON, and)
SHMEMI_FOR_BITS_TYPES(SHMEMI_DECLARE_REDUCE_ON, or)
SHMEMI_FOR_BITS_TYPES(SHMEMI_DECLARE_REDUCE_ON, xor)
SHMEMI_FOR_ORDER_TYPES(SHMEMI_DECLARE_REDUCE_ON, max)
SHMEMI_FOR_ORDER_TYPES(SHMEMI_DECLARE_REDUCE_ON, min)
SHMEMI_FOR_ARITHMETIC_TYPES(SHMEMI_DECLARE_REDUCE_ON, sum)
SHMEMI_FOR_ARITHMETIC_TYPES(SHMEMI_DECLARE_REDUCE_ON, prod)
SHMEMI_FOR_ARITHMETIC_TYPES(SHMEMI_DECLARE_SCAN_ON, inscan)
SHMEMI_FOR_ARITHMETIC_TYPES(SHMEMI_DECLARE_SCAN_ON, exscan)
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
