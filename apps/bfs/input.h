/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The graph that the command line asks for.
 */
#ifndef BFS_INPUT_H
#define BFS_INPUT_H

#include "bfs.h"
#include "memory.h"

/* Makes the graph. Ends all PEs if there is too little memory for it and, with status 0, after --memory. Collective. */
void graph_make(const struct options *opt, const struct place *place, struct graph *graph);

#endif
