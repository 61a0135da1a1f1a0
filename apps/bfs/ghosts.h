/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of 32 bits for the vertices that a PE meets, whatever the size of the graph: its own come first, then those of
 * other PEs that are neighbours of its own ("ghosts"), in ascending order.
 */
#ifndef BFS_GHOSTS_H
#define BFS_GHOSTS_H

#include "bfs.h"

struct ghosts {
    vertex_t *vertex; /* ascending */
    uint64_t n;
};

struct ghosts ghosts_find(const struct graph *graph);
/* The number of a vertex that is an own one or a ghost. */
uint32_t ghosts_number(const struct ghosts *ghosts, const struct graph *graph, vertex_t v);

#endif
