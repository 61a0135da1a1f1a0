/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The large parts of an image that hold no pointers. If the objects' memory is page-locked, these parts are transferred
 * directly from it or to it, without being packed.
 */
#ifndef SHMEMI_DEEP_DIRECT_RANGES_H
#define SHMEMI_DEEP_DIRECT_RANGES_H

#include "deep/graph.h"
#include "deep/pipeline.h"

struct shmemi_direct_ranges {
    struct shmemi_direct_range *range; /* ascending */
    size_t n;
};

/* Find the ranges of a graph in live memory that are large enough, in bytes [begin, end) of the image; their offsets
 * count from begin. If there is no memory for the list it is empty, and everything is packed. */
void shmemi_direct_ranges_open(struct shmemi_direct_ranges *ranges, const struct shmemi_graph *graph, size_t begin,
                               size_t end, const struct shmemi_far_side *far);
void shmemi_direct_ranges_close(struct shmemi_direct_ranges *ranges);

#endif
