/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The mapped exchange in the device's queue, captured into graphs (CUDA): one launch does up to 100 iterations with their
 * puts, signals and waits, and the same graph is launched again and again.
 *
 * A graph always sends the same values. So a signal is 1 when its message has come and set to 0 by the wait for it, and
 * there are two of each, for even and for odd exchanges: the next but one is sent only after the neighbour's next one has
 * come, and the neighbour sends that after it has taken this one. What halo_mapped.c says of messages holds here.
 *
 * Kernels and areas depend on the parity of the exchange and on which buffer holds the matrix. There is a graph for each
 * of the four beginnings, and all end as they begin. Iterations that are left over are enqueued one by one.
 */
#include <shmemx.h>
#include <string.h>

#include "stencil2d.h"

enum { MOST_ITERATIONS = 100 };

/* An even number, so that a graph ends with the parity and the buffer with which it begins. */
static int rounds_of_graph(const struct run *run)
{
    int pairs = MOST_ITERATIONS / (2 * run->grid.halo_width);

    return pairs > 0 ? 2 * pairs : 2;
}

static const char *refusal(const struct run *run)
{
    const struct local_tile *t = &run->tiles[0];

    if (!run->ops->gpu.capture)
        return "there are no graphs of this kind of device";
    if (run->n_tiles > 1)
        return "a graph has one tile";
    for (int d = 0; d < DIRECTIONS; d++) {
        const char *route =
            has_neighbor(&t->shape, d) ? shmemx_route(t->mapped_messages, t->shape.neighbor[d].pe) : "cuda-ipc";

        if (!route || (strcmp(route, "cuda-ipc") != 0 && strcmp(route, "shared") != 0))
            return "the GPU of a neighbour is not reached directly, so a thread of the library would take part";
    }
    return NULL;
}

/* All PEs refuse together. */
static void refuse_or_agree(const struct run *run)
{
    const char *reason = refusal(run);
    int *refuses = symmetric_alloc(2 * sizeof(*refuses));

    refuses[0] = reason != NULL;
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &refuses[1], &refuses[0], 1);
    if (refuses[1])
        quit_all("--variant graph: %s", reason ? reason : "a PE cannot capture its part");
    shmem_free(refuses);
}

static uint64_t *signal_of(const struct run *run, int direction)
{
    return &run->signals[run->exchanges % 2 * DIRECTIONS + (uint64_t)direction];
}

static void step(struct run *run)
{
    const struct local_tile *t = &run->tiles[0];
    void *stream = run->ops->gpu.queue_object(t->queue);

    for (int d = 0; d < DIRECTIONS; d++)
        if (has_neighbor(&t->shape, d))
            run->ops->gpu.put_signal(t->queue,
                                     t->mapped_messages + piece_offset(run, area_in(run->exchanges), opposite(d)),
                                     t->mapped_messages + piece_offset(run, area_out(run->exchanges), d),
                                     piece_bytes(run, t, d), signal_of(run, opposite(d)), 1, t->shape.neighbor[d].pe);
    for (int d = 0; d < DIRECTIONS; d++)
        if (has_neighbor(&t->shape, d))
            shmemx_signal_wait_until_set_on_stream(signal_of(run, d), SHMEM_CMP_EQ, 1, 0, stream);
}

/* A round's iterations are those that run.c enqueues. */
static struct graph *capture(struct run *run)
{
    struct local_tile *t = &run->tiles[0];

    run->ops->gpu.capture(t->queue);
    for (int round = 0; round < rounds_of_graph(run); round++) {
        run->exchanges++;
        step(run);
        for (int i = 0; i < run->grid.halo_width; i++) {
            compute(run, t, i, run->grid.halo_width);
            run->cur = !run->cur;
        }
    }
    return run->ops->gpu.captured(t->queue);
}

static void open_graphs(struct run *run)
{
    const int cur = run->cur;
    const uint64_t exchanges = run->exchanges;

    open_mapped(run);
    refuse_or_agree(run);
    shmem_free(run->signals);
    run->signals = shmem_calloc((size_t)2 * DIRECTIONS, sizeof(*run->signals));
    if (!run->signals)
        die("no memory left in the symmetric heap for signals: set SHMEM_SYMMETRIC_SIZE higher");
    for (int parity = 0; parity < 2; parity++)
        for (int buffer = 0; buffer < 2; buffer++) {
            run->exchanges = (uint64_t)parity;
            run->cur = buffer;
            run->graphs[parity][buffer] = capture(run);
        }
    run->cur = cur;
    run->exchanges = exchanges;
}

static void close_graphs(struct run *run)
{
    for (int parity = 0; parity < 2; parity++)
        for (int buffer = 0; buffer < 2; buffer++)
            run->ops->gpu.graph_close(run->graphs[parity][buffer]);
    close_mapped(run);
}

static long launch(struct run *run, long left)
{
    const long rounds = rounds_of_graph(run);

    if (left < rounds * run->grid.halo_width)
        return 0;
    run->ops->gpu.replay(run->tiles[0].queue, run->graphs[run->exchanges % 2][run->cur]);
    run->exchanges += (uint64_t)rounds;
    return rounds;
}

const struct exchange exchange_graph = {
    .variant = "graph",
    .sync = "queue",
    .in_queues = true,
    .open = open_graphs,
    .step = step,
    .replay = launch,
    .close = close_graphs,
};
