/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of memory, which strided copies move, and the pieces into which they are cut when a buffer holds only a part.
 */
#ifndef SHMEMI_SHAPE_H
#define SHMEMI_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

/* rows of width bytes; rows start every pitch bytes. One row is a contiguous copy (pitches are then ignored).
 *
 * Rows may form layers, those of a box: after every `layer` rows another `gap` bytes are skipped. layer is 0, and so are
 * the gaps, where there are none; otherwise there are at least two whole layers of at least two rows. */
struct shmemi_shape {
    size_t width;
    size_t rows; /* of all layers together */
    size_t dest_pitch;
    size_t source_pitch;
    size_t layer;
    size_t dest_gap;
    size_t source_gap;
};

/* Part of a shape without layers: some whole rows, or a part of one row. */
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

/* The pieces of shmemi_cut from the last to the first. Before the first call, row is the number of rows; most is that of all
 * other calls. */
bool shmemi_cut_back(struct shmemi_cutter *cutter, size_t most, struct shmemi_piece *piece_p);

/* Bytes from the first byte of the whole to that of the piece, where rows start every pitch bytes. */
static inline size_t shmemi_piece_offset(const struct shmemi_piece *piece, size_t pitch)
{
    return piece->row * pitch + piece->column;
}

/* The shape of the copy of a piece into a buffer that holds its rows without gaps, and out of it (unpack). */
static inline struct shmemi_shape shmemi_shape_pack(const struct shmemi_piece *piece, size_t source_pitch)
{
    return (struct shmemi_shape){
        .width = piece->width, .rows = piece->rows, .dest_pitch = piece->width, .source_pitch = source_pitch};
}

static inline struct shmemi_shape shmemi_shape_unpack(const struct shmemi_piece *piece, size_t dest_pitch)
{
    return (struct shmemi_shape){
        .width = piece->width, .rows = piece->rows, .dest_pitch = dest_pitch, .source_pitch = piece->width};
}

static inline struct shmemi_shape shmemi_shape_linear(size_t nbytes)
{
    return (struct shmemi_shape){.width = nbytes, .rows = 1};
}

/* Are the rows contiguous on both sides, so that they can be copied as one? */
static inline bool shmemi_shape_is_dense(const struct shmemi_shape *shape)
{
    return shape->rows == 1 || (shape->dest_pitch == shape->width && shape->source_pitch == shape->width &&
                                !(shape->dest_gap | shape->source_gap));
}

/* Number of layers: 1 where the rows form none. */
static inline size_t shmemi_shape_layers(const struct shmemi_shape *shape)
{
    return shape->layer ? shape->rows / shape->layer : 1;
}

/* Bytes from one layer to the next, of a shape that has layers. */
static inline size_t shmemi_shape_dest_layer(const struct shmemi_shape *shape)
{
    return shape->layer * shape->dest_pitch + shape->dest_gap;
}

static inline size_t shmemi_shape_source_layer(const struct shmemi_shape *shape)
{
    return shape->layer * shape->source_pitch + shape->source_gap;
}

/* A box of layers, rows and width bytes; the steps are bytes from row to row and from layer to layer, a layer's at least
 * as long as its rows together. The shape has layers only if its rows cannot be described without. */
struct shmemi_steps {
    size_t row, layer;
};
struct shmemi_shape shmemi_shape_box(size_t width, size_t rows, size_t layers, struct shmemi_steps dest,
                                     struct shmemi_steps source);

/* `layers` neighbouring layers of a shape that has more. */
struct shmemi_shape shmemi_shape_some(const struct shmemi_shape *shape, size_t layers);

/* The rows of a shape to, or from, memory that holds them without gaps. */
struct shmemi_shape shmemi_shape_dense_dest(const struct shmemi_shape *shape);
struct shmemi_shape shmemi_shape_dense_source(const struct shmemi_shape *shape);

/* Bytes from the start of the first row to the end of the last, on the side with this pitch and gap; SIZE_MAX on
 * overflow. There is a row. */
size_t shmemi_shape_extent(const struct shmemi_shape *shape, size_t pitch, size_t gap);

#endif
