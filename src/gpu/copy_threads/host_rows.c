/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of host memory, copied into the buffers of a queued copy and out of them.
 *
 * Copies into the user's memory, which is large and not read again soon, use non-temporal stores. Copies into the
 * buffers use plain ones: the buffers are filled again and again, so they stay in the caches, where DMA reads them,
 * which spares two of three trips to memory. With 8 threads of a Xeon, host memory alone: into the buffers 92 GB/s by
 * plain stores, 48 to 61 by non-temporal ones; out of them 83 by plain stores, 118 to 131 by non-temporal ones.
 */
#include "gpu/copy_threads/double_queue.h"
#include "gpu/copy_threads/processor.h"

#include <string.h>

static void cut(void *host, size_t limit, struct shmemi_piece *piece_p)
{
    struct shmemi_host_rows *rows = host;
    shmemi_cut(&rows->cutter, limit, piece_p);
}

static void copy_out(const void *host, const struct shmemi_piece *piece, char *buffer)
{
    const struct shmemi_host_rows *rows = host;
    const char *source = rows->host + shmemi_piece_offset(piece, rows->pitch);
    for (size_t row = 0; row < piece->rows; row++)
        memcpy(buffer + row * piece->width, source + row * rows->pitch, piece->width);
}

static void copy_in(const void *host, const struct shmemi_piece *piece, char *buffer)
{
    const struct shmemi_host_rows *rows = host;
    char *dest = rows->host + shmemi_piece_offset(piece, rows->pitch);
    for (size_t row = 0; row < piece->rows; row++)
        shmemi_streaming_copy(dest + row * rows->pitch, buffer + row * piece->width, piece->width);
}

const struct shmemi_host_side shmemi_host_rows_out = {cut, copy_out};
const struct shmemi_host_side shmemi_host_rows_in = {cut, copy_in};
