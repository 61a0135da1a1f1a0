/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What routines on streams ask for first.
 */
#ifndef NVS_STREAM_USE_H
#define NVS_STREAM_USE_H

#include "driver.h"
#include "library.h"

/* Whether there are streams; a line says so if there are none. */
static inline bool nvs_has_streams(const char *routine)
{
    nvs_enter(routine);
    if (!nvs_has_cuda())
        shmemi_error("%s: there are no streams: this machine has no GPU that CUDA can use", routine);
    return nvs_has_cuda();
}

/* For routines without a status: ends the job. */
static inline void nvs_need_stream(const char *routine)
{
    if (!nvs_has_streams(routine))
        shmem_global_exit(1);
}

#endif
