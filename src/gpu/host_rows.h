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
    size_t pitch;       /* from row to row; ignored when there is one */
    size_t width, rows; /* at least 1 each */
    size_t row, column; /* the next piece begins here; 0 before the copy */
    shmemi_streaming_copy_t stream_copy;
};

extern const struct shmemi_host_side shmemi_host_rows_out; /* to the device; host is a struct shmemi_host_rows */
extern const struct shmemi_host_side shmemi_host_rows_in;

#endif
