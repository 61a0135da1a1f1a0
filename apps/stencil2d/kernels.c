/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel and how it is launched. Without nvcc its fat binary is a single byte.
 */
#include <shmemx.h>

#include "stencil2d.h"

static const _Alignas(64) unsigned char fatbin[] = {
#include "stencil2d.fatbin.inc"
};

static const char opencl[] = {
#include "stencil2d.cl.inc"
    0};

const struct kernel_code stencil_kernels = {sizeof(fatbin) > 1 ? fatbin : NULL, opencl};

struct kernel *sweep_kernel(const struct device_ops *ops, struct device *dev, const struct real *real)
{
    if (real == &real_sp)
        return ops->gpu.kernel(dev, "sweep_sp", "-DREAL=float -DSWEEP=sweep_sp");
    if (!ops->gpu.has_double(dev))
        die("device %s has no double precision: use -p sp", ops->gpu.label(dev));
    return ops->gpu.kernel(dev, "sweep_dp", "-DREAL=double -DSWEEP=sweep_dp -DNEEDS_FP64");
}

static long parts(long n, long size)
{
    return (n + size - 1) / size;
}

/* The groups of the rectangle, counted as the kernel does: packs begin where memory is aligned. */
static long groups_inside(const struct device_ops *ops, const struct launch_plan *plan, size_t element_size)
{
    const struct bounds *b = &plan->inside;
    bool cuda = ops->memtype == OSHM_MEMTYPE_CUDA;
    long group_cols = GROUP_WIDTH * (cuda ? CUDA_PACK_BYTES / (long)element_size : OPENCL_PACK_COLS);
    long group_rows = GROUP_HEIGHT * (cuda ? CUDA_PACK_ROWS : OPENCL_PACK_ROWS);
    long skipped = (plan->origin + b->first_row * plan->pitch + b->first_col) % ALIGNED_CELLS;

    if (b->end_row <= b->first_row || b->end_col <= b->first_col)
        return 0;
    return parts(skipped + b->end_col - b->first_col, group_cols) * parts(b->end_row - b->first_row, group_rows);
}

void plan_groups(const struct device_ops *ops, const struct real *real, struct launch_plan *plan)
{
    plan->groups = plan->frame_groups + groups_inside(ops, plan, real->size);
}

struct launch launch_of(long groups)
{
    return (struct launch){
        .global = {(size_t)groups * GROUP_WIDTH, GROUP_HEIGHT},
        .group = {GROUP_WIDTH, GROUP_HEIGHT},
    };
}

void round_weights(const struct real *real, const double weights[3], double rounded[3])
{
    for (int i = 0; i < 3; i++)
        real->set(&rounded[i], weights[i], 1);
}

void plan_launch(const struct device_ops *ops, struct queue *queue, struct kernel *kernel, const struct real *real,
                 const struct plan_buffers *buffers, struct launch_plan *plan, const double weights[3])
{
    struct launch launch;
    double rounded[3];
    struct argument arguments[] = {
        BUFFER_ARGUMENT(buffers->in),
        BUFFER_ARGUMENT(buffers->out),
        BUFFER_ARGUMENT(buffers->messages),
        VALUE_ARGUMENT(*plan),
        {.value = &rounded[0], .size = real->size},
        {.value = &rounded[1], .size = real->size},
        {.value = &rounded[2], .size = real->size},
    };

    plan_groups(ops, real, plan);
    launch = launch_of(plan->groups);
    round_weights(real, weights, rounded);
    ops->gpu.launch(queue, kernel, &launch, arguments, sizeof(arguments) / sizeof(arguments[0]));
}

void sweep_launch(const struct device_ops *ops, struct queue *queue, struct kernel *kernel, const struct real *real,
                  const struct sweep *sweep)
{
    const struct plan_buffers buffers = {.in = sweep->in, .out = sweep->out, .messages = sweep->out};
    struct launch_plan plan = {
        .origin = (long)sweep->origin,
        .pitch = (long)sweep->pitch,
        .inside = {.end_row = sweep->rows, .end_col = sweep->cols},
        .words = -1,
    };

    plan_launch(ops, queue, kernel, real, &buffers, &plan, sweep->weights);
}
