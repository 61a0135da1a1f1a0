/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Edges go to the PEs that own their vertices.
 */
#ifndef BFS_DISTRIBUTE_H
#define BFS_DISTRIBUTE_H

#include "bfs.h"

/* Bytes of the symmetric heap that distribute() uses while it runs, if that many are free. */
#define DISTRIBUTE_BYTES ((size_t)64 << 20)

/* Every edge goes to the owners of both its ends, turned so that a is the owner's vertex; a loop goes there twice.
 * Collective. Returns the edges that this PE receives, in no order; the caller frees them. */
struct edge *distribute(const struct edge_list *list, const struct partition *part, size_t *n_received);

#endif
