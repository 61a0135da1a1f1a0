/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Large copies between pageable host memory and GPU memory. The driver has one thread and little memory for them, and
 * reaches a fifth of the bus's bandwidth; several copy threads with page-locked buffers reach all of it
 * (double_queue.h).
 *
 * Threads and buffers are those of the copy pool, shared by all devices. All DMA copies run on the calling thread's
 * stream, so they are in order with its other copies. Nonblocking copies are complete on return, too, as the driver's
 * own copies of pageable memory are. Otherwise they would take cores from the program at times that it cannot see, and
 * the next such copy would have to wait in any case.
 */
#include "base/copy_bytes.h"
#include "base/log.h"
#include "base/settings.h"
#include "gpu/copy_threads/copy_pool.h"
#include "gpu/device/gpu_copies.h"
#include "gpu/device/page_locks.h"
#include "gpu/copy_threads/double_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A copy under way, as its DMA functions see it. */
struct transfer {
    const struct shmemi_copy_pool *pool;
    struct shmemi_gpu_context *context;
    void *stream;
    struct shmemi_place gpu;
    size_t gpu_pitch;
    bool to_gpu;
    void *moved[SHMEMI_COPY_BUFFERS_MAX];
};

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static int start_move(void *device, unsigned buffer, const struct shmemi_piece *piece)
{
    const struct transfer *transfer = device;
    const struct shmemi_copy_pool *pool = transfer->pool;
    struct shmemi_place host = shmemi_place_host(pool->buffers + buffer * pool->buffer_size), gpu = transfer->gpu;
    struct shmemi_shape shape = transfer->to_gpu ? shmemi_shape_unpack(piece, transfer->gpu_pitch)
                                                 : shmemi_shape_pack(piece, transfer->gpu_pitch);
    gpu.address += shmemi_piece_offset(piece, transfer->gpu_pitch);
    int rc = transfer->to_gpu ? shmemi_gpu_enqueue(&gpu, &host, &shape, transfer->stream)
                              : shmemi_gpu_enqueue(&host, &gpu, &shape, transfer->stream);
    if (!rc)
        rc = GPU_CALL(event_record, transfer->moved[buffer], transfer->stream);
    if (rc) /* a copy that has been started must not touch the buffer after the caller has returned */
        shmemi_gpu.stream_synchronize(transfer->stream);
    return rc;
}

static int test_move(void *device, unsigned buffer)
{
    const struct transfer *transfer = device;
    return shmemi_gpu_has_ended(shmemi_gpu.event_query(transfer->moved[buffer]), "event_query(moved)");
}

static int take_events(struct transfer *transfer, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int rc = shmemi_gpu_event_take(transfer->context, &transfer->moved[i]);
        if (rc)
            return rc;
    }
    return 0;
}

static void give_events(struct transfer *transfer)
{
    for (unsigned i = 0; i < SHMEMI_COPY_BUFFERS_MAX; i++)
        if (transfer->moved[i])
            shmemi_gpu_event_give(transfer->context, transfer->moved[i]);
}

static int copy_by_threads(struct transfer *transfer, const struct shmemi_queued_copy *copy)
{
    int rc = take_events(transfer, transfer->pool->n_buffers);
    if (!rc)
        rc = shmemi_double_queue_copy(transfer->pool->queue, copy);
    give_events(transfer);
    return rc;
}

/* With the context in which the buffers were page-locked (cudaDeviceReset) the locks have gone, too. */
static void lock_again(const struct shmemi_copy_pool *pool)
{
    const size_t size = pool->n_buffers * pool->buffer_size;
    if (!shmemi_gpu.is_locked_range(pool->buffers, size))
        shmemi_gpu_pin(pool->buffers, size);
}

/* Shorter rows, rows that overlap, and boxes are left to the driver. */
static bool is_for_threads(const struct shmemi_place *host, size_t pitch, const struct shmemi_shape *shape)
{
    bool has_rows = shape->rows > 1;
    if (shape->layer)
        return false;
    if (has_rows && (shape->width < SHMEMI_GPU_PAGEABLE_ROW || shape->dest_pitch < shape->width ||
                     shape->source_pitch < shape->width))
        return false;
    return host->memory == &shmemi_memory_host && shmemi_settings.copy_chunk &&
           !shmemi_gpu.is_locked_range((const void *)host->address, (shape->rows - 1) * pitch + shape->width);
}

int shmemi_gpu_copy_pageable(struct shmemi_gpu_context *context, void *stream, const struct shmemi_place *dest,
                             const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    bool to_gpu = dest->memory == shmemi_gpu.memory;
    const struct shmemi_place *host = to_gpu ? source : dest;
    size_t host_pitch = to_gpu ? shape->source_pitch : shape->dest_pitch;
    if (!is_for_threads(host, host_pitch, shape))
        return -ENOTSUP;
    struct transfer transfer = {
        .context = context,
        .stream = stream,
        .gpu = to_gpu ? *dest : *source,
        .gpu_pitch = to_gpu ? shape->dest_pitch : shape->source_pitch,
        .to_gpu = to_gpu,
    };
    struct shmemi_host_rows rows = {
        .host = (char *)host->address,
        .pitch = host_pitch,
        .cutter = {.width = shape->width, .rows = shape->rows},
    };
    static const struct shmemi_dma dma = {start_move, test_move};
    struct shmemi_queued_copy copy = {
        .to_device = to_gpu,
        .nbytes = shape->width * shape->rows,
        .host_side = to_gpu ? &shmemi_host_rows_out : &shmemi_host_rows_in,
        .host = &rows,
        .dma = &dma,
        .device = &transfer,
    };
    int rc = shmemi_copy_pool_take(shmemi_gpu.memory, context->device, SHMEMI_POOL_FOR_COPIES, &transfer.pool);
    if (rc)
        return -ENOTSUP;
    lock_again(transfer.pool);
    rc = copy_by_threads(&transfer, &copy);
    shmemi_copy_pool_give();
    return rc;
}

/* ---- Host memory that is page-locked in part ---------------------------------------------------------------------
 * Such memory is rare, and seldom large: it is copied through a buffer that is pageable as a whole. */

enum { MIXED_BYTES = 64 << 10 };

static int copy_mixed_piece(struct shmemi_place dest, struct shmemi_place source, char *between, size_t nbytes,
                            void *stream)
{
    bool to_gpu = dest.memory == shmemi_gpu.memory;
    if (to_gpu)
        memcpy(between, (const void *)source.address, nbytes);
    int rc = to_gpu ? GPU_CALL(copy_in, dest.address, between, nbytes, stream)
                    : GPU_CALL(copy_out, between, source.address, nbytes, stream);
    if (!rc)
        rc = GPU_CALL(stream_synchronize, stream);
    if (!rc && !to_gpu)
        shmemi_copy_bytes((void *)dest.address, between, nbytes);
    return rc;
}

int shmemi_gpu_copy_mixed(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                          void *stream)
{
    char *between = malloc(MIXED_BYTES);
    struct shmemi_place to = *dest, from = *source;
    int rc = 0;
    if (!between) {
        shmemi_error("out of memory for a copy of memory that is page-locked in part");
        return -ENOMEM;
    }
    for (size_t done = 0; done < nbytes && !rc; done += MIXED_BYTES) {
        rc = copy_mixed_piece(to, from, between, nbytes - done < MIXED_BYTES ? nbytes - done : MIXED_BYTES, stream);
        to.address += MIXED_BYTES;
        from.address += MIXED_BYTES;
    }
    free(between);
    return rc;
}
