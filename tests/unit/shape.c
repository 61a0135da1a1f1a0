/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows cut into pieces: every byte once, at the same place on both sides, and exactly the pieces that a grid gives;
 * backwards the same ones.
 */
#include "gpu/shape.h"
#include "unit.h"

#include <stdint.h>
#include <string.h>

enum { PEER_GAP = 3, MY_GAP = 5, ROOM = 4096, PIECES_MAX = 512 };

/* Mark each byte that a piece covers, at the peer's side. */
static void mark(unsigned char *bytes, const struct shmemi_piece *piece, size_t pitch)
{
    for (size_t row = 0; row < piece->rows; row++)
        for (size_t i = 0; i < piece->width; i++)
            bytes[shmemi_piece_offset(piece, pitch) + row * pitch + i]++;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Piece number i, by the grid of whole pieces; false after the last. */
static bool grid_piece(size_t width, size_t rows, size_t most, size_t i, struct shmemi_piece *piece)
{
    size_t width_step = least(width, most), row_step = most / width_step;
    size_t columns = (width + width_step - 1) / width_step;
    piece->row = i / columns * row_step;
    piece->column = i % columns * width_step;
    if (piece->row >= rows)
        return false;
    piece->width = least(width - piece->column, width_step);
    piece->rows = least(rows - piece->row, row_step);
    return true;
}

static bool are_equal(const struct shmemi_piece *a, const struct shmemi_piece *b)
{
    return a->row == b->row && a->column == b->column && a->width == b->width && a->rows == b->rows;
}

static void check_shapes(const struct shmemi_piece *piece)
{
    struct shmemi_shape pack = shmemi_shape_pack(piece, 77), unpack = shmemi_shape_unpack(piece, 99);
    CHECK(pack.width == piece->width && pack.rows == piece->rows);
    CHECK(pack.dest_pitch == piece->width && pack.source_pitch == 77);
    CHECK(unpack.width == piece->width && unpack.rows == piece->rows);
    CHECK(unpack.dest_pitch == 99 && unpack.source_pitch == piece->width);
}

static void check_cut(size_t width, size_t rows, size_t most)
{
    static unsigned char bytes[ROOM];
    static struct shmemi_piece pieces[PIECES_MAX];
    struct shmemi_cutter cutter = {.width = width, .rows = rows};
    struct shmemi_piece piece, wanted;
    size_t n = 0;
    memset(bytes, 0, sizeof bytes);
    while (shmemi_cut(&cutter, most, &piece)) {
        size_t peer = shmemi_piece_offset(&piece, width + PEER_GAP);
        size_t row = peer / (width + PEER_GAP), column = peer % (width + PEER_GAP);
        CHECK(piece.width * piece.rows <= most && piece.width && piece.rows);
        CHECK(shmemi_piece_offset(&piece, width + MY_GAP) == row * (width + MY_GAP) + column);
        CHECK(grid_piece(width, rows, most, n, &wanted) && are_equal(&piece, &wanted));
        check_shapes(&piece);
        mark(bytes, &piece, width + PEER_GAP);
        CHECK(n < PIECES_MAX);
        pieces[n++] = piece;
    }
    CHECK(!grid_piece(width, rows, most, n, &wanted) && !shmemi_cut(&cutter, most, &piece));
    for (size_t i = 0; i < ROOM; i++)
        CHECK(bytes[i] == (i / (width + PEER_GAP) < rows && i % (width + PEER_GAP) < width));
    cutter = (struct shmemi_cutter){.width = width, .rows = rows, .row = rows};
    while (shmemi_cut_back(&cutter, most, &piece))
        CHECK(n > 0 && are_equal(&piece, &pieces[--n]));
    CHECK(n == 0);
}

/* A limit that changes from piece to piece, also within a row. */
static void check_changing_limit(size_t width, size_t rows)
{
    static unsigned char bytes[ROOM];
    struct shmemi_cutter cutter = {.width = width, .rows = rows};
    struct shmemi_piece piece;
    size_t most = 1;
    memset(bytes, 0, sizeof bytes);
    for (; shmemi_cut(&cutter, most, &piece); most = most * 5 % 37 + 1) {
        CHECK(piece.width && piece.rows && piece.width * piece.rows <= most);
        CHECK(piece.rows == 1 || (piece.column == 0 && piece.width == width));
        mark(bytes, &piece, width + PEER_GAP);
    }
    for (size_t i = 0; i < ROOM; i++)
        CHECK(bytes[i] == (i / (width + PEER_GAP) < rows && i % (width + PEER_GAP) < width));
}

static void check_density(void)
{
    struct shmemi_shape linear = shmemi_shape_linear(10);
    CHECK(linear.width == 10 && linear.rows == 1 && shmemi_shape_is_dense(&linear));
    CHECK(shmemi_shape_is_dense(&(struct shmemi_shape){.width = 8, .rows = 1, .dest_pitch = 3, .source_pitch = 500}));
    CHECK(shmemi_shape_is_dense(&(struct shmemi_shape){.width = 8, .rows = 5, .dest_pitch = 8, .source_pitch = 8}));
    CHECK(!shmemi_shape_is_dense(&(struct shmemi_shape){.width = 8, .rows = 2, .dest_pitch = 9, .source_pitch = 8}));
    CHECK(!shmemi_shape_is_dense(&(struct shmemi_shape){.width = 8, .rows = 2, .dest_pitch = 8, .source_pitch = 7}));
}

/* Mark the bytes of a shape on its dest side. */
static void mark_shape(unsigned char *bytes, const struct shmemi_shape *shape)
{
    for (size_t row = 0; row < shape->rows; row++) {
        size_t layer = shape->layer ? row / shape->layer : 0;
        for (size_t i = 0; i < shape->width; i++)
            bytes[row * shape->dest_pitch + layer * shape->dest_gap + i]++;
    }
}

static void mark_box(unsigned char *bytes, size_t width, size_t rows, size_t layers, struct shmemi_steps steps)
{
    for (size_t layer = 0; layer < layers; layer++)
        for (size_t row = 0; row < rows; row++)
            for (size_t i = 0; i < width; i++)
                bytes[layer * steps.layer + row * steps.row + i]++;
}

/* The shape of a box covers its bytes, and has layers only where it needs them. */
static void check_box(size_t width, size_t rows, size_t layers, struct shmemi_steps dest, struct shmemi_steps source)
{
    static unsigned char wanted[ROOM], found[ROOM];
    const struct shmemi_shape shape = shmemi_shape_box(width, rows, layers, dest, source);
    memset(wanted, 0, sizeof wanted), memset(found, 0, sizeof found);
    mark_box(wanted, width, rows, layers, dest);
    mark_shape(found, &shape);
    CHECK(!memcmp(wanted, found, sizeof wanted));
    CHECK(shape.width * shape.rows == width * rows * layers);
    CHECK(shmemi_shape_extent(&shape, shape.dest_pitch, shape.dest_gap) ==
          (layers - 1) * dest.layer + (rows - 1) * dest.row + width);
    const bool is_plain = layers == 1 || rows == 1 || (dest.row == width && source.row == width) ||
                          (dest.layer == rows * dest.row && source.layer == rows * source.row);
    CHECK((shape.layer == 0) == is_plain && (shape.layer == 0 || shape.layer == rows));
    if (shape.layer)
        CHECK(shmemi_shape_dest_layer(&shape) == dest.layer && shmemi_shape_source_layer(&shape) == source.layer);
}

static void check_boxes(void)
{
    for (size_t width = 1; width <= 4; width++)
        for (size_t rows = 1; rows <= 4; rows++)
            for (size_t layers = 1; layers <= 4; layers++)
                for (size_t kind = 0; kind < 16; kind++) {
                    const struct shmemi_steps dest = {width + kind % 2, rows * (width + kind % 2) + kind / 2 % 2 * 3};
                    const struct shmemi_steps source = {width + kind / 4 % 2, rows * (width + kind / 4 % 2) + kind / 8};
                    check_box(width, rows, layers, dest, source);
                }
}

static void check_layers(void)
{
    const struct shmemi_shape box =
        shmemi_shape_box(8, 3, 5, (struct shmemi_steps){10, 40}, (struct shmemi_steps){8, 100});
    struct shmemi_shape some = shmemi_shape_some(&box, 2), one = shmemi_shape_some(&box, 1);
    CHECK(shmemi_shape_layers(&box) == 5 && shmemi_shape_layers(&some) == 2 && shmemi_shape_layers(&one) == 1);
    CHECK(some.rows == 6 && some.layer == 3 && some.dest_gap == 10 && some.source_gap == 76);
    CHECK(one.rows == 3 && one.layer == 0 && one.dest_gap == 0 && one.source_gap == 0);
    some = shmemi_shape_dense_dest(&box);
    CHECK(some.dest_pitch == 8 && some.dest_gap == 0 && some.source_gap == 76 && some.layer == 3);
    some = shmemi_shape_dense_source(&box);
    CHECK(some.source_pitch == 8 && some.source_gap == 0 && some.dest_gap == 10 && some.layer == 3);
    CHECK(!shmemi_shape_is_dense(&some));
    CHECK(shmemi_shape_extent(&box, SIZE_MAX / 2, 0) == SIZE_MAX &&
          shmemi_shape_extent(&box, 10, SIZE_MAX) == SIZE_MAX);
}

int main(void)
{
    check_density();
    check_boxes();
    check_layers();
    check_cut(100, 1, 7);
    check_cut(100, 1, 100);
    check_cut(10, 20, 35);
    check_cut(10, 20, 1000);
    check_cut(50, 7, 49);
    check_cut(1, 300, 16);
    check_cut(10, 0, 16);
    for (size_t width = 1; width <= 20; width++)
        for (size_t rows = 1; rows <= 20; rows++)
            for (size_t most = 1; most <= 50; most++)
                check_cut(width, rows, most);
    check_changing_limit(10, 200);
    check_changing_limit(100, 30);
    return 0;
}
