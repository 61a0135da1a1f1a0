/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The adjacency of this PE's vertices as compressed rows.
 */
#ifndef BFS_ROWS_H
#define BFS_ROWS_H

#include "bfs.h"

/* Sets row, column, n_adjacent of this PE and input_ends. Takes ends, whose a are own vertices, and frees them.
 * Local. */
void rows_build(struct graph *graph, struct edge *ends, size_t n);

/* First entry of the sorted row of own vertex i that is v or more; its end if there is none. */
size_t row_search(const struct graph *graph, vertex_t i, vertex_t v);

#endif
