/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The generated graph of SHOC's BFS: a tree in which vertex v has the children v * k + 1 to v * k + k.
 */
#include "edges.h"

/* Edge i joins vertex i + 1 and its parent. */
static void make(const struct options *opt, uint64_t first, size_t n, struct edge *edges)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t index = first + i;

        edges[i] = (struct edge){(vertex_t)(index / (uint64_t)opt->kway_degree), (vertex_t)(index + 1)};
    }
}

struct generator edges_kway(const struct options *opt)
{
    return (struct generator){
        .n_vertices = opt->kway_vertices,
        .n_edges = opt->kway_vertices - 1,
        .make = make,
    };
}
