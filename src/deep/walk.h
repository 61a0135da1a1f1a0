/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the walk finds and the layout takes up.
 */
#ifndef SHMEMI_DEEP_WALK_H
#define SHMEMI_DEEP_WALK_H

#include "deep/graph.h"
#include "deep/visited.h"

/* An array that something points to, in the order of discovery. */
struct shmemi_walk_item {
    uintptr_t address;
    size_t n;
    size_t first; /* elements before this one belong to an earlier item too, and were looked at there */
    const struct shmemi_type *type;
};

static inline size_t shmemi_walk_item_size(const struct shmemi_walk_item *item)
{
    return item->n * item->type->size;
}

/* Special values of target. */
enum {
    SHMEMI_WALK_MAX_ITEMS = 0x7ffffff0,
    SHMEMI_WALK_NULL,
    SHMEMI_WALK_OPAQUE,
    SHMEMI_WALK_WEAK, /* to be looked up when all is known */
    SHMEMI_WALK_SELF, /* an array without elements that is allocated all the same: any address will do */
};

struct shmemi_walk_link {
    uintptr_t slot;    /* where the pointer is */
    uintptr_t address; /* its value */
    uint32_t owner;    /* the item that it is in */
    uint32_t target;   /* the item that it points into, or a special value */
};

/* Objects inside of an object, of which n are still to be looked at. */
struct shmemi_walk_frame {
    uintptr_t address;
    size_t n;
    size_t link;
    const struct shmemi_type *type;
};

/* Its memory is kept for the next walk. */
struct shmemi_graph_work {
    const struct shmemi_walk_options *options;
    struct shmemi_walk_item *items;
    struct shmemi_walk_link *links;
    struct shmemi_walk_frame *frames;
    size_t n_items, n_links, n_frames;
    size_t max_items, max_links, max_frames;
    struct shmemi_visited visited;
    uint64_t steps, max_steps;
    char *scratch; /* of the layout */
    size_t scratch_size;
};

/* The entry of an element, or the free one where it belongs. NULL when there is no memory for a larger table. An entry
 * stays where it is until the next call. */
static inline struct shmemi_visited_entry *shmemi_walk_find(struct shmemi_graph_work *work, uintptr_t address,
                                                            const struct shmemi_type *type)
{
    struct shmemi_visited *visited = &work->visited;
    if (__builtin_expect(shmemi_visited_is_full(visited), 0) && !shmemi_visited_grow(visited))
        return NULL;
    size_t mask = shmemi_visited_size(visited->shift) - 1, place = shmemi_visited_place(address, visited->shift);
    struct shmemi_visited_entry *entries = visited->entries;
    while (entries[place].item_plus_1 &&
           (entries[place].address != address || work->items[entries[place].item_plus_1 - 1].type != type))
        place = (place + 1) & mask;
    return &entries[place];
}

/* The bytes of the pointer value address, which has been checked. */
static inline const char *shmemi_walk_bytes(const struct shmemi_graph_work *work, uintptr_t address)
{
    const struct shmemi_graph_space *space = &work->options->space;
    return (const char *)((uintptr_t)space->bytes + (address - space->base));
}

static inline bool shmemi_walk_is_image(const struct shmemi_graph_work *work)
{
    return work->options->space.bytes != NULL;
}

/* Lay out what the walk has found: extents, links, root, size, shape. 0 or -errno, logged. */
int shmemi_graph_lay_out(struct shmemi_graph *graph, struct shmemi_graph_work *work);

#endif
