/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What kernels that exchange by themselves (kernel_direct.h) are told: one tile for each PE.
 */
#include "stencil2d.h"

void direct_neighbors(const struct run *run, struct neighbor_plan *plan)
{
    const struct tile *tile = &run->tiles[0].shape;

    for (int d = 0; d < DIRECTIONS; d++) {
        struct tile there;

        plan->pe[d] = tile->neighbor[d].pe;
        plan->groups[d] = 0;
        if (!has_neighbor(tile, d))
            continue;
        grid_tile(&run->grid, tile->neighbor[d].pe, tile->neighbor[d].number, &there);
        plan->groups[d] = frame_groups(run, &there);
    }
}

struct launch_plan direct_plan(const struct run *run, uint64_t exchange, int i, int n)
{
    const struct tile *tile = &run->tiles[0].shape;
    struct run then = *run;
    struct launch_plan plan;

    then.exchanges = exchange;
    plan = frame_plan(&then, tile, i, n);
    plan.inside = plan.inner;
    plan.words = (long)words_offset(run);
    plan.wait_for = (long)(exchange - run->exchanges_before);
    for (int d = 0; d < DIRECTIONS; d++)
        if (plan.leaving[d] >= 0)
            plan.leaving[d] = (long)((size_t)area_in(exchange + 1) * run->grid.area + run->grid.piece[opposite(d)]);
    plan_groups(run->ops, run->real, &plan);
    return plan;
}
