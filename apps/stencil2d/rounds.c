/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The iterations of a round. Iteration i of n computes the tile and n - 1 - i cells of the halo around it, so that the
 * last one computes the tile alone.
 *
 * The first and the last iteration have a frame: in the first one the cells that depend on the halo, which is read from
 * the messages; in the last one those that the neighbours need, which are written there as well. What is inside of the
 * frame depends on no message.
 */
#include "stencil2d.h"

#define MOST_FRAME_GROUPS 64

static struct bounds shrink(const struct tile *tile, const struct bounds *from, int rows_and_cols)
{
    struct bounds b = *from;

    b.first_row += has_neighbor(tile, NORTH) ? rows_and_cols : 0;
    b.end_row -= has_neighbor(tile, SOUTH) ? rows_and_cols : 0;
    b.first_col += has_neighbor(tile, WEST) ? rows_and_cols : 0;
    b.end_col -= has_neighbor(tile, EAST) ? rows_and_cols : 0;
    if (b.end_row < b.first_row)
        b.end_row = b.first_row;
    if (b.end_col < b.first_col)
        b.end_col = b.first_col;
    return b;
}

/* What iteration i of n computes, and what lies inside of its frame. */
static void set_bounds(const struct run *run, const struct tile *tile, int i, int n, struct launch_plan *plan)
{
    const struct bounds whole = {.end_row = tile->rows, .end_col = tile->cols};

    plan->outer = shrink(tile, &whole, -(n - 1 - i));
    if (i == n - 1)
        plan->inner = shrink(tile, &whole, run->grid.halo_width);
    else if (i == 0)
        plan->inner = shrink(tile, &whole, 1);
    else
        plan->inner = plan->outer;
}

static struct launch_plan empty_plan(const struct run *run)
{
    return (struct launch_plan){
        .origin = (long)run->grid.origin,
        .pitch = (long)run->grid.pitch,
        .backwards = run->cur,
        .words = -1,
    };
}

static long cells_in(const struct bounds *b)
{
    return (b->end_row - b->first_row) * (b->end_col - b->first_col);
}

/* Few enough that frames which wait leave room on the device for what they wait for. */
static long groups_of_frame(const struct launch_plan *plan)
{
    long groups = (cells_in(&plan->outer) - cells_in(&plan->inner) + GROUP - 1) / GROUP;

    return groups < MOST_FRAME_GROUPS ? groups : MOST_FRAME_GROUPS;
}

long frame_groups(const struct run *run, const struct tile *tile)
{
    struct launch_plan plan;

    set_bounds(run, tile, 0, 1, &plan);
    return groups_of_frame(&plan);
}

struct launch_plan frame_plan(const struct run *run, const struct tile *tile, int i, int n)
{
    const struct grid *grid = &run->grid;
    struct launch_plan plan = empty_plan(run);
    size_t in = (size_t)area_in(run->exchanges) * grid->area;
    size_t out = (size_t)area_out(run->exchanges + 1) * grid->area;

    set_bounds(run, tile, i, n, &plan);
    plan.frame_groups = groups_of_frame(&plan);
    plan.rows = tile->rows;
    plan.cols = tile->cols;
    plan.halo_width = grid->halo_width;
    for (int d = 0; d < DIRECTIONS; d++) {
        plan.arrived[d] = has_neighbor(tile, d) && i == 0 ? (long)(in + grid->piece[d]) : -1;
        plan.leaving[d] = has_neighbor(tile, d) && i == n - 1 ? (long)(out + grid->piece[d]) : -1;
    }
    return plan;
}

static void launch(const struct run *run, const struct local_tile *t, struct queue *queue, struct launch_plan *plan)
{
    const struct plan_buffers buffers = {
        .in = t->buf[run->cur],
        .out = t->buf[!run->cur],
        .messages = t->messages,
    };

    plan_launch(run->ops, queue, t->kernel, run->real, &buffers, plan, run->opt->weights);
}

bool has_frame(int i, int n)
{
    return i == 0 || i == n - 1;
}

void compute(const struct run *run, const struct local_tile *t, int i, int n)
{
    struct launch_plan plan = frame_plan(run, &t->shape, i, n);

    plan.inside = plan.inner;
    launch(run, t, t->queue, &plan);
}

void compute_and_wait(const struct run *run, struct local_tile *t, int i, int n)
{
    struct launch_plan plan = frame_plan(run, &t->shape, i, n);

    plan.inside = plan.inner;
    plan.words = (long)words_offset(run);
    plan.wait_for = (long)run->exchanges;
    plan.count = i == n - 1;
    if (plan.count)
        t->groups_done += (uint64_t)plan.frame_groups;
    launch(run, t, t->queue, &plan);
}

void compute_frame(const struct run *run, const struct local_tile *t, struct queue *queue, int i, int n)
{
    struct launch_plan plan = frame_plan(run, &t->shape, i, n);

    launch(run, t, queue, &plan);
}

void compute_inside(const struct run *run, const struct local_tile *t, struct queue *queue, int i, int n)
{
    struct launch_plan plan = empty_plan(run);

    set_bounds(run, &t->shape, i, n, &plan);
    plan.inside = plan.inner;
    launch(run, t, queue, &plan);
}

void compute_unframed(const struct run *run, const struct local_tile *t, int i, int n)
{
    struct launch_plan plan = empty_plan(run);

    set_bounds(run, &t->shape, i, n, &plan);
    plan.inside = plan.outer;
    launch(run, t, t->queue, &plan);
}

void compute_whole(const struct run *run, const struct local_tile *t)
{
    struct launch_plan plan = empty_plan(run);

    plan.inside = (struct bounds){.end_row = t->shape.rows, .end_col = t->shape.cols};
    launch(run, t, t->queue, &plan);
}
