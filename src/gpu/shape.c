/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Boxes as rows, and rows cut into pieces, forwards and backwards.
 */
#include "gpu/shape.h"

#include "base/least.h"

#include <stdint.h>

bool shmemi_cut(struct shmemi_cutter *cutter, size_t most, struct shmemi_piece *piece_p)
{
    if (cutter->row == cutter->rows)
        return false;
    struct shmemi_piece piece = {cutter->row, cutter->column, shmemi_least(cutter->width - cutter->column, most), 1};
    if (cutter->column == 0 && cutter->width <= most)
        piece.rows = shmemi_least(most / cutter->width, cutter->rows - cutter->row);
    cutter->column += piece.width;
    if (cutter->column == cutter->width) {
        cutter->column = 0;
        cutter->row += piece.rows;
    }
    *piece_p = piece;
    return true;
}

bool shmemi_cut_back(struct shmemi_cutter *cutter, size_t most, struct shmemi_piece *piece_p)
{
    size_t step = shmemi_least(cutter->width, most), rows = 1;
    if (cutter->column == 0) {
        if (cutter->row == 0)
            return false;
        rows = (cutter->row - 1) % (most / step) + 1;
        cutter->row -= rows;
        cutter->column = (cutter->width - 1) / step * step + step;
    }
    cutter->column -= step;
    *piece_p =
        (struct shmemi_piece){cutter->row, cutter->column, shmemi_least(cutter->width - cutter->column, step), rows};
    return true;
}

/* ---- Layers ------------------------------------------------------------------------------------------------------ */

static struct shmemi_shape plane(size_t width, size_t rows, size_t dest_pitch, size_t source_pitch)
{
    return (struct shmemi_shape){.width = width, .rows = rows, .dest_pitch = dest_pitch, .source_pitch = source_pitch};
}

struct shmemi_shape shmemi_shape_box(size_t width, size_t rows, size_t layers, struct shmemi_steps dest,
                                     struct shmemi_steps source)
{
    if (layers == 1)
        return plane(width, rows, dest.row, source.row);
    if (rows == 1)
        return plane(width, layers, dest.layer, source.layer);
    if (dest.row == width && source.row == width)
        return plane(width * rows, layers, dest.layer, source.layer);
    struct shmemi_shape shape = plane(width, rows * layers, dest.row, source.row);
    shape.dest_gap = dest.layer - rows * dest.row;
    shape.source_gap = source.layer - rows * source.row;
    shape.layer = shape.dest_gap | shape.source_gap ? rows : 0;
    return shape;
}

struct shmemi_shape shmemi_shape_some(const struct shmemi_shape *shape, size_t layers)
{
    struct shmemi_shape some = *shape;
    some.rows = layers * shape->layer;
    if (layers == 1)
        some.layer = some.dest_gap = some.source_gap = 0;
    return some;
}

struct shmemi_shape shmemi_shape_dense_dest(const struct shmemi_shape *shape)
{
    struct shmemi_shape dense = *shape;
    dense.dest_pitch = shape->width;
    dense.dest_gap = 0;
    return dense;
}

struct shmemi_shape shmemi_shape_dense_source(const struct shmemi_shape *shape)
{
    struct shmemi_shape dense = *shape;
    dense.source_pitch = shape->width;
    dense.source_gap = 0;
    return dense;
}

size_t shmemi_shape_extent(const struct shmemi_shape *shape, size_t pitch, size_t gap)
{
    size_t bytes, gaps;
    if (__builtin_mul_overflow(shape->rows - 1, pitch, &bytes) ||
        __builtin_mul_overflow(shmemi_shape_layers(shape) - 1, gap, &gaps) ||
        __builtin_add_overflow(bytes, gaps, &bytes) || __builtin_add_overflow(bytes, shape->width, &bytes))
        return SIZE_MAX;
    return bytes;
}
