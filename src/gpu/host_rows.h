/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of host memory as the host side of a queued copy (double_queue.h).
 */
#ifndef SHMEMI_HOST_ROWS_H
#define SHMEMI_HOST_ROWS_H

#include "gpu/double_queue.h"
#include "gpu/processor.h"

struct shmemi_host_rows {
    char *host;
    size_t pitch; /* from row to row; ignored when there is one */
    struct shmemi_cutter cutter;
    shmemi_streaming_copy_t stream_copy;
};

extern const struct shmemi_host_side shmemi_host_rows_out; /* to the device; host is a struct shmemi_host_rows */
extern const struct shmemi_host_side shmemi_host_rows_in;

#endif
