/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recognises bursts of transfers at equal distances, which leave as one strided transfer.
 */
#include "base/tuning.h"
#include "transport/collect/sinks.h"
#include "transport/request.h"

#include <errno.h>

/* ---- Leaving ----------------------------------------------------------------------------------------------------- */

static struct shmemi_shape shape_of(const struct shmemi_row_burst *burst)
{
    if (burst->mine_pitch == burst->nbytes && burst->peer_pitch == burst->nbytes)
        return shmemi_shape_linear(burst->nbytes * burst->rows);
    return (struct shmemi_shape){
        .width = burst->nbytes,
        .rows = burst->rows,
        .dest_pitch = burst->is_put ? burst->peer_pitch : burst->mine_pitch,
        .source_pitch = burst->is_put ? burst->mine_pitch : burst->peer_pitch,
    };
}

static int send(struct shmemi_row_burst *burst, struct shmemi_context *context)
{
    const struct shmemi_transfer all = {.context = context,
                                        .view = burst->view,
                                        .offset = burst->offset,
                                        .mine = burst->mine,
                                        .shape = shape_of(burst),
                                        .is_put = burst->is_put};
    burst->rows = 0;
    return all.view->driver->transfer(&all);
}

int shmemi_row_burst_send(struct shmemi_collector *collector, struct shmemi_context *context)
{
    struct shmemi_row_burst *burst = &collector->rows;
    int rc = burst->rows ? send(burst, context) : 0;
    burst->view = NULL;
    return rc;
}

/* ---- Recognition ------------------------------------------------------------------------------------------------- */

/* This process copies between memory of one kind. Requests serve any, but puts from host memory are for batches. */
static bool is_suitable(const struct shmemi_transfer *transfer)
{
    const struct shmemi_view *view = transfer->view;
    if (transfer->shape.width > SHMEMI_ROWS_WIDTH_MAX)
        return false;
    return view->driver->copies_itself ? transfer->mine.memory == view->place.memory
                                       : !transfer->is_put || transfer->mine.memory != &shmemi_memory_host;
}

static inline bool is_alike(const struct shmemi_row_burst *burst, const struct shmemi_transfer *transfer)
{
    return burst->view == transfer->view && burst->nbytes == transfer->shape.width &&
           burst->is_put == transfer->is_put && burst->mine.object == transfer->mine.object &&
           burst->mine.memory == transfer->mine.memory;
}

static bool goes_on(const struct shmemi_row_burst *burst, const struct shmemi_transfer *transfer)
{
    return burst->n_alike && is_alike(burst, transfer) && transfer->offset - burst->last_offset == burst->peer_pitch &&
           transfer->mine.address - burst->last_address == burst->mine_pitch;
}

static bool is_pitch(size_t pitch, size_t nbytes)
{
    return pitch >= nbytes && pitch <= SHMEMI_ROWS_PITCH_MAX;
}

/* A transfer that does not go on with the burst may be the first or second of another. */
static int begin(struct shmemi_row_burst *burst, const struct shmemi_transfer *transfer)
{
    const size_t peer_pitch = transfer->offset - burst->last_offset;
    const size_t mine_pitch = transfer->mine.address - burst->last_address;
    const bool is_second = is_alike(burst, transfer) && is_pitch(peer_pitch, transfer->shape.width) &&
                           is_pitch(mine_pitch, transfer->shape.width);
    int rc = burst->rows ? send(burst, transfer->context) : 0;
    *burst = (struct shmemi_row_burst){
        .view = transfer->view, .mine = transfer->mine, .nbytes = transfer->shape.width, .is_put = transfer->is_put};
    if (is_second) {
        burst->peer_pitch = peer_pitch;
        burst->mine_pitch = mine_pitch;
        burst->n_alike = 1;
    }
    return rc;
}

static size_t bytes_to_send(const struct shmemi_view *view)
{
    if (view->driver->copies_itself)
        return SHMEMI_ROWS_MOST_COPIED;
    return shmemi_staging.chunk < SHMEMI_ROWS_MOST_SENT ? shmemi_staging.chunk : SHMEMI_ROWS_MOST_SENT;
}

static int hold(struct shmemi_row_burst *burst, const struct shmemi_transfer *transfer)
{
    if (!burst->rows++) {
        burst->mine = transfer->mine;
        burst->offset = transfer->offset;
    }
    return burst->rows * burst->nbytes >= bytes_to_send(burst->view) ? send(burst, transfer->context) : 0;
}

int shmemi_row_burst_take(struct shmemi_collector *collector, const struct shmemi_transfer *transfer)
{
    struct shmemi_row_burst *burst = &collector->rows;
    int rc = 0;
    if (!is_suitable(transfer))
        return -EAGAIN;
    if (goes_on(burst, transfer))
        burst->n_alike++;
    else
        rc = begin(burst, transfer);
    burst->last_offset = transfer->offset;
    burst->last_address = transfer->mine.address;
    if (rc)
        return rc;
    return burst->n_alike > SHMEMI_ROWS_BEGIN_AFTER ? hold(burst, transfer) : -EAGAIN;
}
