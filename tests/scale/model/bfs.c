/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Predicts the time of a breadth-first search: the search's real exchanges (apps/bfs, exchange_mapped.c and
 * exchange_naive.c), and that over a grid, whose ways are real (grid_shape.c), with kernels that only take time. How many edges and pairs a level has comes from a search of a
 * Kronecker graph of the real generator, spread over the same number of PEs (bfs_graph.c); larger graphs are taken to
 * have the same shares. Numbers are drawn at random by the generator, so every PE has the same amount.
 */
#include "bfs_graph.h"
#include "calls.h"

#include "grid.h"
#include "shmem/coll/collectives.h"
#include "shmmap/symmetric.h"

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct levels levels;
    double scaling; /* how many times as large as the graph that was searched */
    const struct exchange *exchange;
    double begin, end;
} loop;

/* ---- What search.c gives the exchanges --------------------------------------------------------------------------- */

size_t search_pairs(const struct partition *part)
{
    return (size_t)(part->n_pes - 1) * part->block;
}

size_t search_words(const struct partition *part)
{
    return part->block / 32;
}

size_t search_all_words(const struct partition *part)
{
    return (size_t)part->n_pes * search_words(part);
}

struct report *search_report(struct search *search, int pe)
{
    return &search->reports[pe];
}

void search_reserve_in_boxes(struct search *search)
{
    (void)search; /* takes no time worth counting */
}

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

static const struct device_ops ops = {.name = "model", .read = read_buffer, .write = write_buffer};

/* ---- A search ---------------------------------------------------------------------------------------------------- */

/* A small number of pairs is spread over the PEs: not all get one. */
static size_t pairs_to(const struct pe *pe, int other, int level)
{
    const double pairs = loop.levels.pairs[level] * loop.scaling / sim_n_pes / (sim_n_pes - 1);
    const double even = (double)((unsigned)(pe->number * 7919 + other * 104729 + level) % 1000) / 1000;
    return (size_t)(pairs + even);
}

static void send_level(struct search *search, const struct pe *pe, int level)
{
    search->epoch++;
    for (int k = 1; k < sim_n_pes; k++) {
        const int other = (pe->number + k) % sim_n_pes;
        const size_t n = pairs_to(pe, other, level);
        if (n > 0)
            search->exchange->send_pairs(search, other, 0, n);
    }
    search->exchange->deliver(search);
}

/* A kernel for each eight PEs that have sent something, as in search.c. */
static void receive_level(struct search *search, const struct pe *pe, int level)
{
    size_t arrived = 0;
    int n = 0;
    for (int k = sim_n_pes - 1; k > 0; k--) {
        const int other = (pe->number + k) % sim_n_pes;
        const size_t pairs = pairs_to(sim_pe(other), pe->number, level);
        search->exchange->await(search, other);
        arrived += pairs;
        n += pairs > 0;
        if (pairs > 0)
            search->exchange->take_pairs(search, 0, pairs);
        if (n == ARRIVALS || (n > 0 && k == 1)) {
            calls_compute((double)arrived / model.gpu_edges);
            arrived = 0;
            n = 0;
        }
    }
}

static void run_pe(struct pe *pe)
{
    struct search search = {.exchange = loop.exchange, .ops = &ops, .my_pe = pe->number, .n_pes = sim_n_pes};
    search.to_send = calloc((size_t)sim_n_pes, sizeof *search.to_send);
    search.outbox_map = search.inbox_map = calls_device_memory();
    search.host_outbox = search.host_inbox = (u64 *)calls_host_memory();
    search.reports = (struct report *)calls_host_memory();
    search.signals = (uint64_t *)(calls_host_memory() + (8 << 20));
    shmem_barrier_all();
    loop.begin = sim_now();
    for (int level = 0; level < loop.levels.n; level++) {
        calls_compute(loop.levels.edges[level] * loop.scaling / sim_n_pes / model.gpu_edges);
        calls_copy(sizeof(struct counters) + (size_t)sim_n_pes * sizeof(u32));
        send_level(&search, pe, level);
        receive_level(&search, pe, level);
    }
    loop.end = sim_now();
    free(search.to_send);
}

/* ---- Over a grid: what grid.c does in a level -------------------------------------------------------------------- */

struct hop_peers {
    int n_to, n_from, to[MOST_PES], slot[MOST_PES], from[2 * MOST_PES];
    uint64_t *signals;
};

static void find_rows(struct hop_peers *peers, const struct pe_grid *grid, int me)
{
    for (int column = 0; column < grid->columns; column++) {
        peers->to[peers->n_to] = pe_grid_turn(grid, me, column);
        peers->slot[peers->n_to] = pe_grid_hop(grid, me, peers->to[peers->n_to]);
        peers->n_to++;
    }
    peers->n_from = 2 * grid->columns;
    for (int hop = 0; hop < peers->n_from; hop++)
        peers->from[hop] = pe_grid_source(grid, me, hop);
}

static void find_columns(struct hop_peers *peers, const struct pe_grid *grid, int me)
{
    for (int row = 0; row < grid->rows; row++) {
        peers->to[row] = peers->from[row] = pe_grid_at(grid, row, me % grid->columns);
        peers->slot[row] = me / grid->columns;
    }
    peers->n_to = peers->n_from = grid->rows;
}

/* Every PE sends the same number of pairs to each. */
static void run_hop(const struct hop_peers *peers, int me, uint64_t epoch, double pairs)
{
    const double each = pairs / peers->n_to;
    for (int i = 0; i < peers->n_to; i++)
        if (peers->to[i] >= 0 && peers->to[i] != me && each >= 1)
            shmem_putmem_nbi(calls_device_memory(), calls_device_memory(), (size_t)(each * sizeof(u64)), peers->to[i]);
    shmem_quiet();
    for (int i = 0; i < peers->n_to; i++)
        if (peers->to[i] >= 0 && peers->to[i] != me)
            shmem_signal_set(&peers->signals[peers->slot[i]], epoch, peers->to[i]);
    for (int i = 0; i < peers->n_from; i++)
        if (peers->from[i] >= 0 && peers->from[i] != me)
            shmem_signal_wait_until(&peers->signals[i], SHMEM_CMP_GE, epoch);
    for (int batch = 0; batch < (each >= 1 ? (peers->n_to + ARRIVALS - 1) / ARRIVALS : 1); batch++)
        calls_compute(pairs * ARRIVALS / peers->n_to / model.gpu_edges);
}

static void sum_up(struct pe *pe)
{
    char *host = calls_host_memory() + (16 << 20);
    struct shmemi_symmetric words = {&shmemi_heap_region, (size_t)(host - shmemi_heap_region.base), host};
    struct shmemi_reduce_args args = {&shmemi_ops[SHMEMI_OP_sum][SHMEMI_KIND_U64], words, words, 4 * sizeof(u64)};
    shmemi_reduce(library_team(pe), &args);
}

static void run_pe_in_grid(struct pe *pe)
{
    const struct pe_grid grid = pe_grid_make(sim_n_pes);
    struct hop_peers *hop = calloc(2, sizeof *hop);
    find_rows(&hop[0], &grid, pe->number);
    find_columns(&hop[1], &grid, pe->number);
    for (int i = 0; i < 2; i++)
        hop[i].signals = (uint64_t *)calls_host_memory() + i * 2 * MOST_PES;
    shmem_barrier_all();
    loop.begin = sim_now();
    for (int level = 0; level < loop.levels.n; level++) {
        const double pairs = loop.levels.pairs[level] * loop.scaling / sim_n_pes;
        calls_compute(loop.levels.edges[level] * loop.scaling / sim_n_pes / model.gpu_edges);
        for (int i = 0; i < 2; i++) {
            calls_copy(sizeof(struct counters));
            run_hop(&hop[i], pe->number, (uint64_t)level + 1, pairs);
        }
        sum_up(pe);
    }
    loop.end = sim_now();
    free(hop);
}

/* exchange: NULL: over a grid. */
static void predict(int n_pes, int per_node, int scale, const struct exchange *exchange)
{
    loop.exchange = exchange;
    sim_run(n_pes, per_node, exchange ? run_pe : run_pe_in_grid);
    printf("prediction: bfs %-8s scale %d %6d PEs %d levels %12.2f us per search\n", exchange ? exchange->name : "grid",
           scale, n_pes, loop.levels.n, 1e6 * (loop.end - loop.begin));
    fflush(stdout);
}

/* bfs PES PER_NODE SCALE SAMPLE_SCALE */
int model_bfs(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "model bfs PES PER_NODE SCALE SAMPLE_SCALE\n");
        return 2;
    }
    const int n_pes = atoi(argv[0]), per_node = atoi(argv[1]), scale = atoi(argv[2]);
    int sample = atoi(argv[3]);
    sample = sample < scale ? sample : scale;
    loop.levels = bfs_levels(sample, n_pes);
    loop.scaling = (double)(UINT64_C(1) << (scale - sample));
    predict(n_pes, per_node, scale, NULL);
    for (int i = 0; i < 2 && n_pes <= MOST_PES; i++)
        predict(n_pes, per_node, scale, i ? &exchange_naive : &exchange_mapped);
    return 0;
}
