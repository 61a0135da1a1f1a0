/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the levels of a search of a Kronecker graph have to do.
 */
#ifndef BFS_GRAPH_H
#define BFS_GRAPH_H

enum { LEVELS_MOST = 64 };

struct levels {
    int n;
    double edges[LEVELS_MOST]; /* of the frontier, all PEs                                                   */
    double pairs[LEVELS_MOST]; /* sent to other PEs: each PE sends a vertex once in a search, all PEs together */
};

/* Searches the graph of 2^scale vertices from the vertex with most neighbours, spread over n_pes PEs. */
struct levels bfs_levels(int scale, int n_pes);

#endif
