/* SPDX-License-Identifier: BSD-3-Clause
 *
 * deepcopy: measures deep copies of lists, trees and a mesh beside the same transfers by hand.
 */
#include "deepcopy.h"

#include <stdlib.h>
#include <string.h>

enum { EXIT_SKIP = 77 }; /* the requested device is not here */

static int refused; /* symmetric: PEs without the device */

static int end(int status)
{
    fflush(stdout);
    shmem_barrier_all();
    shmem_finalize();
    return status;
}

/* Opens the device; whether every PE has one. Collective. */
static bool open_device(struct run *run)
{
    const struct device_ops *ops = device_find(run->options.device);
    run->device = ops->open(shmemx_my_device(ops->memtype), NULL);
    if (!run->device) {
        for (int pe = 0; pe < run->n_pes; pe++)
            shmem_int_atomic_inc(&refused, pe);
    }
    shmem_barrier_all();
    if (refused && run->me == 0)
        fprintf(stderr, "deepcopy: %s (seen by %d of %d PEs)\n", ops->absent, refused, run->n_pes);
    return !refused;
}

/* The graphs to measure, one after the other; false after the last. */
static bool next_plan(const struct options *options, size_t *number, struct graph_plan *plan)
{
    size_t count = 0;
    for (size_t s = 0; s < options->n_shapes; s++) {
        size_t n = strcmp(options->shapes[s], "umt") ? options->n_sizes : 1;
        for (size_t m = 0; m < n; m++) {
            if (count++ < *number)
                continue;
            *plan = (struct graph_plan){options->shapes[s], options->sizes[m], options->nodes, options->scale};
            ++*number;
            return true;
        }
    }
    return false;
}

static size_t largest_bound(const struct options *options)
{
    struct graph_plan plan;
    size_t largest = 0;
    for (size_t i = 0; next_plan(options, &i, &plan);)
        largest = graph_bound(&plan) > largest ? graph_bound(&plan) : largest;
    return largest;
}

static void measure_all(struct run *run, const struct peer *peer)
{
    struct graph_plan plan;
    struct graph graph;
    report_title(run);
    for (size_t i = 0; next_plan(&run->options, &i, &plan);) {
        graph_build(&graph, &plan);
        if (run->options.own)
            measure_own(run, &graph);
        if (run->options.peer && run->n_pes > 1)
            measure_peer(run, &graph, peer);
        graph_destroy(&graph);
    }
    if (run->options.has_goals)
        report_goals(run);
}

int main(int argc, char **argv)
{
    static struct run run;
    struct peer peer = {0};
    program_name = "deepcopy";
    shmem_init();
    run.me = shmem_my_pe();
    run.n_pes = shmem_n_pes();
    run.right = true;
    if (options_read(&run.options, argc, argv))
        return end(2);
    if (run.options.help || run.options.version) {
        if (run.me == 0)
            run.options.help ? options_help() : print_version();
        return end(EXIT_SUCCESS);
    }
    if (!open_device(&run))
        return end(EXIT_SKIP);
    if (run.options.csv && run.me == 0 && !(run.csv = fopen(run.options.csv, "a")))
        die("%s: cannot write", run.options.csv);
    bool two = run.options.peer && run.n_pes > 1;
    if (two)
        peer_open(&peer, &run, largest_bound(&run.options));
    if (run.me == 0)
        measure_all(&run, &peer);
    shmem_barrier_all();
    if (two)
        peer_close(&peer, &run);
    if (run.csv && fclose(run.csv))
        die("%s: cannot write", run.options.csv);
    return end(run.right ? EXIT_SUCCESS : EXIT_FAILURE);
}
