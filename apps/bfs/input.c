/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The graph that the command line asks for.
 */
#include "input.h"

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edges.h"
#include "report.h"
#include "threads.h"

#define NAME_BYTES sizeof(((struct graph *)NULL)->name)

#define MANY_EDGES (UINT64_C(1) << 26) /* a single thread takes half a minute for these */

/* The name goes into quotes in comma-separated values. */
static void format_name(const struct options *opt, char *name)
{
    const char *slash;

    if (!opt->file)
        snprintf(name, NAME_BYTES, "kronecker scale %d edgefactor %d", opt->scale, opt->edge_factor);
    else {
        slash = strrchr(opt->file, '/');
        snprintf(name, NAME_BYTES, "%s", slash ? slash + 1 : opt->file);
    }
    for (char *c = name; *c; c++)
        if (*c == '"' || *c == '\n')
            *c = '_';
}

static void advise(const struct extent *extent)
{
    if (shmem_my_pe() == 0 && extent->n_edges >= MANY_EDGES && threads_idle_cores() > 0)
        fprintf(stderr,
                "bfs: PEs build the graph with %d thread%s each, and %d cores for each are idle: "
                "oshrun --bind none lets them use all\n",
                threads_count(), threads_count() == 1 ? "" : "s", threads_idle_cores());
}

static void state(const struct options *opt, const struct place *place, const struct extent *extent)
{
    memory_refuse(opt, place, extent);
    memory_state(opt, place, extent);
    advise(extent);
    if (!opt->memory)
        return;
    shmem_finalize();
    exit(EXIT_SUCCESS);
}

static struct edge_list generate(const struct options *opt, const struct place *place)
{
    struct extent extent = {.n_vertices = kronecker_vertices(opt), .n_edges = kronecker_edges(opt)};

    state(opt, place, &extent);
    return edges_generate(opt);
}

static struct edge_list read_file(const struct options *opt, const struct place *place)
{
    struct edge_list list = edges_read(opt->file);
    struct extent extent = {.n_vertices = list.n_vertices, .n_edges = list.n_all};

    state(opt, place, &extent);
    return list;
}

/* Refuses a graph that is too large, now that each PE's neighbours are counted. */
static void refuse_graph(const struct options *opt, const struct place *place, const struct graph *graph)
{
    const struct extent extent = {
        .n_vertices = graph->part.n_vertices,
        .n_edges = graph->n_input,
        .n_adjacent = graph->max_adjacent,
    };

    memory_refuse(opt, place, &extent);
}

void graph_make(const struct options *opt, const struct place *place, struct graph *graph)
{
    double start = now();
    double had;
    char name[NAME_BYTES];
    struct edge_list list = opt->file ? read_file(opt, place) : generate(opt, place);

    had = now();
    format_name(opt, name);
    graph_build(&list, name, graph);
    if (!opt->csv)
        report_graph(graph, had - start, now() - had);
    refuse_graph(opt, place, graph);
}
