/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From what the walk has found to places in an image. Items that overlap make one extent; extents follow each other in
 * the order in which the first item of each was discovered: equal graphs at other addresses are laid out equally.
 */
#include "deep/walk.h"

#include "base/log.h"
#include "deep/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, ALIGNED_FROM = 64, LINK_BYTES = 8 };

/* Items that overlap. */
struct group {
    uintptr_t start, end;
    uintptr_t item_end; /* of the largest item that begins at start */
    uint32_t alignment;
    uint32_t extent;
};

struct layout {
    const struct shmemi_graph_work *work;
    struct shmemi_pair *order, *other; /* items by address: address, item; and room to sort them */
    struct group *groups;              /* by address */
    size_t n_groups;
    uint32_t *place_of_item; /* group, later extent; NULL: nothing overlaps, each item is an extent */
};

/* ---- groups ---- */

static void sort_items(struct layout *layout)
{
    const struct shmemi_graph_work *work = layout->work;
    for (size_t i = 0; i < work->n_items; i++)
        layout->order[i] = (struct shmemi_pair){work->items[i].address, i};
    shmemi_sort_pairs(layout->order, work->n_items, layout->other);
}

static inline struct group group_of(const struct shmemi_walk_item *item)
{
    uintptr_t end = item->address + shmemi_walk_item_size(item);
    return (struct group){item->address, end, end, (uint32_t)item->type->alignment, UINT32_MAX};
}

/* Objects in the middle of another keep their alignment if the larger one has it; its own type may promise less. */
static void join_group(struct group *group, const struct shmemi_walk_item *item)
{
    uintptr_t end = item->address + shmemi_walk_item_size(item), distance = item->address - group->start;
    uint32_t alignment = (uint32_t)item->type->alignment;
    while (distance % alignment)
        alignment /= 2;
    if (alignment > group->alignment)
        group->alignment = alignment;
    if (end > group->end)
        group->end = end;
    if (!distance && end > group->item_end)
        group->item_end = end;
}

static bool items_overlap(const struct layout *layout)
{
    uintptr_t end = 0;
    for (size_t i = 0; i < layout->work->n_items; i++) {
        if (layout->order[i].key < end)
            return true;
        end = layout->order[i].key + shmemi_walk_item_size(&layout->work->items[layout->order[i].value]);
    }
    return false;
}

static void make_groups(struct layout *layout)
{
    struct group *group = NULL;
    for (size_t i = 0; i < layout->work->n_items; i++) {
        const struct shmemi_walk_item *item = &layout->work->items[layout->order[i].value];
        if (group && item->address < group->end) {
            join_group(group, item);
        } else {
            group = &layout->groups[layout->n_groups++];
            *group = group_of(item);
        }
        layout->place_of_item[layout->order[i].value] = (uint32_t)(group - layout->groups);
    }
}

/* ---- extents ---- */

/* The first place from at on for a group. When no object covers the whole of it, only the addresses tell what its parts
 * need. */
static inline size_t place_group(const struct group *group, size_t at)
{
    size_t size = group->end - group->start;
    size_t alignment = size >= ALIGNED_FROM ? ALIGNMENT : group->alignment;
    size_t phase = 0;
    if (group->item_end < group->end) {
        alignment = ALIGNMENT;
        phase = group->start;
    }
    return at + ((phase - at) & (alignment - 1));
}

static int add_extent(struct shmemi_graph *graph, const struct layout *layout, const struct group *group)
{
    size_t size = group->end - group->start, at = place_group(group, graph->size);
    if (__builtin_expect(size > PTRDIFF_MAX - ALIGNMENT - at, 0)) {
        shmemi_error("%s: the objects are larger than any memory", layout->work->options->routine);
        return -EOVERFLOW;
    }
    graph->extents[graph->n_extents++] = (struct shmemi_extent){group->start, size, at};
    graph->size = at + size;
    return 0;
}

static int make_extents_of_items(struct shmemi_graph *graph, const struct layout *layout)
{
    for (size_t i = 0; i < layout->work->n_items; i++) {
        struct group group = group_of(&layout->work->items[i]);
        int rc = add_extent(graph, layout, &group);
        if (rc)
            return rc;
        graph->by_address[i] = (uint32_t)layout->order[i].value;
    }
    return 0;
}

static int make_extents_of_groups(struct shmemi_graph *graph, struct layout *layout)
{
    for (size_t i = 0; i < layout->work->n_items; i++) {
        uint32_t place = layout->place_of_item[i];
        struct group *group = &layout->groups[place];
        if (group->extent == UINT32_MAX) {
            group->extent = (uint32_t)graph->n_extents;
            graph->by_address[place] = group->extent;
            int rc = add_extent(graph, layout, group);
            if (rc)
                return rc;
        }
        layout->place_of_item[i] = group->extent;
    }
    return 0;
}

static int make_extents(struct shmemi_graph *graph, struct layout *layout)
{
    graph->size = layout->work->options->header;
    if (!items_overlap(layout)) {
        layout->place_of_item = NULL;
        return make_extents_of_items(graph, layout);
    }
    make_groups(layout);
    return make_extents_of_groups(graph, layout);
}

/* ---- links ---- */

static inline size_t place_in(const struct shmemi_extent *extent, uintptr_t address)
{
    return extent->at + (address - extent->address);
}

static inline size_t place_in_item(const struct shmemi_graph *graph, const struct layout *layout, uint32_t item,
                                   uintptr_t address)
{
    return place_in(&graph->extents[layout->place_of_item ? layout->place_of_item[item] : item], address);
}

static inline size_t place_of_target(const struct shmemi_graph *graph, const struct layout *layout,
                              const struct shmemi_walk_link *link, size_t at)
{
    const struct shmemi_extent *extent;
    switch (link->target) {
    case SHMEMI_WALK_NULL:
        return SHMEMI_LINK_NULL;
    case SHMEMI_WALK_OPAQUE:
        return SHMEMI_LINK_OPAQUE;
    case SHMEMI_WALK_SELF:
        return at;
    case SHMEMI_WALK_WEAK:
        extent = shmemi_graph_extent_of(graph, link->address);
        return extent ? place_in(extent, link->address) : SHMEMI_LINK_NULL;
    default:
        return place_in_item(graph, layout, link->target, link->address);
    }
}

static int pointers_overlap(const struct layout *layout)
{
    bool image = shmemi_walk_is_image(layout->work);
    shmemi_error("%s: %spointers overlap: two objects of different types are at the same place",
                 layout->work->options->routine, image ? "damaged image: " : "");
    return image ? -EBADMSG : -EINVAL;
}

/* Bring links into order. A pointer that belongs to several objects is one; where one of them follows it, it is
 * followed, so that of different targets the least counts. */
static int sort_links(struct shmemi_graph *graph, const struct layout *layout)
{
    _Static_assert(sizeof(struct shmemi_pair) == sizeof(struct shmemi_graph_link), "the same two numbers");
    struct shmemi_pair *other = malloc(graph->n_links * sizeof *other);
    if (!other)
        return -ENOMEM;
    shmemi_sort_pairs((struct shmemi_pair *)graph->links, graph->n_links, other);
    free(other);
    size_t n = 0;
    for (size_t i = 0; i < graph->n_links; i++) {
        struct shmemi_graph_link link = graph->links[i];
        if (!n || link.at >= graph->links[n - 1].at + LINK_BYTES)
            graph->links[n++] = link;
        else if (link.at != graph->links[n - 1].at)
            return pointers_overlap(layout);
        else if (link.to < graph->links[n - 1].to)
            graph->links[n - 1].to = link.to;
    }
    graph->n_links = n;
    return 0;
}

static int make_links(struct shmemi_graph *graph, const struct layout *layout)
{
    const struct shmemi_graph_work *work = layout->work;
    size_t end = 0;
    bool in_order = true;
    for (size_t i = 0; i < work->n_links; i++) {
        const struct shmemi_walk_link *link = &work->links[i];
        size_t at = place_in_item(graph, layout, link->owner, link->slot);
        graph->links[i] = (struct shmemi_graph_link){at, place_of_target(graph, layout, link, at)};
        in_order &= at >= end;
        end = at + LINK_BYTES;
    }
    graph->n_links = work->n_links;
    return in_order ? 0 : sort_links(graph, layout);
}

/* ---- shape ---- */

static inline uint64_t mix(uint64_t seed, uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)(a ^ seed) * (b ^ 0xe7037ed1a0b428dbu);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* A sum, since both lists are sorted and have no place twice. */
static uint64_t shape_of(const struct shmemi_graph *graph)
{
    const uint64_t of_all = 0x9e3779b97f4a7c15u, of_extents = 0xa0761d6478bd642fu, of_links = 0x8ebc6af09c88c6e3u;
    uint64_t sum = mix(of_all, graph->size, graph->root);
    for (size_t i = 0; i < graph->n_extents; i++)
        sum += mix(of_extents, graph->extents[i].at, graph->extents[i].size);
    for (size_t i = 0; i < graph->n_links; i++)
        sum += mix(of_links, graph->links[i].at, graph->links[i].to);
    return mix(of_all, sum, graph->n_links);
}

/* ---- all ---- */

/* All scratch memory in one piece, by descending alignment. */
static int open_layout(struct layout *layout, struct shmemi_graph_work *work)
{
    size_t n = work->n_items;
    size_t size = n * (2 * sizeof *layout->order + sizeof *layout->groups + sizeof *layout->place_of_item);
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
    layout->place_of_item = (uint32_t *)(layout->groups + n);
    return 0;
}

static int open_graph(struct shmemi_graph *graph, const struct shmemi_graph_work *work)
{
    graph->extents = malloc(work->n_items * sizeof *graph->extents);
    graph->by_address = malloc(work->n_items * sizeof *graph->by_address);
    graph->links = malloc((work->n_links + 1) * sizeof *graph->links);
    return graph->extents && graph->by_address && graph->links ? 0 : -ENOMEM;
}

static int lay_out(struct shmemi_graph *graph, struct layout *layout)
{
    sort_items(layout);
    int rc = make_extents(graph, layout);
    if (!rc)
        rc = make_links(graph, layout);
    if (rc)
        return rc;
    graph->root = place_in_item(graph, layout, 0, layout->work->items[0].address);
    graph->shape = shape_of(graph);
    return 0;
}

int shmemi_graph_lay_out(struct shmemi_graph *graph, struct shmemi_graph_work *work)
{
    if (!work->n_items) {
        graph->root = graph->size = work->options->header;
        graph->shape = shape_of(graph);
        return 0;
    }
    struct layout layout;
    int rc = open_layout(&layout, work);
    if (!rc)
        rc = open_graph(graph, work);
    if (!rc)
        rc = lay_out(graph, &layout);
    if (rc == -ENOMEM)
        shmemi_error("%s: no memory for the layout of %zu objects", work->options->routine, work->n_items);
    return rc;
}

void shmemi_graph_close(struct shmemi_graph *graph)
{
    free(graph->extents);
    free(graph->links);
    free(graph->by_address);
    *graph = (struct shmemi_graph){0};
}

const struct shmemi_extent *shmemi_graph_extent_at(const struct shmemi_graph *graph, size_t at)
{
    size_t low = 0, high = graph->n_extents; /* the first extent that ends after at */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (graph->extents[middle].at + graph->extents[middle].size <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < graph->n_extents && graph->extents[low].at <= at ? &graph->extents[low] : NULL;
}

const struct shmemi_extent *shmemi_graph_extent_of(const struct shmemi_graph *graph, uintptr_t address)
{
    size_t low = 0, high = graph->n_extents; /* the first extent that begins after address */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (graph->extents[graph->by_address[middle]].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct shmemi_extent *extent = low ? &graph->extents[graph->by_address[low - 1]] : NULL;
    return extent && address - extent->address < extent->size ? extent : NULL;
}
