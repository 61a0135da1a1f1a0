/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches: the copies that one map makes, their memory on the device, and their pointers.
 */
#include "deep/image.h"
#include "deep/sort.h"
#include "deep/space/technique.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Making ------------------------------------------------------------------------------------------------------ */

enum { SPARE_COPIES_MAX = 64 << 10 };

static void free_memory(struct shmemi_batch *batch)
{
    if (batch)
        free(batch->followers);
    free(batch);
}

static struct shmemi_batch *take_spare(struct shmemi_space *space, size_t n_copies, size_t n_links)
{
    struct shmemi_batch *batch = space->spare;
    if (!batch || batch->copy_room < n_copies || batch->follower_room < n_links)
        return NULL;
    space->spare = NULL;
    return batch;
}

static struct shmemi_batch *make_memory(size_t n_copies, size_t n_links)
{
    struct shmemi_batch *batch = malloc(sizeof *batch + (n_copies + 1) * sizeof batch->copies[0]);
    uint32_t *followers = malloc((n_links ? n_links : 1) * sizeof *followers);
    if (!batch || !followers) {
        free(batch);
        free(followers);
        return NULL;
    }
    batch->followers = followers;
    batch->copy_room = n_copies;
    batch->follower_room = n_links;
    return batch;
}

static struct shmemi_batch *allocate_batch(struct shmemi_space *space, size_t n_copies, size_t n_links)
{
    struct shmemi_batch *batch = take_spare(space, n_copies, n_links);
    if (!batch)
        batch = make_memory(n_copies, n_links);
    if (batch)
        *batch = (struct shmemi_batch){.followers = batch->followers,
                                       .n_copies = n_copies,
                                       .copy_room = batch->copy_room,
                                       .follower_room = batch->follower_room};
    return batch;
}

/* Fill in the copies and followers, from a graph whose links point to offsets. */
static void describe(struct shmemi_batch *batch)
{
    const struct shmemi_graph *graph = &batch->graph;
    size_t link = 0;
    for (size_t i = 0; i < batch->n_copies; i++) {
        const struct shmemi_extent *extent = &graph->extents[i];
        while (link < graph->n_links && graph->links[link].at < extent->at)
            link++;
        batch->copies[i] = (struct shmemi_copy){
            .address = extent->address,
            .size = extent->size,
            .batch = batch,
            .first_link = link,
            .n_mappings = 1, /* the map that makes it, the only one until the copy is in the index */
            .is_live = true,
        };
    }
    batch->copies[batch->n_copies] = (struct shmemi_copy){.first_link = graph->n_links};
    for (size_t i = 0; i < graph->n_links; i++)
        batch->followers[i] = graph->links[i].to < SHMEMI_LINK_OPAQUE ? SHMEMI_LINK_OF_MAKER : 0;
}

struct shmemi_batch *shmemi_batch_of_all(struct shmemi_space *space, struct shmemi_graph *graph)
{
    struct shmemi_batch *batch = allocate_batch(space, graph->n_extents, graph->n_links);
    if (!batch)
        return NULL;
    batch->graph = *graph;
    batch->is_walked = true;
    *graph = (struct shmemi_graph){0};
    describe(batch);
    return batch;
}

/* The next offset from `at` on that is aligned as the old one is. */
static size_t lay_next(size_t at, size_t old)
{
    size_t residue = old % SHMEMI_SPACE_UNIT;
    size_t unit = at / SHMEMI_SPACE_UNIT * SHMEMI_SPACE_UNIT + residue;
    return unit >= at ? unit : unit + SHMEMI_SPACE_UNIT;
}

static size_t count_links(const struct shmemi_graph *graph, struct shmemi_copy *const *holders)
{
    size_t n = 0, link = 0;
    for (size_t i = 0; i < graph->n_extents; i++)
        for (size_t end = graph->extents[i].at + graph->extents[i].size;
             link < graph->n_links && graph->links[link].at < end; link++)
            n += !holders[i];
    return n;
}

static void copy_some(struct shmemi_graph *some, const struct shmemi_graph *graph, struct shmemi_copy *const *holders)
{
    size_t at = SHMEMI_IMAGE_HEADER, link = 0;
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

struct shmemi_batch *shmemi_batch_of_some(struct shmemi_space *space, const struct shmemi_graph *graph,
                                          struct shmemi_copy *const *holders, size_t n)
{
    size_t n_links = count_links(graph, holders);
    struct shmemi_batch *batch = allocate_batch(space, n, n_links);
    if (!batch)
        return NULL;
    batch->graph.extents = malloc((n ? n : 1) * sizeof *batch->graph.extents);
    batch->graph.links = malloc((n_links ? n_links : 1) * sizeof *batch->graph.links);
    if (!batch->graph.extents || !batch->graph.links) {
        shmemi_batch_free(space, batch);
        return NULL;
    }
    copy_some(&batch->graph, graph, holders);
    describe(batch);
    return batch;
}

static void free_graph(struct shmemi_batch *batch)
{
    if (batch->is_walked) {
        shmemi_graph_close(&batch->graph);
        return;
    }
    free(batch->graph.extents);
    free(batch->graph.links);
}

/* Keeps the larger of this batch's memory and the spare one for the next batch. */
void shmemi_batch_free(struct shmemi_space *space, struct shmemi_batch *batch)
{
    if (!batch)
        return;
    free_graph(batch);
    bool is_larger = !space->spare || space->spare->copy_room < batch->copy_room;
    if (!is_larger || batch->copy_room > SPARE_COPIES_MAX) {
        free_memory(batch);
        return;
    }
    free_memory(space->spare);
    space->spare = batch;
}

void shmemi_batch_free_spare(struct shmemi_space *space)
{
    free_memory(space->spare);
    space->spare = NULL;
}

/* ---- Device memory ----------------------------------------------------------------------------------------------- */

static int place_chunk(struct shmemi_space *space, struct shmemi_batch *batch)
{
    uint64_t start;
    size_t size = batch->graph.size - SHMEMI_IMAGE_HEADER;
    int rc = shmemi_space_memory_allocate(&space->memory, size, SHMEMI_SPACE_ALIGNMENT, &start);
    if (rc)
        return rc;
    batch->is_chunk = true;
    batch->base = start - SHMEMI_IMAGE_HEADER;
    batch->end = start + size;
    for (size_t i = 0; i < batch->n_copies; i++)
        batch->copies[i].device = batch->base + batch->graph.extents[i].at;
    return 0;
}

struct block {
    uint64_t start, end;
};

/* Memory that belongs to a copy. For a copy outside a chunk it consists of whole units. */
static struct block block_of(const struct shmemi_copy *copy)
{
    const struct shmemi_batch *batch = copy->batch;
    bool is_last = copy + 1 == batch->copies + batch->n_copies;
    if (batch->is_chunk) /* a copy with the gap after it, the first also with the gap before it */
        return (struct block){copy == batch->copies ? batch->base + SHMEMI_IMAGE_HEADER : copy->device,
                              is_last ? batch->end : copy[1].device};
    uint64_t end = copy->device + copy->size + SHMEMI_SPACE_UNIT - 1;
    return (struct block){copy->device / SHMEMI_SPACE_UNIT * SHMEMI_SPACE_UNIT,
                          end / SHMEMI_SPACE_UNIT * SHMEMI_SPACE_UNIT};
}

static int place_copy(struct shmemi_space *space, struct shmemi_copy *copy)
{
    size_t residue = shmemi_copy_extent(copy)->at % SHMEMI_SPACE_UNIT;
    size_t size = (copy->size + residue + SHMEMI_SPACE_UNIT - 1) / SHMEMI_SPACE_UNIT * SHMEMI_SPACE_UNIT;
    int rc = shmemi_space_memory_allocate(&space->memory, size, SHMEMI_SPACE_UNIT, &copy->device);
    copy->device += residue;
    return rc;
}

static void release_block(struct shmemi_space *space, struct block block)
{
    shmemi_space_memory_release(&space->memory, block.start, (size_t)(block.end - block.start));
}

static int place_copies(struct shmemi_space *space, struct shmemi_batch *batch)
{
    if (!space->memory.is_per_object)
        shmemi_space_memory_expect(&space->memory, batch->graph.size + batch->n_copies * 2 * SHMEMI_SPACE_UNIT);
    for (size_t i = 0; i < batch->n_copies; i++) {
        int rc = place_copy(space, &batch->copies[i]);
        if (!rc)
            continue;
        while (i-- > 0)
            release_block(space, block_of(&batch->copies[i]));
        return rc;
    }
    return 0;
}

int shmemi_batch_place(struct shmemi_space *space, struct shmemi_batch *batch)
{
    return space->technique->is_packed ? place_chunk(space, batch) : place_copies(space, batch);
}

void shmemi_batch_release(struct shmemi_space *space, struct shmemi_copy *const *copies, size_t n)
{
    for (size_t i = 0, next; i < n; i = next) {
        struct block block = block_of(copies[i]);
        for (next = i + 1; next < n && !space->memory.is_per_object; next++) {
            struct block more = block_of(copies[next]);
            if (more.start != block.end)
                break;
            block.end = more.end;
        }
        release_block(space, block);
    }
}

/* ---- Links ------------------------------------------------------------------------------------------------------- */

size_t shmemi_batch_first_link(const struct shmemi_copy *copy, size_t at)
{
    const struct shmemi_graph_link *links = copy->batch->graph.links + copy->first_link;
    const size_t n = shmemi_copy_end_link(copy) - copy->first_link;
    return copy->first_link + shmemi_sorted_up_to(links, n, sizeof *links, offsetof(struct shmemi_graph_link, at),
                                                  shmemi_copy_extent(copy)->at + at - 1);
}

size_t shmemi_batch_find_link(const struct shmemi_copy *copy, size_t at)
{
    size_t link = shmemi_batch_first_link(copy, at);
    bool is_there = link < shmemi_copy_end_link(copy) && shmemi_link_offset(copy, link) == at;
    return is_there ? link : SIZE_MAX;
}

/* Moves the links to memory of the batch with room for more, since the memory of a walked graph cannot grow. */
static int grow_links(struct shmemi_batch *batch)
{
    size_t n = batch->graph.n_links, room = 2 * n + 16;
    if (n < batch->link_room)
        return 0;
    struct shmemi_extent *extents = malloc(batch->n_copies * sizeof *extents);
    struct shmemi_graph_link *links = malloc(room * sizeof *links);
    uint32_t *followers = realloc(batch->followers, room * sizeof *followers);
    if (followers) {
        batch->followers = followers;
        batch->follower_room = room;
    }
    if (!extents || !links || !followers) {
        free(extents);
        free(links);
        return -ENOMEM;
    }
    struct shmemi_graph graph = {.extents = extents, .links = links, .n_links = n, .size = batch->graph.size};
    graph.n_extents = batch->n_copies;
    memcpy(extents, batch->graph.extents, batch->n_copies * sizeof *extents);
    if (n)
        memcpy(links, batch->graph.links, n * sizeof *links);
    free_graph(batch);
    batch->graph = graph;
    batch->is_walked = false;
    batch->link_room = room;
    return 0;
}

int shmemi_batch_add_link(struct shmemi_copy *copy, size_t at)
{
    struct shmemi_batch *batch = copy->batch;
    size_t link = shmemi_batch_first_link(copy, at);
    int rc = grow_links(batch);
    if (rc)
        return rc;
    size_t behind = batch->graph.n_links - link;
    memmove(&batch->graph.links[link + 1], &batch->graph.links[link], behind * sizeof batch->graph.links[0]);
    memmove(&batch->followers[link + 1], &batch->followers[link], behind * sizeof batch->followers[0]);
    batch->graph.links[link] = (struct shmemi_graph_link){shmemi_copy_extent(copy)->at + at, SHMEMI_LINK_OPAQUE};
    batch->followers[link] = 0;
    batch->graph.n_links++;
    for (struct shmemi_copy *next = copy + 1; next <= &batch->copies[batch->n_copies]; next++)
        next->first_link++;
    return 0;
}
