/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where edges come from, and how they become a graph.
 */
#ifndef BFS_EDGES_H
#define BFS_EDGES_H

#include "bfs.h"

/* ---- Generated (edges_kronecker.c, edges_kway.c) ----------------------------------------------------------------- */

/* A generator: edge `index` is a function of the options alone, whatever the number of PEs. */
struct generator {
    uint64_t n_vertices, n_edges;
    void (*make)(const struct options *opt, uint64_t first, size_t n, struct edge *edges);
};

struct generator edges_kronecker(const struct options *opt);
struct generator edges_kway(const struct options *opt);

/* This PE's share of a generated graph. Collective. */
struct edge_list edges_generate(const struct options *opt, const struct generator *generator);

void edge_list_free(struct edge_list *list);

/* ---- Graph (graph.c, rows.c) ------------------------------------------------------------------------------------- */

/* Collective. Takes what list holds, and frees it. */
void graph_build(struct edge_list *list, const char *name, struct graph *graph);
void graph_free(struct graph *graph);

/* The name of a vertex in the input. */
uint64_t graph_label(const struct graph *graph, vertex_t v);
/* Finds the vertex with this name; false if there is none. */
bool graph_vertex(const struct graph *graph, uint64_t label, vertex_t *v);

/* The roots of the searches that opt asks for: *n of them, fewer if too few vertices have neighbours. Ends all PEs with
 * a message if there are none. Collective; the caller frees. */
vertex_t *roots_draw(const struct options *opt, const struct graph *graph, int *n);

#endif
