/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When the GPU carried out a copy or one of the library's kernels, for shmemi_copy_observer. An event with timing stands in
 * front of it and one behind it, and they are read when both are complete.
 */
#ifndef SHMEMI_GPU_TIMING_H
#define SHMEMI_GPU_TIMING_H

#include "gpu/device/gpu_context.h"

struct shmemi_gpu_timing;

/* Call before enqueueing a copy or kernel in a stream of the context, which is current; NULL: it is not timed. */
struct shmemi_gpu_timing *shmemi_gpu_timing_begin(struct shmemi_gpu_context *context, void *stream);
/* Call after it, with its rc; `what` is not copied and must stay valid. If timing is NULL there is nothing to do. */
void shmemi_gpu_timing_end(struct shmemi_gpu_timing *timing, int rc, const char *what, uint64_t nbytes);

/* Report the copies that are complete. */
void shmemi_gpu_timings_report(void);
/* Free all timings and origins. Nothing may be under way; the contexts must still exist. */
void shmemi_gpu_timings_close(void);

/* shmemi_gpu_timing_begin if copies are observed; otherwise costs one load. */
static inline struct shmemi_gpu_timing *shmemi_gpu_time(struct shmemi_gpu_context *context, void *stream)
{
    return shmemi_unlikely(shmemi_copy_observer != NULL) ? shmemi_gpu_timing_begin(context, stream) : NULL;
}

#endif
