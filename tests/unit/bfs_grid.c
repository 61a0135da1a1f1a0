/* SPDX-License-Identifier: BSD-3-Clause
 *
 * BFS over many PEs and large graphs, without any PE and without any graph: which PE owns which of more than 2^32
 * vertices, the way of a pair through the grid of PEs, the words in which it travels, and numbers that the generator
 * draws.
 */
#include "edges.h"
#include "grid.h"
#include "unit.h"

#include <string.h>

static const int many[] = {1, 2, 3, 5, 6, 7, 9, 12, 13, 511, 513, 600, 601, 1023, 4096, 5003, 100003, 262144};
enum { N_MANY = sizeof many / sizeof many[0] };

/* ---- Vertices of 64 bits ------------------------------------------------------------------------------------------ */

static bool partition_is_right(uint64_t n_vertices, int n_pes)
{
    const struct partition part = partition_make(n_vertices, n_pes);
    uint64_t sum = 0;
    bool right = part.block % 64 == 0;

    for (int pe = 0; pe < n_pes; pe++) {
        const vertex_t first = partition_first(&part, pe), size = partition_size(&part, pe);

        right = right && first == (sum < n_vertices ? sum : n_vertices);
        right = right &&
                (size == 0 || (partition_owner(&part, first) == pe && partition_owner(&part, first + size - 1) == pe));
        sum += size;
    }
    return right && sum == n_vertices;
}

static void test_partition(void)
{
    for (int i = 0; i < N_MANY; i++) {
        CHECK(partition_is_right(UINT64_C(1000003), many[i]));
        CHECK(partition_is_right((UINT64_C(1) << 33) + 5, many[i]));
        CHECK(partition_is_right(UINT64_C(1) << 40, many[i]));
    }
    const struct partition part = partition_make(UINT64_C(1) << 36, 600);
    CHECK(partition_owner(&part, (UINT64_C(1) << 36) - 1) == 599);
    CHECK(partition_first(&part, 599) > UINT32_MAX);
}

static void test_generator(void)
{
    const struct options options = {.scale = 35, .edge_factor = 16, .seed = 1};
    struct edge edges[64];
    int large = 0;

    CHECK(kronecker_vertices(&options) == UINT64_C(1) << 35);
    edges_kronecker(&options, UINT64_C(1) << 38, 64, edges);
    for (int i = 0; i < 64; i++) {
        CHECK(edges[i].a < kronecker_vertices(&options) && edges[i].b < kronecker_vertices(&options));
        large += edges[i].a > UINT32_MAX;
    }
    CHECK(large > 32);
}

/* ---- Ways through the grid ---------------------------------------------------------------------------------------- */

static bool way_is_right(const struct pe_grid *grid, int origin, int owner)
{
    const int turn = pe_grid_turn(grid, origin, owner % grid->columns);
    const int hop = turn >= 0 ? pe_grid_hop(grid, origin, turn) : -1;

    return turn >= 0 && turn % grid->columns == owner % grid->columns &&
           pe_grid_at(grid, owner / grid->columns, turn % grid->columns) == owner &&
           pe_grid_source(grid, turn, hop) == origin &&
           (int)GRID_ORIGIN(turn / grid->columns, hop, grid->columns, grid->rows) == origin;
}

/* All ways of some PEs: the first, the last, and those at the ends of the last rows. */
static bool ways_are_right(const struct pe_grid *grid)
{
    const int from[] = {0, grid->n_pes / 2, grid->n_pes - grid->columns, (grid->rows - 1) * grid->columns,
                        grid->n_pes - 1};
    bool right = true;

    for (size_t i = 0; i < sizeof from / sizeof from[0]; i++)
        for (int owner = 0; owner < grid->n_pes && from[i] >= 0; owner++)
            right = right && way_is_right(grid, from[i], owner) && way_is_right(grid, owner, from[i]);
    return right;
}

static int sources_of(const struct pe_grid *grid, int pe)
{
    int n = 0;

    for (int hop = 0; hop < 2 * grid->columns; hop++)
        n += pe_grid_source(grid, pe, hop) >= 0;
    return n;
}

static void test_grid(void)
{
    for (int i = 0; i < N_MANY; i++) {
        const struct pe_grid grid = pe_grid_make(many[i]);

        CHECK(grid.columns <= MOST_PES && grid.rows <= grid.columns);
        CHECK(grid.rows * grid.columns >= many[i] && (grid.rows - 1) * grid.columns < many[i]);
        CHECK((long)(grid.columns - 1) * (grid.columns - 1) < many[i]);
        CHECK(ways_are_right(&grid));
    }
    const struct pe_grid full = pe_grid_make(4096), ragged = pe_grid_make(601);
    CHECK(pe_grid_is_full(&full) && sources_of(&full, 77) == 64);
    CHECK(!pe_grid_is_full(&ragged) &&
          sources_of(&ragged, ragged.columns * (ragged.rows - 1) - 1) <= 2 * ragged.columns);
}

static void test_words(void)
{
    const u32 hop = 1023, vertex = (u32)GRID_MASK;

    for (u32 from = 0; from <= GRID_MASK; from += (u32)GRID_MASK / 7) {
        const u64 pair = GRID_PAIR(hop, from, vertex);

        CHECK(GRID_HOP(pair) == hop && GRID_FROM(pair) == from && GRID_VERTEX(pair) == vertex);
    }
    const u64 ghost = GHOST(511, 510, vertex);
    CHECK(GHOST_ROW(ghost) == 511 && GHOST_COLUMN(ghost) == 510 && GHOST_VERTEX(ghost) == vertex);
    CHECK(GRID_PARENT(262143, vertex) >> 32 == 262143);
}

int main(void)
{
    test_partition();
    test_generator();
    test_grid();
    test_words();
    return 0;
}
