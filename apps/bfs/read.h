/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Graphs from files.
 */
#ifndef BFS_READ_H
#define BFS_READ_H

#include "bfs.h"
#include "formats.h"
#include "memory.h"

/* Collective; whatever is wrong with the file ends all PEs with one line. */
struct edge_list edges_read(const struct options *opt, const struct place *place);

/* ---- Vertices of labels (labels.c) ------------------------------------------------------------------------------- */

/* Turns this PE's labelled edges, which it frees, into edges between vertices. Labels from 1 to n_vertices are vertices
 * as they are; with n_vertices 0 they are whatever the file has. Vertices are shuffled if the options say so.
 * Collective. */
struct edge_list labels_to_vertices(const struct options *opt, struct labelled_edge *edges, size_t n,
                                    uint64_t n_vertices);

#endif
