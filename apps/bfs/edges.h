/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where edges come from, and how they become a graph.
 */
#ifndef BFS_EDGES_H
#define BFS_EDGES_H

#include "bfs.h"

/* ---- Generated (edges_kronecker.c, edges.c) ---------------------------------------------------------------------- */

/* Makes edges first to first + n - 1 of the graph: each is a function of its index and the options alone, whatever the
 * number of PEs. */
void edges_kronecker(const struct options *opt, uint64_t first, size_t n, struct edge *edges);

static inline uint64_t kronecker_vertices(const struct options *opt)
{
    return UINT64_C(1) << opt->scale;
}

static inline uint64_t kronecker_edges(const struct options *opt)
{
    return (uint64_t)opt->edge_factor << opt->scale;
}

/* This PE's share of the graph. Collective. */
struct edge_list edges_generate(const struct options *opt);

/* ---- From a file (read.c) ---------------------------------------------------------------------------------------- */

/* This PE's share of the edges in a file. Whatever is wrong with it ends all PEs with one line. Collective. */
struct edge_list edges_read(const char *name);

void edge_list_free(struct edge_list *list);

/* ---- Graph (graph.c, rows.c) ------------------------------------------------------------------------------------- */

/* Collective. Takes what list holds, and frees it. */
void graph_build(struct edge_list *list, const char *name, struct graph *graph);
void graph_free(struct graph *graph);

/* The roots of the searches that opt asks for: *n of them, fewer if too few vertices have neighbours. Ends all PEs with
 * a message if there are none. Collective; the caller frees. */
vertex_t *roots_draw(const struct options *opt, const struct graph *graph, int *n);

#endif
