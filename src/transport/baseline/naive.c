/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Driver "naive": the paper's baseline. It copies the whole source into host memory first and then sends it piece by
 * piece, so that nothing overlaps. A get fetches everything into host memory first.
 */
#include "base/settings.h"
#include "transport/driver.h"
#include "transport/staged/layers.h"
#include "transport/staged/staged.h"

#include <errno.h>
#include <stdlib.h>

static int naive_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    (void)share;
    const bool is_gpu = view->place.memory != &shmemi_memory_host;
    return is_gpu && shmemi_settings.gpu_route == SHMEMI_ROUTE_NAIVE ? 0 : -ENOTSUP;
}

/* A piece of the transfer, between the peer and `bytes`, which have all rows without gaps. */
static struct shmemi_transfer piece_of(const struct shmemi_transfer *transfer, const struct shmemi_piece *piece,
                                       const char *bytes)
{
    struct shmemi_transfer part = *transfer;
    const size_t pitch = shmemi_transfer_peer_pitch(transfer), width = transfer->shape.width;
    part.mine = shmemi_place_host(bytes + shmemi_piece_offset(piece, width));
    part.offset += shmemi_piece_offset(piece, pitch);
    part.shape = (struct shmemi_shape){.width = piece->width,
                                       .rows = piece->rows,
                                       .dest_pitch = transfer->is_put ? pitch : width,
                                       .source_pitch = transfer->is_put ? width : pitch};
    return part;
}

/* Put, or get, piece by piece, waiting for each. */
static int move_pieces(const struct shmemi_transfer *transfer, const char *bytes)
{
    struct shmemi_cutter cutter = {.width = transfer->shape.width, .rows = transfer->shape.rows};
    struct shmemi_piece piece;
    int rc = 0;
    while (!rc && shmemi_cut(&cutter, shmemi_staging.chunk, &piece)) {
        const struct shmemi_transfer part = piece_of(transfer, &piece, bytes);
        rc = shmemi_staged_in_pieces(&part, shmemi_staging.chunk);
        if (!rc && transfer->is_put)
            rc = shmemi_completion_staged.quiet(transfer->context);
    }
    return rc;
}

/* Everything goes through a copy in host memory. */
static int naive_transfer(const struct shmemi_transfer *transfer)
{
    const struct shmemi_shape *shape = &transfer->shape;
    if (shape->layer)
        return shmemi_by_layers(naive_transfer, transfer, 0);
    char *bytes = malloc(shmemi_transfer_bytes(transfer));
    if (!bytes)
        return -ENOMEM;
    const struct shmemi_place copy = shmemi_place_host(bytes);
    const struct shmemi_shape out = shmemi_shape_dense_dest(shape), in = shmemi_shape_dense_source(shape);
    int rc = transfer->is_put ? shmemi_memory_copy(&copy, &transfer->mine, &out) : 0;
    rc = rc ? rc : move_pieces(transfer, bytes);
    if (!rc && !transfer->is_put)
        rc = shmemi_memory_copy(&transfer->mine, &copy, &in);
    free(bytes);
    return rc;
}

const struct shmemi_driver shmemi_driver_naive = {
    .name = "naive",
    .attach = naive_attach,
    .detach = shmemi_nothing_to_detach,
    .transfer = naive_transfer,
    .amo = shmemi_staged_amo,
};
