/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much memory a graph needs on each PE, and whether that much is there.
 */
#ifndef BFS_MEMORY_H
#define BFS_MEMORY_H

#include "bfs.h"

/* Where this PE searches. */
struct place {
    const struct device_ops *ops;
    struct device *dev;
    int index;
};

/* What is known of a graph. */
struct extent {
    uint64_t n_vertices, n_edges;
    uint64_t n_adjacent; /* on the PE that has most; 0: not known yet */
};

/* Ends all PEs with one line if a PE lacks the memory for it; the line says what would fit. Collective. */
void memory_refuse(const struct options *opt, const struct place *place, const struct extent *extent);

/* Prints a line with what each PE needs and has. Collective. */
void memory_state(const struct options *opt, const struct place *place, const struct extent *extent);

/* Ends all PEs with one line unless each PE has n more bytes of host memory; n may differ between PEs. Collective. */
void memory_refuse_host(const char *what, uint64_t n);

#endif
