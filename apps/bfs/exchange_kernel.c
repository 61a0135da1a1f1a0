/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels exchange by themselves (kernels_direct.h; CUDA): one launch is a whole search, and the host waits for its
 * end. Inboxes have a box for each sender, as in exchange_mapped.c, which the sender's kernel fills; a second mapped
 * buffer has the reports.
 */
#include <shmemx.h>
#include <shmemx_device.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"

struct direct_search {
    struct buffer *box;    /* reports of two levels, then what each PE has been sent */
    struct buffer *result; /* struct search_result                                   */
    void *box_map, *inbox_map;
    shmemx_device_view_t box_view, inbox_view;
    struct kernel *search_all;
    size_t groups;
};

enum { LANES = 256 };

static size_t box_bytes(int n_pes)
{
    return (size_t)n_pes * (2 * sizeof(struct level_report) + sizeof(u32));
}

static size_t heap_bytes(const struct partition *part, bool direction_optimising)
{
    (void)part, (void)direction_optimising;
    return 0;
}

/* ---- Is it possible? --------------------------------------------------------------------------------------------- */

enum { POSSIBLE, NOT_CUDA, BOTTOM_UP, NO_KERNEL, NO_ROUTE, NO_VIEW, IN_TURNS };

static const char *const refusals[] = {
    [NOT_CUDA] = "kernels communicate on CUDA devices only",
    [BOTTOM_UP] = "it does not search bottom-up (--direction-optimising)",
    [NO_KERNEL] = "the GPU of a PE is older than compute capability 7.0",
    [NO_ROUTE] = "the kernels of a PE cannot reach the GPU of another (it is on another node, or there is no cuda-ipc)",
    [NO_VIEW] = "shmemx_device_view has failed",
    [IN_TURNS] = "PEs share a GPU without MPS, so that kernels that wait for each other would take turns",
};

static bool reaches_all(const struct search *search)
{
    for (int pe = 0; pe < search->n_pes; pe++) {
        const char *route = shmemx_route(search->direct->box_map, pe);

        if (pe != search->my_pe && (!route || (strcmp(route, "cuda-ipc") != 0 && strcmp(route, "shared") != 0)))
            return false;
    }
    return true;
}

static int obstacle(const struct search *search)
{
    if (search->ops->memtype != OSHM_MEMTYPE_CUDA || !search->ops->together.launch)
        return NOT_CUDA;
    if (search->opt->direction_optimising)
        return BOTTOM_UP;
    if (!search->ops->together.has(search->dev, "search_all"))
        return NO_KERNEL;
    if (!reaches_all(search))
        return NO_ROUTE;
    return shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA) ? POSSIBLE : IN_TURNS;
}

/* All PEs refuse for the same cause. */
static bool all_can(struct search *search, int cause)
{
    const int worst = (int)job_max(cause);

    search->refusal = refusals[worst];
    return worst == POSSIBLE;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static int open_views(struct search *search)
{
    struct direct_search *direct = search->direct;

    if (shmemx_device_view(direct->box_map, &direct->box_view))
        return NO_VIEW;
    direct->inbox_view = direct->box_view; /* one PE has no inbox, and sends nothing */
    if (direct->inbox_map && shmemx_device_view(direct->inbox_map, &direct->inbox_view))
        return NO_VIEW;
    return POSSIBLE;
}

/* As many groups as the device holds at a time, but no more than there are pieces. */
static void open_kernel(struct search *search)
{
    struct direct_search *direct = search->direct;
    const size_t pieces = search->full.global[0] / search->full.group[0];

    direct->search_all = search->ops->gpu.kernel(search->dev, "search_all", NULL);
    direct->groups =
        search->ops->together.most_groups(search->dev, direct->search_all, LANES) / (size_t)shmemx_device_sharers();
    if (direct->groups > pieces)
        direct->groups = pieces;
}

static void open_direct(struct search *search)
{
    const size_t bytes = box_bytes(search->n_pes), boxes = search_pairs(&search->part) * sizeof(u64);
    struct direct_search *direct = host_alloc(sizeof(*direct));
    void *zeros = calloc(1, bytes);

    *direct = (struct direct_search){0};
    search->direct = direct;
    direct->box = search->ops->alloc(search->dev, bytes);
    direct->result = search->ops->alloc(search->dev, sizeof(struct search_result));
    if (!zeros)
        die("no host memory for %zu bytes", bytes);
    search->ops->write(search->dev, direct->box, 0, zeros, bytes);
    free(zeros);
    direct->box_map = mapped_map(search, direct->box, bytes);
    if (search->n_pes > 1)
        direct->inbox_map = mapped_map(search, search->inbox, boxes);
    if (all_can(search, obstacle(search)) && all_can(search, open_views(search)))
        open_kernel(search);
}

static void close_direct(struct search *search)
{
    struct direct_search *direct = search->direct;

    shmumap(direct->inbox_map);
    shmumap(direct->box_map);
    search->ops->free(search->dev, direct->result);
    search->ops->free(search->dev, direct->box);
    free(direct);
}

/* ---- Searches ---------------------------------------------------------------------------------------------------- */

static void run_search(struct search *search, struct search_times *times)
{
    const struct direct_search *direct = search->direct;
    const struct own_part own = {
        .first = (u32)search->first,
        .size = (u32)search->size,
        .block = (u32)search->part.block,
        .my_pe = (u32)search->my_pe,
        .n_pes = (u32)search->n_pes,
    };
    const struct launch launch = {.global = {direct->groups * LANES}, .group = {LANES}};
    const struct argument arguments[] = {
        BUFFER_ARGUMENT(search->row),
        BUFFER_ARGUMENT(search->column),
        BUFFER_ARGUMENT(search->parent),
        BUFFER_ARGUMENT(search->known),
        BUFFER_ARGUMENT(search->queue[0]),
        BUFFER_ARGUMENT(search->queue[1]),
        BUFFER_ARGUMENT(search->counters),
        BUFFER_ARGUMENT(search->inbox),
        BUFFER_ARGUMENT(direct->box),
        BUFFER_ARGUMENT(direct->result),
        VALUE_ARGUMENT(direct->inbox_view),
        VALUE_ARGUMENT(direct->box_view),
        VALUE_ARGUMENT(own),
        VALUE_ARGUMENT(search->epoch),
    };
    struct search_result result;

    if (shmemx_device_sharers() > 1) { /* nothing of another PE has to run beside kernels that wait, but those alone */
        search->ops->gpu.finish(search->device_queue);
        shmem_barrier_all();
    }
    search->ops->together.launch(search->device_queue, direct->search_all, &launch, arguments,
                                 (int)(sizeof(arguments) / sizeof(arguments[0])));
    search->ops->read(search->dev, &result, direct->result, 0, sizeof(result));
    search->epoch += result.run;
    times->levels = (int)result.levels;
    times->reached = result.reached;
    times->bytes_sent = result.sent * sizeof(u64);
    times->comm_seconds = 1e-9 * (double)result.comm_ns;
}

const struct exchange exchange_kernel = {
    .name = "kernel",
    .device_bytes = MOST_PES * (2 * sizeof(struct level_report) + sizeof(u32)) + sizeof(struct search_result),
    .heap_bytes = heap_bytes,
    .open = open_direct,
    .close = close_direct,
    .run = run_search,
};
