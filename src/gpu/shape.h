/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of memory, which strided copies move, and the pieces into which they are cut when a buffer holds only a part.
 */
#ifndef SHMEMI_SHAPE_H
#define SHMEMI_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

/* rows of width bytes; rows start every pitch bytes. One row is a contiguous copy (pitches are then ignored). */
struct shmemi_shape {
    size_t width;
    size_t rows;
    size_t dest_pitch;
    size_t source_pitch;
};

/* Part of a shape: some whole rows, or a part of one row. */
struct shmemi_piece {
    size_t row, column; /* where it begins */
    size_t width, rows;
};

/* Walks over rows in pieces. row and column are where the next piece begins: 0 before the first. */
struct shmemi_cutter {
    size_t width, rows; /* of the whole; at least 1 byte wide */
    size_t row, column;
};

/* The next piece, of at most `most` bytes: as many whole rows as fit, or a part of a row if none does. False at the
 * end. */
bool shmemi_cut(struct shmemi_cutter *cutter, size_t most, struct shmemi_piece *piece_p);

/* The same pieces from the last to the first. row is the number of rows before the first call. most stays the same. */
bool shmemi_cut_back(struct shmemi_cutter *cutter, size_t most, struct shmemi_piece *piece_p);

/* Bytes from the first byte of the whole to that of the piece, where rows start every pitch bytes. */
static inline size_t shmemi_piece_offset(const struct shmemi_piece *piece, size_t pitch)
{
    return piece->row * pitch + piece->column;
}

/* The shape of the copy of a piece into a buffer that holds its rows without gaps, and out of it (unpack). */
static inline struct shmemi_shape shmemi_shape_pack(const struct shmemi_piece *piece, size_t source_pitch)
{
    return (struct shmemi_shape){piece->width, piece->rows, piece->width, source_pitch};
}

static inline struct shmemi_shape shmemi_shape_unpack(const struct shmemi_piece *piece, size_t dest_pitch)
{
    return (struct shmemi_shape){piece->width, piece->rows, dest_pitch, piece->width};
}

static inline struct shmemi_shape shmemi_shape_linear(size_t nbytes)
{
    return (struct shmemi_shape){.width = nbytes, .rows = 1};
}

/* Are the rows contiguous on both sides, so that they can be copied as one? */
static inline bool shmemi_shape_is_dense(const struct shmemi_shape *shape)
{
    return shape->rows == 1 || (shape->dest_pitch == shape->width && shape->source_pitch == shape->width);
}

#endif
