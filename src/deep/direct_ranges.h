/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The large parts of an image that hold no pointers: where the objects' memory is page-locked they travel from it, or
 * to it, without being packed.
 */
#ifndef SHMEMI_DEEP_DIRECT_RANGES_H
#define SHMEMI_DEEP_DIRECT_RANGES_H

#include "deep/graph.h"
#include "deep/pipeline.h"

struct shmemi_direct_ranges {
    struct shmemi_direct_range *range; /* ascending */
    size_t n;
};

/* Those of a graph in live memory that are worth it. None without memory to list them: all is packed then. */
void shmemi_direct_ranges_open(struct shmemi_direct_ranges *ranges, const struct shmemi_graph *graph,
                               const struct shmemi_far_side *far);
/* The same of bytes [begin, end) of the image; offsets count from begin. */
void shmemi_direct_ranges_open_part(struct shmemi_direct_ranges *ranges, const struct shmemi_graph *graph, size_t begin,
                                    size_t end, const struct shmemi_far_side *far);
void shmemi_direct_ranges_close(struct shmemi_direct_ranges *ranges);

#endif
