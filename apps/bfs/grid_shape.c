/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The places of PEs in a grid (grid.h).
 */
#include "grid.h"

struct pe_grid pe_grid_make(int n_pes)
{
    struct pe_grid grid = {.n_pes = n_pes, .columns = 1};

    while ((long)grid.columns * grid.columns < n_pes)
        grid.columns++;
    grid.rows = (n_pes + grid.columns - 1) / grid.columns;
    return grid;
}

bool pe_grid_is_full(const struct pe_grid *grid)
{
    return grid->n_pes == grid->rows * grid->columns;
}

int pe_grid_at(const struct pe_grid *grid, int row, int column)
{
    int pe = row * grid->columns + column;

    return pe < grid->n_pes ? pe : -1;
}

int pe_grid_turn(const struct pe_grid *grid, int pe, int column)
{
    int row = pe / grid->columns;
    int at = pe_grid_at(grid, row, column);

    return at >= 0 ? at : pe_grid_at(grid, row - 1, column);
}

int pe_grid_source(const struct pe_grid *grid, int pe, int hop)
{
    int row = pe / grid->columns + hop / grid->columns;
    int source = row < grid->rows ? pe_grid_at(grid, row, hop % grid->columns) : -1;

    return source >= 0 && pe_grid_turn(grid, source, pe % grid->columns) == pe ? source : -1;
}

int pe_grid_hop(const struct pe_grid *grid, int pe, int turn)
{
    return pe % grid->columns + (pe / grid->columns != turn / grid->columns ? grid->columns : 0);
}
