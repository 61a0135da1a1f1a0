/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stencil2D's grid of tiles for any number of PEs: the tiles cover the matrix, each once, and neighbours agree that they
 * are neighbours and on how much they exchange.
 */
#include "stencil2d.h"
#include "unit.h"

static struct grid make(int pes, int rows, int cols, long matrix_rows, long matrix_cols)
{
    const struct options options = {.rows = matrix_rows,
                                    .cols = matrix_cols,
                                    .grid_rows = rows,
                                    .grid_cols = cols,
                                    .halo_width = 2,
                                    .gpus_per_pe = 1};
    struct grid grid;

    CHECK(!grid_make(&options, pes, sizeof(float), &grid));
    CHECK(grid.grid_rows * grid.grid_cols == pes);
    return grid;
}

static bool is_mutual(const struct grid *grid, const struct tile *tile, int direction)
{
    const struct rectangle out = edge_cells(grid, tile, direction);
    struct tile other;
    struct rectangle in;

    if (!has_neighbor(tile, direction))
        return true;
    grid_tile(grid, tile->neighbor[direction].pe, tile->neighbor[direction].number, &other);
    in = edge_cells(grid, &other, opposite(direction));
    return other.neighbor[opposite(direction)].pe == tile->pe && out.rows == in.rows && out.cols == in.cols;
}

static void test(int pes, int rows, int cols, long matrix_rows, long matrix_cols)
{
    const struct grid grid = make(pes, rows, cols, matrix_rows, matrix_cols);
    long cells = 0;

    for (int pe = 0; pe < pes; pe++) {
        struct tile tile;

        grid_tile(&grid, pe, 0, &tile);
        cells += (long)tile.rows * tile.cols;
        for (int direction = 0; direction < DIRECTIONS; direction++)
            CHECK(is_mutual(&grid, &tile, direction));
    }
    CHECK(cells == matrix_rows * matrix_cols);
}

int main(void)
{
    static const int counts[] = {1, 2, 6, 7, 12, 192, 600, 601, 4096, 5003, 100000};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        test(counts[i], 0, 0, 200003, 300007);
    test(600, 25, 24, 5001, 7003);
    test(600, 1, 600, 4, 2000000000);
    test(600, 200, 3, 2000000000, 11);
    return 0;
}
