/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows cut into pieces: every byte once, at the same place on both sides, and exactly the pieces that a grid gives;
 * backwards the same ones.
 */
#include "gpu/shape.h"
#include "unit.h"

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
    CHECK(shmemi_shape_is_dense(&(struct shmemi_shape){8, 1, 3, 500}));
    CHECK(shmemi_shape_is_dense(&(struct shmemi_shape){8, 5, 8, 8}));
    CHECK(!shmemi_shape_is_dense(&(struct shmemi_shape){8, 2, 9, 8}));
    CHECK(!shmemi_shape_is_dense(&(struct shmemi_shape){8, 2, 8, 7}));
}

int main(void)
{
    check_density();
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
