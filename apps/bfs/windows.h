/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Values of all vertices, seen one piece after the other.
 */
#ifndef BFS_WINDOWS_H
#define BFS_WINDOWS_H

#include "bfs.h"

/* The values of vertices first to first + n - 1. */
struct window {
    vertex_t first;
    size_t n;
    const void *values;
};

/* Every PE has a value of value_bytes for each of its vertices. visit sees those of all PEs, in windows, and may change
 * own, which is what the other windows show from then on. Collective. */
void windows_visit(const struct partition *part, const void *own, size_t value_bytes,
                   void (*visit)(const struct window *window, void *arg), void *arg);

#endif
