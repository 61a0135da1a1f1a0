/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Halo exchange while the device computes: nobody waits on the host, and there is no barrier. Each tile has two queues.
 *
 * In queues (any device): the urgent queue computes frames, sends them and waits for those of the neighbours; the other
 * computes what is inside of the frames. With a halo of one cell, where each iteration is the first and the last of a
 * round:
 *
 *     urgent:  put k, wait for k |         frame of k | put k + 1, wait for k + 1 |
 *     queue:      inside of k - 1 |     inside of k                               |
 *                                ^ each queue has seen the other's work of iteration k - 1
 *
 * The puts of exchange k need the frame of iteration k - 1 alone, so they run beside the inside of k - 1.
 *
 * On the host (OpenCL, where a queue that waits goes on late, since only a thread can tell it to): the queue computes
 * frames and insides, and the host waits for a frame, puts it, and waits for the neighbours. The urgent queue has a
 * marker behind the frame:
 *
 *     queue:  frame, inside of k - 1                 |  frame, inside of k
 *     host:          put k, wait for k               |         put k + 1, wait for k + 1
 *
 * Where PEs use a GPU in turns, both queues are one, puts are in it, and the host waits for the neighbours: a queue that
 * waits may keep the GPU until its turn ends, 2 ms later.
 *
 * In the kernel (CUDA, where the GPUs reach each other, and PEs do not use one in turns): a launch computes frame and
 * inside, with nothing between two launches. The first groups are those of the frame. They wait for the signals of the
 * neighbours themselves, as a rule for nothing, since those were sent early in the iteration before; when they are done
 * they count themselves in a word. The urgent queue waits for that word and puts the frame, while the rest of the same
 * launch goes on.
 *
 * With several neighbours, some of the puts are in further queues, which wait for the same, so that one message does
 * not wait for another.
 *
 * Why nothing is overwritten too early: what halo_mapped.c says of the host's order holds for the order of puts, waits
 * and frames here. In queues it is the urgent queue that keeps it. In the kernel, the frame of iteration k waits for
 * exchange k of all neighbours, and they have sent it after their frames had read this PE's exchange k - 1. So that one
 * has been delivered, and the area that it went out from can be written for exchange k + 1.
 *
 * Between the two queues: iteration k writes the buffer that iteration k - 1 has read, so both its kernels wait for
 * both kernels of k - 1; they write different cells.
 */
#include <shmemx.h>
#include <string.h>

#include "stencil2d.h"

bool reaches_neighbors(const struct local_tile *t)
{
    for (int d = 0; d < DIRECTIONS; d++)
        if (has_neighbor(&t->shape, d)) {
            const char *route = shmemx_route(t->mapped_messages, t->shape.neighbor[d].pe);

            if (!route || (strcmp(route, "cuda-ipc") != 0 && strcmp(route, "shared") != 0))
                return false;
        }
    return true;
}

/* Signals lie where the receiver looks for them, so all PEs must decide alike. */
static bool all_can_wait_in_kernel(const struct run *run)
{
    int *cannot = symmetric_alloc(2 * sizeof(*cannot));
    bool all;

    cannot[0] = run->ops->memtype != OSHM_MEMTYPE_CUDA || run->n_tiles > 1 || !reaches_neighbors(&run->tiles[0]) ||
                !shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA);
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &cannot[1], &cannot[0], 1);
    all = cannot[1] == 0;
    shmem_free(cannot);
    return all;
}

/* Do PEs use this PE's GPU in turns? Then other PEs compute meanwhile, and there is nothing to overlap; but queues of
 * different priority that wait for each other keep the GPU until the turn ends. */
static bool takes_turns(const struct run *run)
{
    return run->ops->memtype == OSHM_MEMTYPE_CUDA && !shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA);
}

static bool host_waits(const struct run *run)
{
    const enum sync sync = run->opt->sync;

    return run->takes_turns || sync == BY_SIGNALS || (sync != IN_QUEUE && run->ops->memtype == OSHM_MEMTYPE_OPENCL);
}

/* The urgent one, as that of the mapped variant is. */
static void use_one_queue(const struct run *run, struct local_tile *t)
{
    run->ops->gpu.queue_close(t->queue);
    t->queue = t->urgent;
}

static void open_overlapped(struct run *run)
{
    open_mapped(run);
    run->takes_turns = takes_turns(run);
    run->host_waits = host_waits(run);
    run->host_sends = run->host_waits && !run->takes_turns;
    run->waits_in_kernel = run->opt->sync != IN_QUEUE && !run->host_waits && all_can_wait_in_kernel(run);
    run->sync = run->waits_in_kernel ? "kernel" : run->host_waits ? "signal" : NULL;
    for (int t = 0; t < run->n_tiles && run->takes_turns; t++)
        use_one_queue(run, &run->tiles[t]);
}

/* ---- In the kernel ----------------------------------------------------------------------------------------------- */

static void put_when_done(const struct run *run, const struct local_tile *t)
{
    uint64_t *words = (uint64_t *)(t->mapped_messages + words_offset(run));

    run->ops->gpu.signal_wait(t->urgent, &words[GROUPS_DONE], t->groups_done);
    for (int i = 0; i < t->n_beside; i++)
        run->ops->gpu.signal_wait(t->beside[i], &words[GROUPS_DONE], t->groups_done);
    put_in_queues(run, t, t->urgent);
}

/* ---- In queues --------------------------------------------------------------------------------------------------- */

static void follow(const struct run *run, struct queue *queue, struct queue *earlier)
{
    if (queue != earlier)
        run->ops->gpu.follow(queue, earlier);
}

/* The last iteration's frames are what the insides of the next one wait for, not the puts that come after them. */
static void put_behind_frame(const struct run *run, const struct local_tile *t)
{
    follow(run, t->queue, t->urgent);
    put_behind(run, t, t->urgent);
}

/* Iterations without a frame are in one queue, and leave the other alone. */
static void compute_in_queues(const struct run *run, const struct local_tile *t, int i, int n)
{
    if (i > 0 && has_frame(i - 1, n))
        follow(run, t->queue, t->urgent);
    if (has_frame(i, n)) {
        follow(run, t->urgent, t->queue);
        compute_frame(run, t, t->urgent, i, n);
    }
    compute_inside(run, t, t->queue, i, n);
}

/* ---- On the host ------------------------------------------------------------------------------------------------- */

/* A frame apart from the inside costs two more commands, 10 us with NVIDIA's OpenCL, as long as a GPU of 2023 takes for
 * so many cells: a smaller tile is computed whole, unless --sync signal asks for it. Where PEs use a GPU in turns, the
 * put comes behind both anyway. */
static bool has_frame_apart(const struct run *run, const struct local_tile *t)
{
    const long least = 2048 * 2048;

    return !run->takes_turns && (run->opt->sync == BY_SIGNALS || (long)t->shape.rows * t->shape.cols > least);
}

/* What is sent next waits for the frame alone. */
static void compute_in_line(const struct run *run, const struct local_tile *t, int i, int n)
{
    if (!has_frame(i, n) || !has_frame_apart(run, t)) {
        compute(run, t, i, n);
        return;
    }
    compute_frame(run, t, t->queue, i, n);
    if (i == n - 1)
        follow(run, t->urgent, t->queue);
    compute_inside(run, t, t->queue, i, n);
}

static void wait_for_frame(const struct run *run, const struct local_tile *t)
{
    run->ops->gpu.finish(has_frame_apart(run, t) ? t->urgent : t->queue);
}

/* ---- All three --------------------------------------------------------------------------------------------------- */

static void send(const struct run *run, const struct local_tile *t)
{
    if (run->waits_in_kernel)
        put_when_done(run, t);
    else if (run->host_waits)
        put_behind(run, t, t->urgent);
    else
        put_behind_frame(run, t);
}

/* All puts are in their queues before a queue waits, so that tiles of one PE can be neighbours. */
static void step(struct run *run)
{
    if (run->host_sends) {
        for (int t = 0; t < run->n_tiles; t++)
            wait_for_frame(run, &run->tiles[t]);
        put_from_host(run);
        return;
    }
    for (int t = 0; t < run->n_tiles; t++)
        send(run, &run->tiles[t]);
    if (run->host_waits)
        wait_for_neighbors(run);
    for (int t = 0; t < run->n_tiles && !run->waits_in_kernel && !run->host_waits; t++)
        wait_in_queue(run, &run->tiles[t], run->tiles[t].urgent);
}

static void compute_tile(const struct run *run, struct local_tile *t, int i, int n)
{
    if (run->waits_in_kernel)
        compute_and_wait(run, t, i, n);
    else if (run->host_waits)
        compute_in_line(run, t, i, n);
    else
        compute_in_queues(run, t, i, n);
}

static void compute_round(struct run *run, int n)
{
    for (int i = 0; i < n; i++) {
        for (int t = 0; t < run->n_tiles; t++)
            compute_tile(run, &run->tiles[t], i, n);
        run->cur = !run->cur;
    }
}

const struct exchange exchange_overlapped = {
    .variant = "overlapped",
    .sync = "queue",
    .in_queues = true,
    .overlaps = true,
    .open = open_overlapped,
    .step = step,
    .compute = compute_round,
    .close = close_mapped,
};
