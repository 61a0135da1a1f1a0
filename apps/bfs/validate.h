/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether the parents that a search has found are a breadth-first tree.
 */
#ifndef BFS_VALIDATE_H
#define BFS_VALIDATE_H

#include "bfs.h"

/* The rules of Graph500, counted from 1, and the search's own counts. */
enum rule {
    ACCOUNT,       /* vertices and levels are as many as the search counted                         */
    NO_CYCLE,      /* from each vertex of the tree, parents lead to the root                        */
    TREE_LEVELS,   /* a vertex is one level below its parent                                        */
    EDGE_LEVELS,   /* edges of the graph join vertices at most one level apart                      */
    SPANS,         /* no edge leads out of the tree                                                 */
    TREE_IN_GRAPH, /* a vertex and its parent are joined by an edge of the graph                    */
    RULES
};

#define FINDING_BYTES 200

struct verdict {
    bool checked, valid;
    uint64_t broken[RULES];           /* how often, on all PEs               */
    char first[RULES][FINDING_BYTES]; /* where first, on the lowest PE that found it */
};

/* Collective; every PE gets the same verdict. */
void validate(const struct options *opt, const struct graph *graph, vertex_t root, const vertex_t *parents,
              const struct search_times *times, struct verdict *verdict);

/* Edges of the input that lie in the tree's component. Collective. */
uint64_t traversed_edges(const struct graph *graph, const vertex_t *parents);

/* For tests of the check: break a rule that can be broken by a parent, or by a level. Collective. */
void spoil_parents(int rule, const struct graph *graph, vertex_t root, vertex_t *parents);
void spoil_levels(int rule, const struct graph *graph, vertex_t root, uint32_t *levels);

#define NO_LEVEL UINT32_MAX /* not in the tree */

#endif
