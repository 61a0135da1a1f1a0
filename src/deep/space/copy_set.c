/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets of copies: the copies that one map makes, their memory on the device, and their pointers.
 */
#include "deep/image.h"
#include "deep/sort.h"
#include "deep/space/technique.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Making ------------------------------------------------------------------------------------------------------ */

enum { SPARE_COPIES_MAX = 64 << 10 };

static void free_memory(struct shmemi_copy_set *set)
{
    if (set)
        free(set->followers);
    free(set);
}

static struct shmemi_copy_set *take_spare(struct shmemi_space *space, size_t n_copies, size_t n_links)
{
    struct shmemi_copy_set *set = space->spare;
    if (!set || set->copy_room < n_copies || set->follower_room < n_links)
        return NULL;
    space->spare = NULL;
    return set;
}

static struct shmemi_copy_set *make_memory(size_t n_copies, size_t n_links)
{
    struct shmemi_copy_set *set = malloc(sizeof *set + (n_copies + 1) * sizeof set->copies[0]);
    uint32_t *followers = malloc((n_links ? n_links : 1) * sizeof *followers);
    if (!set || !followers) {
        free(set);
        free(followers);
        return NULL;
    }
    set->followers = followers;
    set->copy_room = n_copies;
    set->follower_room = n_links;
    return set;
}

static struct shmemi_copy_set *allocate_set(struct shmemi_space *space, size_t n_copies, size_t n_links)
{
    struct shmemi_copy_set *set = take_spare(space, n_copies, n_links);
    if (!set)
        set = make_memory(n_copies, n_links);
    if (set)
        *set = (struct shmemi_copy_set){.followers = set->followers,
                                        .n_copies = n_copies,
                                        .copy_room = set->copy_room,
                                        .follower_room = set->follower_room};
    return set;
}

/* Fill in the copies and followers, from a graph whose links point to offsets. */
static void fill_in_copies(struct shmemi_copy_set *set)
{
    const struct shmemi_graph *graph = &set->graph;
    size_t link = 0;
    for (size_t i = 0; i < set->n_copies; i++) {
        const struct shmemi_extent *extent = &graph->extents[i];
        while (link < graph->n_links && graph->links[link].at < extent->at)
            link++;
        set->copies[i] = (struct shmemi_space_copy){
            .address = extent->address,
            .size = extent->size,
            .set = set,
            .first_link = link,
            .n_mappings = 1, /* the map that makes it, the only one until the copy is in the index */
            .is_live = true,
        };
    }
    set->copies[set->n_copies] = (struct shmemi_space_copy){.first_link = graph->n_links};
    for (size_t i = 0; i < graph->n_links; i++)
        set->followers[i] = graph->links[i].to < SHMEMI_LINK_OPAQUE ? SHMEMI_LINK_OF_MAKER : 0;
}

struct shmemi_copy_set *shmemi_copy_set_of_all(struct shmemi_space *space, struct shmemi_graph *graph)
{
    struct shmemi_copy_set *set = allocate_set(space, graph->n_extents, graph->n_links);
    if (!set)
        return NULL;
    set->graph = *graph;
    set->is_walked = true;
    *graph = (struct shmemi_graph){0};
    fill_in_copies(set);
    return set;
}

/* The next offset from `at` on that is aligned as the old one is. */
static size_t lay_next(size_t at, size_t old)
{
    size_t residue = old % SHMEMI_SPACE_UNIT;
    size_t unit = at / SHMEMI_SPACE_UNIT * SHMEMI_SPACE_UNIT + residue;
    return unit >= at ? unit : unit + SHMEMI_SPACE_UNIT;
}

static size_t count_links(const struct shmemi_graph *graph, struct shmemi_space_copy *const *holders)
{
    size_t n = 0, link = 0;
    for (size_t i = 0; i < graph->n_extents; i++)
        for (size_t end = graph->extents[i].at + graph->extents[i].size;
             link < graph->n_links && graph->links[link].at < end; link++)
            n += !holders[i];
    return n;
}

static void copy_some(struct shmemi_graph *some, const struct shmemi_graph *graph,
                      struct shmemi_space_copy *const *holders)
{
    size_t at = SHMEMX_DEEP_HEADER, link = 0;
    for (size_t i = 0; i < graph->n_extents; i++) {
        const struct shmemi_extent *extent = &graph->extents[i];
        struct shmemi_extent *mine = &some->extents[some->n_extents];
        if (!holders[i]) {
            *mine = *extent;
            mine->at = lay_next(at, extent->at);
            at = mine->at + mine->size;
            some->n_extents++;
        }
        for (; link < graph->n_links && graph->links[link].at < extent->at + extent->size; link++)
            if (!holders[i])
                some->links[some->n_links++] =
                    (struct shmemi_graph_link){graph->links[link].at - extent->at + mine->at, graph->links[link].to};
    }
    some->size = at;
}

struct shmemi_copy_set *shmemi_copy_set_of_some(struct shmemi_space *space, const struct shmemi_graph *graph,
                                                struct shmemi_space_copy *const *holders, size_t n)
{
    size_t n_links = count_links(graph, holders);
    struct shmemi_copy_set *set = allocate_set(space, n, n_links);
    if (!set)
        return NULL;
    set->graph.extents = malloc((n ? n : 1) * sizeof *set->graph.extents);
    set->graph.links = malloc((n_links ? n_links : 1) * sizeof *set->graph.links);
    if (!set->graph.extents || !set->graph.links) {
        shmemi_copy_set_free(space, set);
        return NULL;
    }
    copy_some(&set->graph, graph, holders);
    fill_in_copies(set);
    return set;
}

static void free_graph(struct shmemi_copy_set *set)
{
    if (set->is_walked) {
        shmemi_graph_close(&set->graph);
        return;
    }
    free(set->graph.extents);
    free(set->graph.links);
}

/* Keeps the larger of this set's memory and the spare one for the next set. */
void shmemi_copy_set_free(struct shmemi_space *space, struct shmemi_copy_set *set)
{
    if (!set)
        return;
    free_graph(set);
    bool is_larger = !space->spare || space->spare->copy_room < set->copy_room;
    if (!is_larger || set->copy_room > SPARE_COPIES_MAX) {
        free_memory(set);
        return;
    }
    free_memory(space->spare);
    space->spare = set;
}

void shmemi_copy_set_free_spare(struct shmemi_space *space)
{
    free_memory(space->spare);
    space->spare = NULL;
}

/* ---- Device memory ----------------------------------------------------------------------------------------------- */

static int place_chunk(struct shmemi_space *space, struct shmemi_copy_set *set)
{
    uint64_t start;
    size_t size = set->graph.size - SHMEMX_DEEP_HEADER;
    int rc = shmemi_space_memory_allocate(&space->memory, size, SHMEMI_SPACE_ALIGNMENT, &start);
    if (rc)
        return rc;
    set->is_chunk = true;
    set->base = start - SHMEMX_DEEP_HEADER;
    set->end = start + size;
    for (size_t i = 0; i < set->n_copies; i++)
        set->copies[i].device = set->base + set->graph.extents[i].at;
    return 0;
}

struct device_range {
    uint64_t start, end;
};

/* Memory that belongs to a copy. For a copy outside a chunk it consists of whole units. */
static struct device_range block_of(const struct shmemi_space_copy *copy)
{
    const struct shmemi_copy_set *set = copy->set;
    bool is_last = copy + 1 == set->copies + set->n_copies;
    if (set->is_chunk) /* a copy with the gap after it, the first also with the gap before it */
        return (struct device_range){copy == set->copies ? set->base + SHMEMX_DEEP_HEADER : copy->device,
                                     is_last ? set->end : copy[1].device};
    uint64_t end = copy->device + copy->size + SHMEMI_SPACE_UNIT - 1;
    return (struct device_range){copy->device / SHMEMI_SPACE_UNIT * SHMEMI_SPACE_UNIT,
                                 end / SHMEMI_SPACE_UNIT * SHMEMI_SPACE_UNIT};
}

static int place_copy(struct shmemi_space *space, struct shmemi_space_copy *copy)
{
    size_t residue = shmemi_copy_extent(copy)->at % SHMEMI_SPACE_UNIT;
    size_t size = (copy->size + residue + SHMEMI_SPACE_UNIT - 1) / SHMEMI_SPACE_UNIT * SHMEMI_SPACE_UNIT;
    int rc = shmemi_space_memory_allocate(&space->memory, size, SHMEMI_SPACE_UNIT, &copy->device);
    copy->device += residue;
    return rc;
}

static void release_block(struct shmemi_space *space, struct device_range block)
{
    shmemi_space_memory_release(&space->memory, block.start, (size_t)(block.end - block.start));
}

static int place_copies(struct shmemi_space *space, struct shmemi_copy_set *set)
{
    if (!space->memory.is_per_object)
        shmemi_space_memory_expect(&space->memory, set->graph.size + set->n_copies * 2 * SHMEMI_SPACE_UNIT);
    for (size_t i = 0; i < set->n_copies; i++) {
        int rc = place_copy(space, &set->copies[i]);
        if (!rc)
            continue;
        while (i-- > 0)
            release_block(space, block_of(&set->copies[i]));
        return rc;
    }
    return 0;
}

int shmemi_copy_set_place(struct shmemi_space *space, struct shmemi_copy_set *set)
{
    return space->technique->is_packed ? place_chunk(space, set) : place_copies(space, set);
}

void shmemi_copy_set_release(struct shmemi_space *space, struct shmemi_space_copy *const *copies, size_t n)
{
    for (size_t i = 0, next; i < n; i = next) {
        struct device_range block = block_of(copies[i]);
        for (next = i + 1; next < n && !space->memory.is_per_object; next++) {
            struct device_range more = block_of(copies[next]);
            if (more.start != block.end)
                break;
            block.end = more.end;
        }
        release_block(space, block);
    }
}

/* ---- Links ------------------------------------------------------------------------------------------------------- */

size_t shmemi_copy_first_link(const struct shmemi_space_copy *copy, size_t at)
{
    const struct shmemi_graph_link *links = copy->set->graph.links + copy->first_link;
    const size_t n = shmemi_copy_end_link(copy) - copy->first_link;
    return copy->first_link + shmemi_sorted_up_to(links, n, sizeof *links, offsetof(struct shmemi_graph_link, at),
                                                  shmemi_copy_extent(copy)->at + at - 1);
}

size_t shmemi_copy_find_link(const struct shmemi_space_copy *copy, size_t at)
{
    size_t link = shmemi_copy_first_link(copy, at);
    bool is_there = link < shmemi_copy_end_link(copy) && shmemi_link_offset(copy, link) == at;
    return is_there ? link : SIZE_MAX;
}

/* Moves the links to memory of the set with room for more, since the memory of a walked graph cannot grow. */
static int grow_links(struct shmemi_copy_set *set)
{
    size_t n = set->graph.n_links, room = 2 * n + 16;
    if (n < set->link_room)
        return 0;
    struct shmemi_extent *extents = malloc(set->n_copies * sizeof *extents);
    struct shmemi_graph_link *links = malloc(room * sizeof *links);
    uint32_t *followers = realloc(set->followers, room * sizeof *followers);
    if (followers) {
        set->followers = followers;
        set->follower_room = room;
    }
    if (!extents || !links || !followers) {
        free(extents);
        free(links);
        return -ENOMEM;
    }
    struct shmemi_graph graph = {.extents = extents, .links = links, .n_links = n, .size = set->graph.size};
    graph.n_extents = set->n_copies;
    memcpy(extents, set->graph.extents, set->n_copies * sizeof *extents);
    if (n)
        memcpy(links, set->graph.links, n * sizeof *links);
    free_graph(set);
    set->graph = graph;
    set->is_walked = false;
    set->link_room = room;
    return 0;
}

int shmemi_copy_add_link(struct shmemi_space_copy *copy, size_t at)
{
    struct shmemi_copy_set *set = copy->set;
    size_t link = shmemi_copy_first_link(copy, at);
    int rc = grow_links(set);
    if (rc)
        return rc;
    size_t behind = set->graph.n_links - link;
    memmove(&set->graph.links[link + 1], &set->graph.links[link], behind * sizeof set->graph.links[0]);
    memmove(&set->followers[link + 1], &set->followers[link], behind * sizeof set->followers[0]);
    set->graph.links[link] = (struct shmemi_graph_link){shmemi_copy_extent(copy)->at + at, SHMEMI_LINK_OPAQUE};
    set->followers[link] = 0;
    set->graph.n_links++;
    for (struct shmemi_space_copy *next = copy + 1; next <= &set->copies[set->n_copies]; next++)
        next->first_link++;
    return 0;
}
