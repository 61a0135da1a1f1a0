/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cuts a 3-D transfer into parts of whole layers.
 */
#include "transport/staged/layers.h"

int shmemi_by_layers(int (*move)(const struct shmemi_transfer *), const struct shmemi_transfer *transfer, size_t most)
{
    const struct shmemi_shape *shape = &transfer->shape;
    const size_t dest_step = shmemi_shape_dest_layer(shape), source_step = shmemi_shape_source_layer(shape);
    const size_t fit = most / (shape->layer * shape->width), layers = shmemi_shape_layers(shape);
    struct shmemi_transfer part = *transfer;
    int rc = 0;
    for (size_t done = 0, n; done < layers && !rc; done += n) {
        n = fit == 0 ? 1 : fit < layers - done ? fit : layers - done;
        part.shape = shmemi_shape_some(shape, n);
        rc = move(&part);
        part.offset += n * (transfer->is_put ? dest_step : source_step);
        part.mine.address += n * (transfer->is_put ? source_step : dest_step);
    }
    return rc;
}
