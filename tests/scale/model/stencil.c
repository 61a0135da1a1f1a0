/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Predicts the time of an iteration of Stencil2D: its real decomposition and its real exchange of halos (apps/stencil2d,
 * grid.c, halo_mapped.c, halo_naive.c), with kernels and copies that only take time.
 */
#include "calls.h"

/* The search has an exchange of this name, too. */
#define exchange_naive stencil_naive
#include "../../../apps/stencil2d/halo_naive.c"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct options options;
    const struct exchange *exchange;
    int iterations;
    double begin, end;
} loop;

static void read_buffer(struct device *dev, void *dest, const struct buffer *buf, size_t offset, size_t bytes)
{
    (void)dev, (void)dest, (void)buf, (void)offset;
    calls_copy(bytes);
}

static void write_buffer(struct device *dev, struct buffer *buf, size_t offset, const void *source, size_t bytes)
{
    (void)dev, (void)buf, (void)offset, (void)source;
    calls_copy(bytes);
}

static void put_signal(struct queue *queue, void *dest, const void *source, size_t bytes, uint64_t *signal,
                       uint64_t value, int pe)
{
    (void)queue, (void)source;
    calls_send(dest, bytes, signal, value, pe);
}

static const struct device_ops ops = {
    .name = "model", .read = read_buffer, .write = write_buffer, .gpu = {.put_signal = put_signal}};
static const struct real single = {.name = "sp", .size = sizeof(float)};

static void iterate(struct run *run, const struct local_tile *tile)
{
    const double cells = (double)tile->shape.rows * tile->shape.cols;
    for (int i = 0; i < loop.iterations; i++) {
        run->exchanges++;
        run->exchange->step(run);
        calls_compute(cells / model.gpu_cells);
    }
}

static void run_pe(struct pe *pe)
{
    struct local_tile tile = {.mapped_messages = calls_device_memory()};
    struct run run = {
        .opt = &loop.options, .real = &single, .ops = &ops, .exchange = loop.exchange, .tiles = &tile, .n_tiles = 1};
    run.signals = (uint64_t *)calls_host_memory();
    run.staging = calls_host_memory() + 4096;
    const char *problem = grid_make(&loop.options, sim_n_pes, single.size, &run.grid);
    if (problem) {
        fprintf(stderr, "model: %s\n", problem);
        exit(2);
    }
    grid_tile(&run.grid, pe->number, 0, &tile.shape);
    shmem_barrier_all();
    loop.begin = sim_now();
    iterate(&run, &tile);
    loop.end = sim_now(); /* the last one counts */
}

static void predict(int n_pes, int per_node, const char *variant, const struct exchange *exchange)
{
    loop.exchange = exchange;
    sim_run(n_pes, per_node, run_pe);
    printf("prediction: stencil2d %-8s %ldx%ld%s %6d PEs %12.2f us per iteration\n", variant, loop.options.rows,
           loop.options.cols, loop.options.per_pe ? " per PE" : "", n_pes,
           1e6 * (loop.end - loop.begin) / loop.iterations);
    fflush(stdout);
}

/* stencil PES PER_NODE ROWS COLS weak|strong signal|queue ITERATIONS */
int model_stencil(int argc, char **argv)
{
    if (argc < 7) {
        fprintf(stderr, "model stencil PES PER_NODE ROWS COLS weak|strong signal|queue ITERATIONS\n");
        return 2;
    }
    const int n_pes = atoi(argv[0]), per_node = atoi(argv[1]);
    loop.options = (struct options){.rows = atol(argv[2]),
                                    .cols = atol(argv[3]),
                                    .per_pe = !strcmp(argv[4], "weak"),
                                    .halo_width = 1,
                                    .gpus_per_pe = 1};
    loop.iterations = atoi(argv[6]);
    predict(n_pes, per_node, "mapped", strcmp(argv[5], "queue") ? &exchange_mapped_signal : &exchange_mapped_queue);
    predict(n_pes, per_node, "naive", &exchange_naive);
    return 0;
}
