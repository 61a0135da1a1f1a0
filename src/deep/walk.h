/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the walk finds and the layout then arranges.
 */
#ifndef SHMEMI_DEEP_WALK_H
#define SHMEMI_DEEP_WALK_H

#include "base/likely.h"
#include "deep/graph.h"
#include "deep/sort.h"
#include "deep/visited.h"

/* An array that something points to, in the order of discovery; its place is in the extent of the same number. */
struct shmemi_walk_item {
    const struct shmemi_type *type;
    size_t first; /* the elements before this one also belong to an earlier item, and were visited there */
};

enum { SHMEMI_WALK_MAX_ITEMS = INT32_MAX };

/* A weak pointer, whose target is looked up when the walk has ended. */
struct shmemi_walk_weak {
    size_t link;
    uintptr_t address;
};

/* Objects inside an object, n of which have not been visited yet. */
struct shmemi_walk_frame {
    uintptr_t address;
    size_t n;
    size_t link;
    const struct shmemi_type *type;
};

/* Memory that becomes part of the graph. */
struct shmemi_graph_memory {
    struct shmemi_extent *extents;
    struct shmemi_graph_link *links;
    uint32_t *by_address;
    size_t max_extents, max_links, max_by_address;
};

/* The state of a walk. It places extents and links at once, assuming that no items overlap, which is mostly true. */
struct shmemi_graph_work {
    const struct shmemi_walk_options *options;
    struct shmemi_graph_memory result;
    struct shmemi_walk_item *items;
    struct shmemi_walk_weak *weaks;
    struct shmemi_walk_frame *frames;
    size_t n_items, n_links, n_weaks, n_frames;
    size_t max_items, max_weaks, max_frames;
    size_t size; /* of the image so far */
    struct shmemi_visited visited;
    uint64_t steps, max_steps;
    size_t most_links, most_items;
    char *scratch; /* of the layout */
    size_t scratch_size;
};

/* The entry of an element, or the free entry for it; NULL if there is no memory for a larger table. Valid until the
 * next call. */
static inline struct shmemi_visited_entry *shmemi_walk_find(struct shmemi_graph_work *work, uintptr_t address,
                                                            const struct shmemi_type *type)
{
    struct shmemi_visited *visited = &work->visited;
    if (shmemi_unlikely(shmemi_visited_is_full(visited)) && !shmemi_visited_grow(visited))
        return NULL;
    size_t mask = shmemi_visited_size(visited->shift) - 1, place = shmemi_visited_place(address, visited->shift);
    struct shmemi_visited_entry *entries = visited->entries;
    while (entries[place].item_plus_1 &&
           (entries[place].address != address || work->items[entries[place].item_plus_1 - 1].type != type))
        place = (place + 1) & mask;
    return &entries[place];
}

/* The bytes at a pointer value, which has been checked. */
static inline const char *shmemi_walk_bytes(const struct shmemi_graph_work *work, uintptr_t address)
{
    const struct shmemi_graph_space *space = &work->options->space;
    return (const char *)((uintptr_t)space->bytes + (address - space->base));
}

static inline bool shmemi_walk_is_image(const struct shmemi_graph_work *work)
{
    return work->options->space.bytes != NULL;
}

/* Extents of 64 bytes are aligned to 16. */
static inline size_t shmemi_walk_alignment(size_t size, size_t alignment)
{
    enum { LARGE_ALIGNMENT = 16, LARGE = 64 };
    return size >= LARGE ? LARGE_ALIGNMENT : alignment;
}

/* How many extents begin at this offset of the image or before it. */
static inline size_t shmemi_extents_up_to(const struct shmemi_extent *extents, size_t n, size_t at)
{
    return shmemi_sorted_up_to(extents, n, sizeof *extents, offsetof(struct shmemi_extent, at), at);
}

/* Make room for n elements of an array; false if there is no memory. */
#define SHMEMI_WALK_ROOM(_array, _n, _max)                                                                             \
    ((_n) <= (_max) || shmemi_walk_grow((void **)&(_array), &(_max), _n, sizeof *(_array)))
bool shmemi_walk_grow(void **array_p, size_t *max_p, size_t n, size_t size);

/* walk.c: find all that nelems objects at an address reach. 0, or logs an error and returns -errno. */
int shmemi_walk(struct shmemi_graph_work *work, uintptr_t address, const struct shmemi_type *type, size_t nelems);

/* layout.c: make a graph of what the walk has found: extents that do not overlap, links, root, size, shape. Returns 0, or
 * logs an error and returns -errno. The graph takes over the memory. */
int shmemi_graph_lay_out(struct shmemi_graph *graph, struct shmemi_graph_work *work);

#endif
