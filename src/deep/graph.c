/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens and closes graphs, keeps their memory for the next ones, and looks things up in them.
 */
#include "deep/walk.h"

#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Limits for an image, per byte of its size, which undamaged images never approach. A step visits a pointer, which has
 * 8 bytes, or an object around one; a pointer belongs to few overlapping objects, and leads to one item. */
enum { STEPS_PER_BYTE = 8, LINKS_PER_BYTE = 1, BYTES_PER_ITEM = 4, SMALLEST_LIMIT = 1 << 12 };
enum { KEPT_ITEMS = 1 << 17 };

static void set_limits(struct shmemi_graph_work *work)
{
    const size_t size = work->options->space.size;
    const bool image = shmemi_walk_is_image(work) && size < PTRDIFF_MAX / STEPS_PER_BYTE;
    work->steps = 0;
    work->max_steps = image ? size * STEPS_PER_BYTE + SMALLEST_LIMIT : UINT64_MAX;
    work->most_links = image ? size * LINKS_PER_BYTE + SMALLEST_LIMIT : SIZE_MAX;
    work->most_items = image ? size / BYTES_PER_ITEM + SMALLEST_LIMIT : SHMEMI_WALK_MAX_ITEMS;
    if (work->most_items > SHMEMI_WALK_MAX_ITEMS)
        work->most_items = SHMEMI_WALK_MAX_ITEMS;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Memory kept from the last walk and the last graph, unless it was large: allocating it anew would cost more than the
 * walk of a small graph. */
static _Atomic(struct shmemi_graph_work *) spare_work;
static _Atomic(struct shmemi_graph_memory *) spare_memory;

static void free_memory(struct shmemi_graph_memory *memory)
{
    if (!memory)
        return;
    free(memory->extents);
    free(memory->links);
    free(memory->by_address);
    free(memory);
}

static void put_back_memory(struct shmemi_graph_memory *memory)
{
    bool is_small = memory->max_extents <= KEPT_ITEMS && memory->max_links <= 2 * KEPT_ITEMS;
    free_memory(is_small ? atomic_exchange(&spare_memory, memory) : memory);
}

static void free_work(struct shmemi_graph_work *work)
{
    if (!work)
        return;
    free(work->items);
    free(work->weaks);
    free(work->frames);
    free(work->visited.entries);
    free(work->scratch);
    free(work);
}

static struct shmemi_graph_work *take_work(const struct shmemi_walk_options *options)
{
    struct shmemi_graph_work *work = atomic_exchange(&spare_work, NULL);
    if (!work)
        work = calloc(1, sizeof *work);
    if (!work || !shmemi_visited_clear(&work->visited)) {
        free_work(work);
        shmemi_error("%s: no memory for the walk", options->routine);
        return NULL;
    }
    work->options = options;
    work->n_items = work->n_links = work->n_weaks = work->n_frames = 0;
    work->size = options->header;
    set_limits(work);
    return work;
}

static void put_back_work(struct shmemi_graph_work *work)
{
    bool is_small = work->max_items <= KEPT_ITEMS && work->max_frames <= KEPT_ITEMS && work->max_weaks <= KEPT_ITEMS &&
                    shmemi_visited_size(work->visited.shift) <= 4 * KEPT_ITEMS;
    free_work(is_small ? atomic_exchange(&spare_work, work) : work);
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

static int make_graph(struct shmemi_graph *graph, const struct shmemi_walk_options *options, uintptr_t address,
                      const struct shmemi_type *type, size_t nelems, struct shmemi_graph_memory *memory)
{
    struct shmemi_graph_work *work = take_work(options);
    if (!work)
        return -ENOMEM;
    work->result = *memory;
    int rc = shmemi_walk(work, address, type, nelems);
    if (!rc)
        rc = shmemi_graph_lay_out(graph, work);
    *memory = work->result;
    put_back_work(work);
    return rc;
}

int shmemi_graph_open(struct shmemi_graph *graph, const struct shmemi_walk_options *options, uintptr_t address,
                      const struct shmemi_type *type, size_t nelems)
{
    *graph = (struct shmemi_graph){0};
    struct shmemi_graph_memory *memory = atomic_exchange(&spare_memory, NULL);
    if (!memory)
        memory = calloc(1, sizeof *memory);
    if (!memory) {
        shmemi_error("%s: no memory for a graph", options->routine);
        return -ENOMEM;
    }
    int rc = make_graph(graph, options, address, type, nelems, memory);
    if (rc)
        put_back_memory(memory);
    else
        graph->memory = memory;
    return rc;
}

void shmemi_graph_close(struct shmemi_graph *graph)
{
    if (graph->memory)
        put_back_memory(graph->memory);
    *graph = (struct shmemi_graph){0};
}

/* ---- Look-up ----------------------------------------------------------------------------------------------------- */

size_t shmemi_graph_first_extent(const struct shmemi_graph *graph, size_t at)
{
    size_t n = shmemi_extents_up_to(graph->extents, graph->n_extents, at); /* of these only the last may end after it */
    return n && graph->extents[n - 1].at + graph->extents[n - 1].size > at ? n - 1 : n;
}

size_t shmemi_graph_first_link(const struct shmemi_graph *graph, size_t at)
{
    if (at < SHMEMI_LINK_BYTES)
        return 0;
    return shmemi_sorted_up_to(graph->links, graph->n_links, sizeof *graph->links,
                               offsetof(struct shmemi_graph_link, at), at - SHMEMI_LINK_BYTES);
}

const struct shmemi_extent *shmemi_graph_extent_at(const struct shmemi_graph *graph, size_t at)
{
    size_t i = shmemi_graph_first_extent(graph, at);
    return i < graph->n_extents && graph->extents[i].at <= at ? &graph->extents[i] : NULL;
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
