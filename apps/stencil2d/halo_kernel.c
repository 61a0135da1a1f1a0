/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Halo exchange by the kernels that compute (kernel_direct.h; CUDA): the groups of a frame store what the neighbours need
 * into their messages, add to words there, and wait for those of the neighbours. The host sends the first pieces only.
 *
 * Where the device holds the groups of an iteration in a few turns, one launch does many rounds: nothing is launched
 * between iterations, which is most of the time that small tiles take. Else there is a launch for each iteration, in which
 * the device passes groups on to free multiprocessors. Both do the same towards the neighbours, so they may differ from
 * PE to PE and from round to round.
 */
#include <limits.h>
#include <shmemx.h>
#include <shmemx_device.h>
#include <stdlib.h>

#include "stencil2d.h"

/* Rounds of one launch, and groups of an iteration that one group of the launch computes. */
#define MOST_ROUNDS 1000
#define MOST_TURNS 4

struct direct {
    shmemx_device_view_t view; /* of the messages */
    struct neighbor_plan neighbors;
    struct kernel *step, *persist;
    struct buffer *plans; /* of persist: for even and odd exchanges, the iterations of a round */
    long groups;          /* that persist is launched with; 0: it is not                        */
    double weights[3];
};

/* ---- Is it possible? --------------------------------------------------------------------------------------------- */

enum { POSSIBLE, NOT_CUDA, SEVERAL_GPUS, NO_KERNEL, NO_ROUTE, NO_VIEW, IN_TURNS, SHARED };

static const char *const refusals[] = {
    [NOT_CUDA] = "kernels communicate on CUDA devices only",
    [SEVERAL_GPUS] = "it takes one GPU for each PE, not --gpus-per-pe",
    [NO_KERNEL] = "the GPU of a PE is older than compute capability 7.0",
    [NO_ROUTE] =
        "the kernels of a PE cannot reach the GPU of a neighbour (it is on another node, or there is no cuda-ipc)",
    [NO_VIEW] = "shmemx_device_view has failed",
    [IN_TURNS] = "PEs share a GPU without MPS, so that kernels that wait for each other would take turns",
    [SHARED] = "PEs share a GPU, where it has to be asked for by its name",
};

static const char *name_of(const struct run *run, const char *sp, const char *dp)
{
    return run->real == &real_sp ? sp : dp;
}

/* Whatever this PE can tell without a word to the library's log. */
static int obstacle(const struct run *run)
{
    if (run->ops->memtype != OSHM_MEMTYPE_CUDA || !run->ops->together.launch)
        return NOT_CUDA;
    if (run->n_tiles > 1)
        return SEVERAL_GPUS;
    if (!run->ops->together.has(run->tiles[0].dev, name_of(run, "step_sp", "step_dp")))
        return NO_KERNEL;
    if (!reaches_neighbors(&run->tiles[0]))
        return NO_ROUTE;
    if (!shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA))
        return IN_TURNS;
    return run->is_trial && shmemx_device_sharers() > 1 ? SHARED : POSSIBLE;
}

/* All PEs refuse for the same cause. */
static bool all_can(struct run *run, int cause)
{
    const int worst = (int)job_max(cause);

    run->refusal = refusals[worst];
    return worst == POSSIBLE;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* Returns the most groups that an iteration has. */
static long write_plans(const struct run *run)
{
    const int width = run->grid.halo_width;
    const size_t bytes = 2 * (size_t)width * sizeof(struct launch_plan);
    struct launch_plan *plans = host_alloc(bytes);
    long most = 0;

    for (int i = 0; i < 2 * width; i++) {
        plans[i] = direct_plan(run, (uint64_t)(i / width), i % width, width);
        most = plans[i].groups > most ? plans[i].groups : most;
    }
    run->direct->plans = run->ops->alloc(run->tiles[0].dev, bytes);
    run->ops->write(run->tiles[0].dev, run->direct->plans, 0, plans, bytes);
    free(plans);
    return most;
}

static void open_kernels(const struct run *run)
{
    struct device *dev = run->tiles[0].dev;
    struct direct *direct = run->direct;
    long held, needed, turns;

    direct->step = run->ops->gpu.kernel(dev, name_of(run, "step_sp", "step_dp"), NULL);
    direct->persist = run->ops->gpu.kernel(dev, name_of(run, "persist_sp", "persist_dp"), NULL);
    held = (long)run->ops->together.most_groups(dev, direct->persist, GROUP) / shmemx_device_sharers();
    needed = write_plans(run);
    turns = held > 0 ? (needed + held - 1) / held : LONG_MAX;
    direct->groups = turns > MOST_TURNS ? 0 : (needed + turns - 1) / turns;
    round_weights(run->real, run->opt->weights, direct->weights);
}

static void open_direct(struct run *run)
{
    open_mapped(run);
    run->waits_in_kernel = true;
    if (!all_can(run, obstacle(run)))
        return;
    run->direct = host_alloc(sizeof(*run->direct));
    *run->direct = (struct direct){.groups = 0};
    if (!all_can(run, shmemx_device_view(run->tiles[0].mapped_messages, &run->direct->view) ? NO_VIEW : POSSIBLE))
        return;
    direct_neighbors(run, &run->direct->neighbors);
    open_kernels(run);
    run->sync = run->direct->groups > 0 ? "persistent" : "launches";
}

static void close_direct(struct run *run)
{
    if (run->direct && run->direct->plans)
        run->ops->free(run->tiles[0].dev, run->direct->plans);
    free(run->direct);
    run->direct = NULL;
    close_mapped(run);
}

/* ---- Iterations -------------------------------------------------------------------------------------------------- */

/* The first pieces were written by the host: it sends them as the frame would have. No kernel waits on any PE while a
 * put is under way: where PEs share a GPU, the library's kernels may not get their turn beside one that waits. */
static void step(struct run *run)
{
    if (run->exchanges > run->exchanges_before + 1)
        return;
    put_by_host(run, (uint64_t)frame_groups(run, &run->tiles[0].shape));
    shmem_barrier_all();
}

static void compute_steps(struct run *run, int n)
{
    const struct local_tile *t = &run->tiles[0];
    struct direct *direct = run->direct;

    for (int i = 0; i < n; i++) {
        struct launch_plan plan = direct_plan(run, run->exchanges, i, n);
        const struct launch launch = launch_of(plan.groups);
        const struct argument arguments[] = {
            BUFFER_ARGUMENT(t->buf[run->cur]),
            BUFFER_ARGUMENT(t->buf[!run->cur]),
            BUFFER_ARGUMENT(t->messages),
            VALUE_ARGUMENT(plan),
            VALUE_ARGUMENT(direct->neighbors),
            VALUE_ARGUMENT(direct->view),
            {.value = &direct->weights[0], .size = run->real->size},
            {.value = &direct->weights[1], .size = run->real->size},
            {.value = &direct->weights[2], .size = run->real->size},
        };

        run->ops->gpu.launch(t->queue, direct->step, &launch, arguments, sizeof(arguments) / sizeof(arguments[0]));
        run->cur = !run->cur;
    }
}

static void launch_rounds(const struct run *run, const struct rounds_plan *rounds)
{
    const struct local_tile *t = &run->tiles[0];
    const struct direct *direct = run->direct;
    const struct launch launch = launch_of(direct->groups);
    const struct argument arguments[] = {
        BUFFER_ARGUMENT(t->buf[0]),
        BUFFER_ARGUMENT(t->buf[1]),
        BUFFER_ARGUMENT(t->messages),
        BUFFER_ARGUMENT(direct->plans),
        VALUE_ARGUMENT(direct->neighbors),
        VALUE_ARGUMENT(direct->view),
        VALUE_ARGUMENT(*rounds),
        {.value = &direct->weights[0], .size = run->real->size},
        {.value = &direct->weights[1], .size = run->real->size},
        {.value = &direct->weights[2], .size = run->real->size},
    };

    run->ops->together.launch(t->queue, direct->persist, &launch, arguments, sizeof(arguments) / sizeof(arguments[0]));
}

static long compute_rounds(struct run *run, long left)
{
    const long width = run->grid.halo_width;
    const long count = left / width < MOST_ROUNDS ? left / width : MOST_ROUNDS;
    const struct rounds_plan rounds = {
        .count = count,
        .width = width,
        .exchange = (long)run->exchanges,
        .before = (long)run->exchanges_before,
        .cur = run->cur,
        .done = (long)run->tiles[0].groups_done,
    };

    if (run->direct->groups == 0 || count == 0)
        return 0;
    launch_rounds(run, &rounds);
    run->tiles[0].groups_done += (uint64_t)(run->direct->groups * count * width);
    run->cur = (int)((run->cur + count * width) % 2);
    run->exchanges += (uint64_t)count - 1;
    return count;
}

const struct exchange exchange_kernel = {
    .variant = "kernel",
    .sync = "kernel",
    .in_queues = true,
    .overlaps = true,
    .open = open_direct,
    .step = step,
    .compute = compute_steps,
    .compute_many = compute_rounds,
    .close = close_direct,
};
