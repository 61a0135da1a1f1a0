/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Small transfers that are held back, to leave together. These are all the reasons for which a transfer, or an atomic
 * operation, that a program has asked for is not yet on its way when the routine returns; struct shmemi_driver says which
 * of them apply to its views (`sinks`), and base/tuning.def has the numbers:
 *   - rows: nonblocking transfers of equal length at equal distances, on both sides, with one PE's copy of a region. They
 *     become one strided transfer. This side's memory is read, or written, when they leave (row_burst.c).
 *   - batches: puts of at most SHMEMI_BATCHED_PUT_MAX bytes from host memory that follow each other quickly, or any in a
 *     session of the program. Copies of them, wherever they go on a PE, become one request (put_batch.c).
 *   - lists: operations of at most SHMEM_GPU_BATCH_SIZE bytes on GPU memory for which this process can start a kernel. The
 *     kernel carries out all of a list. After a quiet the first operation leaves at once, in a list of its own; the next
 *     ones are collected until the list is full or something below ends it, unless it runs no more when
 *     SHMEMI_GPU_LIST_GROWTH have come. In a session none leaves at once (gpu_list.c).
 * The first transfers of a burst of rows or of a batch leave at once, so that they travel while the program computes. What
 * is held back leaves
 *   - when there is enough of it, or the next transfer does not belong to it,
 *   - at a fence or quiet of its context, so at a barrier, and at the end of the context or of a session
 *     (shmemi_collect_deliver); a sync is a quiet of each context that holds something back,
 *   - before the signal of a put with signal (shmemi_collect_deliver_puts): nothing orders the two, but many programs send
 *     the signal last,
 *   - a list, before another operation of its context on GPU memory that this process carries out,
 *   - when a thread begins to wait in the library, and now and then while it waits (held.c),
 *   - after one or two milliseconds, by the service thread (held.c); if that is busy, after
 *     SHMEMI_SERVICE_ROUNDS_PER_SWEEP of its rounds.
 * Nothing else orders it before other operations of its context [OpenSHMEM 1.6, 9.12]. Only contexts whose owner closes
 * them in the end (may_gather) hold rows and batches back.
 *
 * Which of the three is asked first is in hold_back.c. Not held back, but on its way only later:
 *   - a nonblocking put from GPU memory through staging: when its copy into a slot is done, which a thread sees that makes
 *     progress (staged/put.c, staged/slots.c),
 *   - what a stream is to do: when the stream has come there (transport/stream/stream.c),
 *   - small puts of a kernel: their proxy waits SHMEMI_RING_LINGER_NS for more (device/ring.c).
 * A routine itself waits for a free slot or entry of a ring, and for answers if too many are missing.
 *
 * Any thread may call these functions. 0 or -errno, logged.
 */
#ifndef SHMEMI_HOLD_BACK_H
#define SHMEMI_HOLD_BACK_H

#include "transport/driver.h"

/* A contiguous transfer: a put from host memory, or a nonblocking one. -EAGAIN: nothing was done, transfer it now. */
int shmemi_hold_back(const struct shmemi_transfer *transfer);

/* From now on hold back everything small that the context does; about `expected` operations will come. Repeating either has
 * no effect. */
int shmemi_collect_session_begin(struct shmemi_context *context, size_t expected);
int shmemi_collect_session_end(struct shmemi_context *context);

/* Everything that is held back leaves: puts and gets, or operations in lists, too. Reports what has failed since the last
 * call when it left without the program. */
int shmemi_collect_deliver_puts(struct shmemi_context *context);
int shmemi_collect_deliver(struct shmemi_context *context);

/* For contexts that hold rows and batches back, after their last operation: free what they needed for it. Nothing may be
 * left. */
void shmemi_collect_close(struct shmemi_context *context);

#endif
