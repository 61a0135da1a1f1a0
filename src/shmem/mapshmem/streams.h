/* SPDX-License-Identifier: BSD-3-Clause
 *
 * More operations on CUDA streams and OpenCL queues: typed transfers, strided ones, atomic operations, waits. Included
 * by shmemx.h, where "Operations on CUDA streams and OpenCL queues" says when they begin, what they are ordered with
 * and who carries them out.
 *
 * Each shmemx_NAME_on_stream(..., stream) has a twin shmemx_NAME_on_queue(..., queue, n_events, events, event). They are
 * named after the blocking routine shmem_NAME and take its arguments. Those that return a value there have the address
 * for it as their first argument here: private or symmetric, in GPU memory or in host memory, which should be
 * page-locked (cudaMallocHost, the symmetric heap), since a thread of the library takes part otherwise. What is enqueued
 * after an operation begins when
 *
 *   put, iput, p                 the source may be used again; that of p at once, as it is passed by value
 *   get, iget, g                 the data are in dest
 *   atomic_fetch_..., swap,      the old value is at fetch
 *   compare_swap, signal_fetch
 *   atomic_set, inc, add, ...    the update is under way, or done; quiet completes it
 *   wait_until, wait_until_all   the comparison holds for the word, or has held for each word
 *   wait_until_any               it holds for a word, whose number is at index: SIZE_MAX if there are none
 *   signal_wait_until_set        the comparison holds, and after that the signal has been set to new_value
 *   fence                        what quiet completes is delivered
 *
 * There are no forms with _nbi: no call waits for its operation anyway. status is read before the call returns; it lies
 * in host memory. Comparisons go by the sign of the difference of two words, so values must be less than half the range
 * of their type apart. Atomic operations are atomic with those of shmem_ routines, kernels' (shmemx_device.h) and
 * other streams.
 *
 * The GPU does alone, on direct routes, transfers as putmem; atomic operations on GPU memory, and
 * fetch and set on the symmetric heap of the node; waits for up to 8192 words. Where PEs use a GPU in turns
 * (shmemx_kernels_may_wait), a wait for more than 32 words, for any of several, or with LT, LE, or NE other than 0, is
 * left to a thread of the library, too.
 *
 * Graphs: what the GPU does alone can be captured (cudaStreamBeginCapture in relaxed or thread-local mode) and launched
 * any number of times, sync_all and barrier_all in a job of one node as well. Addresses, values and PEs are those of the
 * capture. Each PE launches its graphs with barriers in the same order, one after the other, and barriers inside of
 * graphs meet those inside of graphs only. quiet and fence in a graph complete the graph's own operations. Signals of a
 * graph have the same values in each launch, so a wait must take away what has come:
 *
 *     shmemx_putmem_signal_on_stream(dest, source, nbytes, &ready[half], 1, SHMEM_SIGNAL_SET, right, stream);
 *     shmemx_signal_wait_until_set_on_stream(&ready[half], SHMEM_CMP_EQ, 1, 0, stream);
 *
 * A signal may come again only when the one before has been taken. Where neighbours signal each other, two signals used
 * in turns ensure that, if a graph uses each of them as often: the next but one is sent after the neighbour's next one
 * has come. In GPU memory SHMEM_SIGNAL_ADD, a wait for GE, and a signal_op that adds the negative number to this PE's own
 * signal do the same, and count what comes early.
 *
 * Errors end the job. Any thread may call.
 *
 * Source: NVSHMEM's *_on_stream; Intel SHMEM's *_on_queue. */
#ifndef SHMEMI_STREAMS_H
#define SHMEMI_STREAMS_H

/* clang-format off */

#define SHMEMI_DECLARE_ENQUEUED(NAME, ...)                                                                             \
    void shmemx_##NAME##_on_stream(__VA_ARGS__, shmemx_stream_t stream);                                               \
    void shmemx_##NAME##_on_queue(__VA_ARGS__, shmemx_queue_t queue, unsigned n_events, const shmemx_event_t *events,  \
                                  shmemx_event_t *event);

#define SHMEMI_DECLARE_ENQUEUED_TRANSFERS(put, get, iput, iget, ELEMENT)                                               \
    SHMEMI_DECLARE_ENQUEUED(put, ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                          \
    SHMEMI_DECLARE_ENQUEUED(get, ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe)                          \
    SHMEMI_DECLARE_ENQUEUED(put##_signal, ELEMENT *dest, const ELEMENT *source, size_t nelems, uint64_t *sig_addr,     \
                            uint64_t signal, int sig_op, int pe)                                                       \
    SHMEMI_DECLARE_ENQUEUED(iput, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,   \
                            int pe)                                                                                    \
    SHMEMI_DECLARE_ENQUEUED(iget, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,   \
                            int pe)

/* void shmemx_TYPENAME_{put,get}_on_stream(TYPE *dest, const TYPE *source, size_t nelems, int pe, stream);
 * void shmemx_TYPENAME_put_signal_on_stream(TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr,
 *                                           uint64_t signal, int sig_op, int pe, stream);
 * void shmemx_TYPENAME_{iput,iget}_on_stream(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst,
 *                                            size_t nelems, int pe, stream);
 * void shmemx_TYPENAME_p_on_stream(TYPE *dest, TYPE value, int pe, stream);
 * void shmemx_TYPENAME_g_on_stream(TYPE *dest, const TYPE *source, int pe, stream); */
#define SHMEMI_DECLARE_ENQUEUED_RMA(NAME, TYPE, ...)                                                                   \
    SHMEMI_DECLARE_ENQUEUED_TRANSFERS(NAME##_put, NAME##_get, NAME##_iput, NAME##_iget, TYPE)                          \
    SHMEMI_DECLARE_ENQUEUED(NAME##_p, TYPE *dest, TYPE value, int pe)                                                  \
    SHMEMI_DECLARE_ENQUEUED(NAME##_g, TYPE *dest, const TYPE *source, int pe)
SHMEMI_FOR_RMA_TYPES(SHMEMI_DECLARE_ENQUEUED_RMA, )

/* Transfers of elements of SIZE bits: shmemx_putSIZE_on_stream, shmemx_putSIZE_signal_on_stream, ... */
#define SHMEMI_DECLARE_ENQUEUED_SIZE(BITS, BYTES, ...)                                                                 \
    SHMEMI_DECLARE_ENQUEUED_TRANSFERS(put##BITS, get##BITS, iput##BITS, iget##BITS, void)
SHMEMI_FOR_SIZES(SHMEMI_DECLARE_ENQUEUED_SIZE, )

/* void shmemx_TYPENAME_atomic_{fetch,swap,set}_on_stream([TYPE *fetch,] TYPE *dest, [TYPE value,] int pe, stream); */
#define SHMEMI_DECLARE_ENQUEUED_XAMO(NAME, TYPE, ...)                                                                  \
    SHMEMI_DECLARE_ENQUEUED(NAME##_atomic_fetch, TYPE *fetch, const TYPE *source, int pe)                              \
    SHMEMI_DECLARE_ENQUEUED(NAME##_atomic_swap, TYPE *fetch, TYPE *dest, TYPE value, int pe)                           \
    SHMEMI_DECLARE_ENQUEUED(NAME##_atomic_set, TYPE *dest, TYPE value, int pe)
SHMEMI_FOR_XAMO_TYPES(SHMEMI_DECLARE_ENQUEUED_XAMO, )

/* void ..._atomic_{compare_swap,fetch_inc,fetch_add,inc,add}_on_stream([TYPE *fetch,] TYPE *dest, ..., int pe, stream);
 * void shmemx_TYPENAME_wait_until_on_stream(TYPE *ivar, int cmp, TYPE cmp_value, stream);
 * void ..._wait_until_all_on_stream(TYPE *ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value, stream);
 * void ..._wait_until_any_on_stream(size_t *index, TYPE *ivars, size_t nelems, const int *status, int cmp,
 *                                   TYPE cmp_value, stream); */
#define SHMEMI_DECLARE_ENQUEUED_AMO(NAME, TYPE, ...)                                                                   \
    SHMEMI_DECLARE_ENQUEUED(NAME##_atomic_compare_swap, TYPE *fetch, TYPE *dest, TYPE cond, TYPE value, int pe)        \
    SHMEMI_DECLARE_ENQUEUED(NAME##_atomic_fetch_inc, TYPE *fetch, TYPE *dest, int pe)                                  \
    SHMEMI_DECLARE_ENQUEUED(NAME##_atomic_fetch_add, TYPE *fetch, TYPE *dest, TYPE value, int pe)                      \
    SHMEMI_DECLARE_ENQUEUED(NAME##_atomic_inc, TYPE *dest, int pe)                                                     \
    SHMEMI_DECLARE_ENQUEUED(NAME##_atomic_add, TYPE *dest, TYPE value, int pe)                                         \
    SHMEMI_DECLARE_ENQUEUED(NAME##_wait_until, TYPE *ivar, int cmp, TYPE cmp_value)                                    \
    SHMEMI_DECLARE_ENQUEUED(NAME##_wait_until_all, TYPE *ivars, size_t nelems, const int *status, int cmp,             \
                            TYPE cmp_value)                                                                            \
    SHMEMI_DECLARE_ENQUEUED(NAME##_wait_until_any, size_t *index, TYPE *ivars, size_t nelems, const int *status,       \
                            int cmp, TYPE cmp_value)
SHMEMI_FOR_AMO_TYPES(SHMEMI_DECLARE_ENQUEUED_AMO, )

/* void ..._atomic_[fetch_]{and,or,xor}_on_stream([TYPE *fetch,] TYPE *dest, TYPE value, int pe, stream); */
#define SHMEMI_DECLARE_ENQUEUED_BAMO(NAME, TYPE, OP)                                                                   \
    SHMEMI_DECLARE_ENQUEUED(NAME##_atomic_fetch_##OP, TYPE *fetch, TYPE *dest, TYPE value, int pe)                     \
    SHMEMI_DECLARE_ENQUEUED(NAME##_atomic_##OP, TYPE *dest, TYPE value, int pe)
SHMEMI_FOR_BAMO_TYPES(SHMEMI_DECLARE_ENQUEUED_BAMO, and)
SHMEMI_FOR_BAMO_TYPES(SHMEMI_DECLARE_ENQUEUED_BAMO, or)
SHMEMI_FOR_BAMO_TYPES(SHMEMI_DECLARE_ENQUEUED_BAMO, xor)

/* This PE's own signal: its value; a wait that takes it away. An update between the end of the wait and the set is lost. */
SHMEMI_DECLARE_ENQUEUED(signal_fetch, uint64_t *fetch, const uint64_t *sig_addr)
SHMEMI_DECLARE_ENQUEUED(signal_wait_until_set, uint64_t *sig_addr, int cmp, uint64_t cmp_value, uint64_t new_value)

void shmemx_fence_on_stream(shmemx_stream_t stream);
void shmemx_fence_on_queue(shmemx_queue_t queue, unsigned n_events, const shmemx_event_t *events,
                           shmemx_event_t *event);

/* clang-format on */

#endif
