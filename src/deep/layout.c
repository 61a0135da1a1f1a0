/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gives the items that the walk has found their places in the image. Items that overlap form one extent. Extents follow
 * each other in the order in which the first item of each was discovered, so equal graphs at different addresses have
 * equal layouts.
 */
#include "deep/walk.h"

#include "base/log.h"
#include "deep/types/hash.h"
#include "deep/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16 };

/* Items that overlap. */
struct group {
    uintptr_t start, end;
    uintptr_t item_end; /* of the largest item that begins at start */
    uint32_t alignment;
    uint32_t extent;
};

/* Work memory for items that overlap or are not in the order of their addresses. */
struct layout {
    struct shmemi_graph_work *work;
    struct shmemi_pair *order, *other; /* pairs of address and item, by address; and room to sort them */
    struct group *groups;              /* by address */
    size_t n_groups;
    uint32_t *place_of_item;       /* number of its group, later of its extent */
    struct shmemi_extent *extents; /* of the groups */
};

/* ---- order ---- */

/* Whether items are in the order of their addresses, as allocators often place them. */
static bool is_in_order(const struct shmemi_graph_work *work)
{
    uintptr_t end = 0;
    for (size_t i = 0; i < work->n_items; i++) {
        if (work->result.extents[i].address < end)
            return false;
        end = work->result.extents[i].address + work->result.extents[i].size;
    }
    return true;
}

static void sort_items(const struct layout *layout)
{
    const struct shmemi_graph_work *work = layout->work;
    for (size_t i = 0; i < work->n_items; i++)
        layout->order[i] = (struct shmemi_pair){work->result.extents[i].address, i};
    shmemi_sort_pairs(layout->order, work->n_items, layout->other);
}

static bool items_overlap(const struct layout *layout)
{
    const struct shmemi_pair *order = layout->order;
    for (size_t i = 1; i < layout->work->n_items; i++)
        if (order[i].key - order[i - 1].key < layout->work->result.extents[order[i - 1].value].size)
            return true;
    return false;
}

/* ---- groups ---- */

static struct group group_of(const struct shmemi_extent *extent, const struct shmemi_type *type)
{
    uintptr_t end = extent->address + extent->size;
    return (struct group){extent->address, end, end, (uint32_t)type->alignment, UINT32_MAX};
}

/* An object inside another keeps its alignment only if the larger one is aligned as well, which its type need not
 * promise. */
static void join_group(struct group *group, const struct shmemi_extent *extent, const struct shmemi_type *type)
{
    uintptr_t end = extent->address + extent->size, distance = extent->address - group->start;
    uint32_t alignment = (uint32_t)type->alignment;
    while (distance % alignment)
        alignment /= 2;
    if (alignment > group->alignment)
        group->alignment = alignment;
    if (end > group->end)
        group->end = end;
    if (!distance && end > group->item_end)
        group->item_end = end;
}

static void make_groups(struct layout *layout)
{
    const struct shmemi_graph_work *work = layout->work;
    struct group *group = NULL;
    for (size_t i = 0; i < work->n_items; i++) {
        size_t item = layout->order[i].value;
        if (group && work->result.extents[item].address < group->end) {
            join_group(group, &work->result.extents[item], work->items[item].type);
        } else {
            group = &layout->groups[layout->n_groups++];
            *group = group_of(&work->result.extents[item], work->items[item].type);
        }
        layout->place_of_item[item] = (uint32_t)(group - layout->groups);
    }
}

/* ---- extents ---- */

/* The first suitable offset for a group from `at` on. If no object covers the whole group, only the addresses show what
 * alignment its parts need. */
static size_t place_group(const struct group *group, size_t at)
{
    size_t alignment = shmemi_walk_alignment(group->end - group->start, group->alignment), phase = 0;
    if (group->item_end < group->end) {
        alignment = ALIGNMENT;
        phase = group->start;
    }
    return at + ((phase - at) & (alignment - 1));
}

/* There is room for all extents, since the walk has made at least as many. */
static void make_extents(struct layout *layout, struct shmemi_graph *graph)
{
    size_t at = layout->work->options->header;
    graph->n_extents = 0;
    for (size_t i = 0; i < layout->work->n_items; i++) {
        uint32_t place = layout->place_of_item[i];
        struct group *group = &layout->groups[place];
        if (group->extent == UINT32_MAX) {
            size_t size = group->end - group->start;
            at = place_group(group, at);
            group->extent = (uint32_t)graph->n_extents;
            layout->work->result.by_address[place] = group->extent;
            layout->extents[graph->n_extents++] = (struct shmemi_extent){group->start, size, at};
            at += size;
        }
        layout->place_of_item[i] = group->extent;
    }
    graph->size = at;
}

/* ---- links ---- */

/* The final offset of a byte that the walk has placed at this offset. */
static size_t new_place(const struct layout *layout, size_t at)
{
    const struct shmemi_graph_work *work = layout->work;
    const size_t item = shmemi_extents_up_to(work->result.extents, work->n_items, at) - 1; /* that holds it */
    const struct shmemi_extent *old = &work->result.extents[item];
    const struct shmemi_extent *extent = &layout->extents[layout->place_of_item[item]];
    return extent->at + (old->address - extent->address) + (at - old->at);
}

/* Links are in the order of the items that they belong to. */
static void move_links(const struct layout *layout)
{
    const struct shmemi_graph_work *work = layout->work;
    size_t item = 0;
    for (size_t i = 0; i < work->n_links; i++) {
        struct shmemi_graph_link *link = &work->result.links[i];
        while (link->at >= work->result.extents[item].at + work->result.extents[item].size)
            item++;
        const struct shmemi_extent *old = &work->result.extents[item];
        const struct shmemi_extent *extent = &layout->extents[layout->place_of_item[item]];
        if (link->to < SHMEMI_LINK_OPAQUE)
            link->to = new_place(layout, link->to);
        link->at = extent->at + (old->address - extent->address) + (link->at - old->at);
    }
}

static void find_weak_targets(const struct shmemi_graph_work *work, const struct shmemi_graph *graph)
{
    for (size_t i = 0; i < work->n_weaks; i++) {
        const struct shmemi_walk_weak *weak = &work->weaks[i];
        const struct shmemi_extent *extent = shmemi_graph_extent_of(graph, weak->address);
        if (extent)
            work->result.links[weak->link].to = extent->at + (weak->address - extent->address);
    }
}

static int pointers_overlap(const struct shmemi_graph_work *work)
{
    bool image = shmemi_walk_is_image(work);
    shmemi_error("%s: %spointers overlap: two objects of different types are at the same address",
                 work->options->routine, image ? "damaged image: " : "");
    return image ? -EBADMSG : -EINVAL;
}

/* Sort the links. Several links at one place become one; if any of them is followed, so is the result: the least target
 * is kept. */
static int sort_links(struct shmemi_graph *graph, const struct shmemi_graph_work *work)
{
    _Static_assert(sizeof(struct shmemi_pair) == sizeof(struct shmemi_graph_link), "both are two numbers");
    struct shmemi_pair *other = malloc((graph->n_links + 1) * sizeof *other);
    if (!other)
        return -ENOMEM;
    shmemi_sort_pairs((struct shmemi_pair *)graph->links, graph->n_links, other);
    free(other);
    size_t n = 0;
    for (size_t i = 0; i < graph->n_links; i++) {
        struct shmemi_graph_link link = graph->links[i];
        if (!n || link.at >= graph->links[n - 1].at + SHMEMI_LINK_BYTES)
            graph->links[n++] = link;
        else if (link.at != graph->links[n - 1].at)
            return pointers_overlap(work);
        else if (link.to < graph->links[n - 1].to)
            graph->links[n - 1].to = link.to;
    }
    graph->n_links = n;
    return 0;
}

/* ---- shape ---- */

/* The order of a sum does not matter; both lists are sorted and hold each place once. */
static uint64_t shape_of(const struct shmemi_graph *graph)
{
    const uint64_t of_all = 0x9e3779b97f4a7c15u, of_extents = 0xa0761d6478bd642fu, of_links = 0x8ebc6af09c88c6e3u;
    uint64_t sum = shmemi_hash_pair(of_all, graph->size, graph->root);
    for (size_t i = 0; i < graph->n_extents; i++)
        sum += shmemi_hash_pair(of_extents, graph->extents[i].at, graph->extents[i].size);
    for (size_t i = 0; i < graph->n_links; i++)
        sum += shmemi_hash_pair(of_links, graph->links[i].at, graph->links[i].to);
    return shmemi_hash_pair(of_all, sum, graph->n_links);
}

/* ---- all ---- */

/* Divides one allocation among all arrays, by descending alignment. */
static int open_layout(struct layout *layout, struct shmemi_graph_work *work)
{
    size_t n = work->n_items;
    size_t size = n * (2 * sizeof *layout->order + sizeof *layout->groups + sizeof *layout->extents +
                       sizeof *layout->place_of_item);
    if (size > work->scratch_size) {
        free(work->scratch);
        work->scratch_size = 0;
        work->scratch = malloc(size);
        if (!work->scratch)
            return -ENOMEM;
        work->scratch_size = size;
    }
    *layout = (struct layout){.work = work};
    layout->order = (struct shmemi_pair *)work->scratch;
    layout->other = layout->order + n;
    layout->groups = (struct group *)(layout->other + n);
    layout->extents = (struct shmemi_extent *)(layout->groups + n);
    layout->place_of_item = (uint32_t *)(layout->extents + n);
    return 0;
}

static void join_items(struct layout *layout, struct shmemi_graph *graph)
{
    make_groups(layout);
    make_extents(layout, graph);
    move_links(layout);
    memcpy(layout->work->result.extents, layout->extents, graph->n_extents * sizeof *layout->extents);
}

/* Keeps the extents that the walk has placed, unless items overlap. */
static int order_extents(struct shmemi_graph *graph, struct shmemi_graph_work *work, bool *overlap_p)
{
    struct layout layout;
    *overlap_p = false;
    if (is_in_order(work)) {
        for (size_t i = 0; i < work->n_items; i++)
            work->result.by_address[i] = (uint32_t)i;
        return 0;
    }
    int rc = open_layout(&layout, work);
    if (rc)
        return rc;
    sort_items(&layout);
    *overlap_p = items_overlap(&layout);
    if (*overlap_p)
        join_items(&layout, graph);
    for (size_t i = 0; !*overlap_p && i < work->n_items; i++)
        work->result.by_address[i] = (uint32_t)layout.order[i].value;
    return 0;
}

static int lay_out(struct shmemi_graph *graph, struct shmemi_graph_work *work)
{
    bool overlap;
    const uintptr_t root = work->n_items ? work->result.extents[0].address : 0;
    if (!SHMEMI_WALK_ROOM(work->result.by_address, work->n_items, work->result.max_by_address))
        return -ENOMEM;
    *graph = (struct shmemi_graph){.extents = work->result.extents,
                                   .n_extents = work->n_items,
                                   .links = work->result.links,
                                   .n_links = work->n_links,
                                   .root = work->options->header,
                                   .size = work->size,
                                   .by_address = work->result.by_address};
    int rc = order_extents(graph, work, &overlap);
    if (rc)
        return rc;
    find_weak_targets(work, graph);
    if (overlap)
        rc = sort_links(graph, work);
    if (work->n_items) {
        const struct shmemi_extent *extent = shmemi_graph_extent_of(graph, root);
        graph->root = extent->at + (root - extent->address);
    }
    graph->shape = shape_of(graph);
    return rc;
}

int shmemi_graph_lay_out(struct shmemi_graph *graph, struct shmemi_graph_work *work)
{
    int rc = lay_out(graph, work);
    if (rc == -ENOMEM)
        shmemi_error("%s: no memory for the layout of %zu objects", work->options->routine, work->n_items);
    if (rc)
        *graph = (struct shmemi_graph){0};
    return rc;
}
