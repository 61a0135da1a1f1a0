/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The graph that the command line asks for.
 */
#ifndef BFS_INPUT_H
#define BFS_INPUT_H

#include "bfs.h"
#include "memory.h"

/* States what the graph needs; ends all PEs when that is not there, and also, with status 0, after --memory.
 * Collective. */
void graph_make(const struct options *opt, const struct place *place, struct graph *graph);

#endif
