/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the direct ranges of an image: the runs between pointers, extent by extent.
 */
#include "deep/pipeline.h"

#include <stdlib.h>

struct range_search {
    struct shmemi_direct_ranges *found;
    size_t room;
    const struct shmemi_far_side *far;
    size_t begin, end; /* of the part of the image that is transferred */
};

static bool add(struct range_search *search, struct shmemi_direct_range range)
{
    struct shmemi_direct_ranges *found = search->found;
    if (found->n == search->room) {
        size_t room = search->room ? 2 * search->room : 64;
        struct shmemi_direct_range *more = realloc(found->range, room * sizeof *more);
        if (!more)
            return false;
        found->range = more;
        search->room = room;
    }
    found->range[found->n++] = range;
    return true;
}

/* Add bytes [at, end) of the image, which lie in this extent and hold no pointer, if that is worth it. */
static bool add_run(struct range_search *search, const struct shmemi_extent *extent, size_t at, size_t end)
{
    char *bytes = (char *)extent->address + (at - extent->at);
    if (end < at + SHMEMI_PIPELINE_DIRECT || !shmemi_far_takes_directly(search->far, bytes, end - at))
        return true;
    return add(search, (struct shmemi_direct_range){at - search->begin, end - at, bytes});
}

/* Add the runs between an extent's pointers. Pointers may overlap. */
static bool add_extent(struct range_search *search, const struct shmemi_graph *graph,
                       const struct shmemi_extent *extent)
{
    const size_t extent_end = extent->at + extent->size;
    const size_t end = extent_end < search->end ? extent_end : search->end;
    size_t at = extent->at > search->begin ? extent->at : search->begin;
    for (size_t i = shmemi_graph_first_link(graph, at); i < graph->n_links && graph->links[i].at < end; i++) {
        if (!add_run(search, extent, at, graph->links[i].at))
            return false;
        at = graph->links[i].at + SHMEMI_LINK_BYTES;
    }
    return add_run(search, extent, at, end);
}

void shmemi_direct_ranges_open(struct shmemi_direct_ranges *ranges, const struct shmemi_graph *graph, size_t begin,
                               size_t end, const struct shmemi_far_side *far)
{
    struct range_search search = {.found = ranges, .far = far, .begin = begin, .end = end};
    *ranges = (struct shmemi_direct_ranges){0};
    if (end - begin < SHMEMI_PIPELINE_DIRECT)
        return;
    for (size_t i = shmemi_graph_first_extent(graph, begin); i < graph->n_extents && graph->extents[i].at < end; i++)
        if (graph->extents[i].size >= SHMEMI_PIPELINE_DIRECT && !add_extent(&search, graph, &graph->extents[i]))
            break;
}

void shmemi_direct_ranges_close(struct shmemi_direct_ranges *ranges)
{
    free(ranges->range);
}
