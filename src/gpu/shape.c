/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows cut into pieces, forwards and backwards.
 */
#include "gpu/shape.h"

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool shmemi_cut(struct shmemi_cutter *cutter, size_t most, struct shmemi_piece *piece_p)
{
    if (cutter->row == cutter->rows)
        return false;
    struct shmemi_piece piece = {cutter->row, cutter->column, least(cutter->width - cutter->column, most), 1};
    if (cutter->column == 0 && cutter->width <= most)
        piece.rows = least(most / cutter->width, cutter->rows - cutter->row);
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
    size_t step = least(cutter->width, most), rows = 1;
    if (cutter->column == 0) {
        if (cutter->row == 0)
            return false;
        rows = (cutter->row - 1) % (most / step) + 1;
        cutter->row -= rows;
        cutter->column = (cutter->width - 1) / step * step + step;
    }
    cutter->column -= step;
    *piece_p = (struct shmemi_piece){cutter->row, cutter->column, least(cutter->width - cutter->column, step), rows};
    return true;
}
