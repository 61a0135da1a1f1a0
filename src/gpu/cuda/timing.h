/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When the GPU carried out a copy or one of the library's kernels, for shmemi_copy_observer: an event with timing in
 * front of it and one behind it, read when both are complete. Private to the files of the CUDA kind of memory.
 */
#ifndef SHMEMI_CUDA_TIMING_H
#define SHMEMI_CUDA_TIMING_H

#include "base/likely.h"
#include "gpu/cuda/context.h"

struct shmemi_cuda_timing;

/* Before a copy or kernel is enqueued in a stream of the context, which is current; NULL: this one is not timed. */
struct shmemi_cuda_timing *shmemi_cuda_timing_begin(struct shmemi_cuda_context *context, CUstream stream);
/* After it, with its rc; what: a string that stays. If timing is NULL there is nothing to do. */
void shmemi_cuda_timing_end(struct shmemi_cuda_timing *timing, int rc, const char *what, uint64_t nbytes);

/* Report the copies that are complete. */
void shmemi_cuda_timings_report(void);
/* Nothing is under way any more; the contexts are still there. */
void shmemi_cuda_timings_close(void);

/* The begin of a timing if somebody wants to know; costs one load otherwise. */
static inline struct shmemi_cuda_timing *shmemi_cuda_time(struct shmemi_cuda_context *context, CUstream stream)
{
    return shmemi_unlikely(shmemi_copy_observer != NULL) ? shmemi_cuda_timing_begin(context, stream) : NULL;
}

#endif
