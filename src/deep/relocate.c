/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turns an image from another PE into objects, without trusting any of it. The image must equal the layout of its own
 * graph exactly; so the pointers that are set here are the only ones that will be followed.
 */
#include "deep/image.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>

static int damaged(const char *routine, const char *cause)
{
    shmemi_error("%s: damaged image: %s", routine, cause);
    return -EBADMSG;
}

static bool is_in_place(const struct shmemi_graph *graph, const struct shmemi_image_header *header)
{
    for (size_t i = 0; i < graph->n_extents; i++)
        if (graph->extents[i].address - (uintptr_t)header->base != graph->extents[i].at)
            return false;
    return true;
}

static int open_image(const char *routine, const char *bytes, const struct shmemi_image_header *header,
                      const struct shmemi_type *type, struct shmemi_graph *graph)
{
    const struct shmemi_walk_options options = {
        .routine = routine,
        .space = {bytes, (uintptr_t)header->base, header->size},
        .header = SHMEMX_DEEP_HEADER,
    };
    int rc = shmemi_graph_open(graph, &options, (uintptr_t)(header->base + header->root), type, header->n_elems);
    if (rc)
        return rc;
    if (graph->size == header->size && graph->root == header->root && graph->n_extents == header->n_extents &&
        graph->n_links == header->n_links && graph->shape == header->shape && is_in_place(graph, header))
        return 0;
    shmemi_graph_close(graph);
    return damaged(routine, "its objects are not linked as its header says");
}

static void set_links(char *bytes, const struct shmemi_graph *graph, uintptr_t base)
{
    for (size_t i = 0; i < graph->n_links; i++) {
        const struct shmemi_graph_link *link = &graph->links[i];
        uint64_t value = link->to == SHMEMI_LINK_NULL ? 0 : base + link->to;
        if (link->to != SHMEMI_LINK_OPAQUE)
            memcpy(bytes + link->at, &value, sizeof value);
    }
}

int shmemi_image_relocate(const char *routine, char *bytes, const struct shmemi_type *type, uintptr_t new_base)
{
    struct shmemi_image_header header;
    struct shmemi_graph graph;
    memcpy(&header, bytes, sizeof header);
    int rc = open_image(routine, bytes, &header, type, &graph);
    if (rc)
        return rc;
    set_links(bytes, &graph, new_base);
    shmemi_graph_close(&graph);
    header.flags &= ~(uint32_t)SHMEMI_IMAGE_OFFSETS;
    header.base = new_base;
    header.check = shmemi_image_header_check(&header);
    memcpy(bytes, &header, sizeof header);
    /* Check again: where objects overlap, a pointer can be part of another pointer's count, and then its new value has
     * changed the graph. */
    rc = open_image(routine, bytes, &header, type, &graph);
    if (!rc)
        shmemi_graph_close(&graph);
    return rc;
}
