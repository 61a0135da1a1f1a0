/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The levels of a search over a grid of PEs (grid.h). A level: expand the frontier; what was found goes along the rows,
 * is sorted by its rows there, and goes along the columns; the owners take what is new; a sum over all PEs tells whether
 * to go on. The host waits for its device twice in a level.
 */
#include "grid.h"

#include <shmem.h>
#include <stdlib.h>
#include <string.h>

#include "ghosts.h"

#define ARRAY_LENGTH(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define NONE UINT32_MAX

enum { COUNT_BITS = 36 }; /* of a signal: pairs in this level; above them the epoch */

/* What is summed up over all PEs in each level. */
enum { FRONTIER, FOUND, SENT, TRAVELLED, SUMS };

/* ---- Opening ------------------------------------------------------------------------------------------------------ */

static size_t counters_bytes(const struct pe_grid *grid)
{
    return sizeof(struct counters) + (size_t)(grid->rows + grid->columns) * sizeof(u32);
}

/* At most: as if all neighbours were different vertices of other PEs. */
size_t grid_device_bytes(const struct partition *part, uint64_t n_adjacent)
{
    const uint64_t others = part->n_vertices - part->block;
    const uint64_t ghosts = n_adjacent < others ? n_adjacent : others;
    const struct pe_grid grid = pe_grid_make(part->n_pes);

    return (part->block + 1) * sizeof(u64) + n_adjacent * sizeof(u32) + part->block * 3 * sizeof(u64) +
           ghosts * 5 * sizeof(u64) + (part->block + ghosts) / 8 + counters_bytes(&grid);
}

static size_t heap_bytes(const struct partition *part, bool direction_optimising)
{
    (void)direction_optimising;
    return 64 * ((size_t)part->n_pes + 64) + (64 << 10);
}

const struct exchange exchange_grid = {.name = "grid", .heap_bytes = heap_bytes};

static void check_limits(const struct search *search, const struct pe_grid *grid, const struct graph *graph)
{
    if (grid->columns > MOST_PES)
        quit_all("%d PEs are too many: the search takes up to %d", search->n_pes, MOST_PES * MOST_PES);
    if (graph->part.block > (uint64_t)1 << GRID_VERTEX_BITS)
        quit_all("%llu vertices on each PE are too many: the search over a grid takes up to 2^%d, use more PEs",
                 (unsigned long long)graph->part.block, GRID_VERTEX_BITS);
    if (graph->max_adjacent >= (uint64_t)1 << EDGE_BITS)
        quit_all("%llu edges on one PE are too many: the search takes fewer than 2^%d, use more PEs",
                 (unsigned long long)graph->max_adjacent, EDGE_BITS);
    if (search->opt->direction_optimising)
        quit_all("--direction-optimising is not for --variant grid: every PE would have the whole frontier");
}

static struct buffer *upload(struct search *search, const void *data, size_t bytes)
{
    struct buffer *buf = search->ops->alloc(search->dev, bytes > 0 ? bytes : 1);

    if (bytes > 0)
        search->ops->write(search->dev, buf, 0, data, bytes);
    return buf;
}

static void upload_columns(struct search *search, const struct graph *graph, const struct ghosts *ghosts)
{
    uint32_t *column = host_alloc((graph->n_adjacent + 1) * sizeof(*column));

    for (uint64_t i = 0; i < graph->n_adjacent; i++)
        column[i] = ghosts_number(ghosts, graph, graph->column[i]);
    search->row = upload(search, graph->row, ((size_t)search->size + 1) * sizeof(u64));
    search->column = upload(search, column, graph->n_adjacent * sizeof(*column));
    free(column);
}

/* Tells where each ghost's owner is in the grid, and counts the ghosts of each owner. */
static void upload_ghosts(struct search *search, const struct ghosts *ghosts, uint32_t *counts)
{
    struct grid_search *g = search->by_grid;
    u64 *entries = host_alloc((ghosts->n + 1) * sizeof(*entries));

    for (uint64_t i = 0; i < ghosts->n; i++) {
        int pe = partition_owner(&search->part, ghosts->vertex[i]);

        counts[pe]++;
        entries[i] =
            GHOST(pe / g->grid.columns, pe % g->grid.columns, ghosts->vertex[i] - partition_first(&search->part, pe));
    }
    g->ghosts = upload(search, entries, ghosts->n * sizeof(*entries));
    free(entries);
}

static void open_kernels(struct search *search)
{
    struct grid_search *g = search->by_grid;

    g->start = search->ops->gpu.kernel(search->dev, "grid_start", NULL);
    g->expand = search->ops->gpu.kernel(search->dev, "grid_expand", NULL);
    g->forward = search->ops->gpu.kernel(search->dev, "grid_forward", NULL);
    g->absorb = search->ops->gpu.kernel(search->dev, "grid_absorb", NULL);
}

static void open_graph(struct search *search, const struct graph *graph)
{
    struct ghosts ghosts = ghosts_find(graph);
    uint32_t *counts = host_alloc((size_t)search->n_pes * sizeof(*counts));

    if (graph->size + ghosts.n >= NONE)
        die("PE %d: the neighbours of its vertices are 2^32 vertices or more: use more PEs", search->my_pe);
    memset(counts, 0, (size_t)search->n_pes * sizeof(*counts));
    search->by_grid->n_ghosts = (uint32_t)ghosts.n;
    upload_columns(search, graph, &ghosts);
    upload_ghosts(search, &ghosts, counts);
    grid_boxes_open(search, counts);
    free(counts);
    free(ghosts.vertex);
}

static size_t known_words(const struct search *search)
{
    return ((size_t)search->size + search->by_grid->n_ghosts) / 32 + 1;
}

void grid_open(struct search *search, const struct graph *graph)
{
    const struct device_ops *ops = search->ops;
    struct grid_search *g = host_alloc(sizeof(*g));

    *g = (struct grid_search){.grid = pe_grid_make(search->n_pes)};
    check_limits(search, &g->grid, graph);
    g->row = search->my_pe / g->grid.columns;
    g->column = search->my_pe % g->grid.columns;
    g->sums = symmetric_alloc(2 * SUMS * sizeof(*g->sums));
    search->by_grid = g;
    open_graph(search, graph);
    open_kernels(search);
    search->known = ops->alloc(search->dev, known_words(search) * sizeof(u32));
    search->parent = ops->alloc(search->dev, ((size_t)search->size + 1) * sizeof(u64));
    search->counters = ops->alloc(search->dev, counters_bytes(&g->grid));
    for (int i = 0; i < 2; i++)
        search->queue[i] = ops->alloc(search->dev, ((size_t)search->size + 1) * sizeof(u64));
}

void grid_close(struct search *search)
{
    struct buffer *buffers[] = {search->row,      search->column,   search->parent,   search->known,
                                search->counters, search->queue[0], search->queue[1], search->by_grid->ghosts};

    search->ops->gpu.finish(search->device_queue);
    grid_boxes_close(search);
    for (int i = 0; i < ARRAY_LENGTH(buffers); i++)
        search->ops->free(search->dev, buffers[i]);
    shmem_free(search->by_grid->sums);
    free(search->by_grid);
}

void grid_parents(struct search *search, vertex_t *parents)
{
    u64 *raw = host_alloc(((size_t)search->size + 1) * sizeof(*raw));

    if (search->size > 0)
        search->ops->read(search->dev, raw, search->parent, 0, search->size * sizeof(*raw));
    for (size_t i = 0; i < search->size; i++)
        parents[i] =
            raw[i] == UINT64_MAX ? NO_VERTEX : (vertex_t)((raw[i] >> 32) * search->part.block + (raw[i] & UINT32_MAX));
    free(raw);
}

/* ---- Kernels ------------------------------------------------------------------------------------------------------ */

static void begin(struct search *search, vertex_t root)
{
    struct grid_search *g = search->by_grid;
    const u32 local = (u32)(root - search->first), my_pe = (u32)search->my_pe;
    const struct launch one = {.global = {1}, .group = {1}};
    const struct argument arguments[] = {
        BUFFER_ARGUMENT(search->row),
        BUFFER_ARGUMENT(search->parent),
        BUFFER_ARGUMENT(search->known),
        BUFFER_ARGUMENT(search->queue[0]),
        BUFFER_ARGUMENT(search->counters),
        VALUE_ARGUMENT(local),
        VALUE_ARGUMENT(my_pe),
    };

    search->level = 0;
    search->ops->gpu.fill(search->device_queue, search->known, 0, 0, known_words(search));
    search->ops->gpu.fill(search->device_queue, search->parent, 0, UINT32_MAX, 2 * (size_t)search->size);
    search->ops->gpu.fill(search->device_queue, search->counters, 0, 0, counters_bytes(&g->grid) / sizeof(u32));
    for (int i = 0; i < 2; i++) {
        memset(g->hop[i].sent, 0, (size_t)g->hop[i].n_out * sizeof(uint32_t));
        memset(g->hop[i].received, 0, (size_t)g->hop[i].n_in * sizeof(uint64_t));
    }
    if (root - search->first < search->size)
        search->ops->gpu.launch(search->device_queue, g->start, &one, arguments, ARRAY_LENGTH(arguments));
}

static void expand(struct search *search)
{
    struct grid_search *g = search->by_grid;
    const u32 turn = search->level % QUEUE_COUNTERS, size = (u32)search->size;
    const u32 my_pe = (u32)search->my_pe, columns = (u32)g->grid.columns;
    const struct argument arguments[] = {
        BUFFER_ARGUMENT(search->row),
        BUFFER_ARGUMENT(search->column),
        BUFFER_ARGUMENT(search->parent),
        BUFFER_ARGUMENT(search->known),
        BUFFER_ARGUMENT(search->queue[search->level % 2]),
        BUFFER_ARGUMENT(search->queue[(search->level + 1) % 2]),
        BUFFER_ARGUMENT(search->counters),
        BUFFER_ARGUMENT(g->hop[0].outbox),
        BUFFER_ARGUMENT(g->ghosts),
        BUFFER_ARGUMENT(g->hop[0].starts),
        VALUE_ARGUMENT(turn),
        VALUE_ARGUMENT(size),
        VALUE_ARGUMENT(my_pe),
        VALUE_ARGUMENT(columns),
    };

    search->ops->gpu.launch(search->device_queue, g->expand, &search->full, arguments, ARRAY_LENGTH(arguments));
}

/* Pairs that have arrived, in the inbox of a hop or, those that stay on this PE, in its outbox. */
struct batch {
    struct buffer *from;
    struct arrivals arrivals;
    struct origins origins;
    int n;
};

static struct launch launch_for(const struct search *search, const struct batch *batch)
{
    const size_t n = (size_t)batch->arrivals.end[ARRIVALS - 1];

    return (struct launch){
        .global = {n < search->full.global[0] ? n : search->full.global[0]},
        .group = {search->full.group[0]},
    };
}

static void forward(struct search *search, const struct batch *batch)
{
    struct grid_search *g = search->by_grid;
    const u32 columns = (u32)g->grid.columns, rows = (u32)g->grid.rows;
    const struct launch launch = launch_for(search, batch);
    const struct argument arguments[] = {
        BUFFER_ARGUMENT(search->counters), BUFFER_ARGUMENT(batch->from),
        BUFFER_ARGUMENT(g->hop[1].outbox), BUFFER_ARGUMENT(g->hop[1].starts),
        VALUE_ARGUMENT(batch->arrivals),   VALUE_ARGUMENT(batch->origins),
        VALUE_ARGUMENT(columns),           VALUE_ARGUMENT(rows),
    };

    search->ops->gpu.launch(search->device_queue, g->forward, &launch, arguments, ARRAY_LENGTH(arguments));
}

static void absorb(struct search *search, const struct batch *batch)
{
    struct grid_search *g = search->by_grid;
    const u32 turn = search->level % QUEUE_COUNTERS;
    const u32 columns = (u32)g->grid.columns, rows = (u32)g->grid.rows;
    const struct launch launch = launch_for(search, batch);
    const struct argument arguments[] = {
        BUFFER_ARGUMENT(search->row),
        BUFFER_ARGUMENT(search->parent),
        BUFFER_ARGUMENT(search->known),
        BUFFER_ARGUMENT(search->queue[(search->level + 1) % 2]),
        BUFFER_ARGUMENT(search->counters),
        BUFFER_ARGUMENT(batch->from),
        VALUE_ARGUMENT(batch->arrivals),
        VALUE_ARGUMENT(batch->origins),
        VALUE_ARGUMENT(turn),
        VALUE_ARGUMENT(columns),
        VALUE_ARGUMENT(rows),
    };

    search->ops->gpu.launch(search->device_queue, g->absorb, &launch, arguments, ARRAY_LENGTH(arguments));
}

/* ---- A hop -------------------------------------------------------------------------------------------------------- */

static void add_to_batch(struct batch *batch, uint64_t at, uint64_t pairs, int origin)
{
    const u64 before = batch->n > 0 ? batch->arrivals.end[batch->n - 1] : 0;

    batch->arrivals.at[batch->n] = at - before;
    batch->origins.of[batch->n] = (u32)origin;
    for (int i = batch->n; i < ARRIVALS; i++)
        batch->arrivals.end[i] = before + pairs;
    batch->n++;
}

/* Nonblocking puts of the pairs of this level, then to each PE how many they are. What stays here goes into a batch.
 * sent: what the device has counted since the search began. Returns the pairs that were sent. */
static uint64_t send(struct search *search, struct hop *hop, const uint32_t *sent, struct batch *stays)
{
    uint32_t before[MOST_PES];
    uint64_t all = 0;

    memcpy(before, hop->sent, (size_t)hop->n_out * sizeof(*before));
    for (int i = 0; i < hop->n_out; i++) {
        const uint64_t n = sent[i] - before[i];

        if (n > 0 && hop->to[i] == search->my_pe)
            add_to_batch(stays, hop->out_start[i] + before[i], n, hop->slot[i]);
        else if (n > 0)
            shmem_putmem_nbi(hop->inbox_map + hop->there[i] + before[i],
                             hop->outbox_map + hop->out_start[i] + before[i], n * sizeof(u64), hop->to[i]);
        all += hop->to[i] == search->my_pe ? 0 : n;
        hop->sent[i] = sent[i];
    }
    shmem_quiet();
    for (int i = 0; i < hop->n_out; i++)
        if (hop->to[i] >= 0 && hop->to[i] != search->my_pe)
            shmem_signal_set(&hop->signals[hop->slot[i]], search->epoch << COUNT_BITS | (sent[i] - before[i]),
                             hop->to[i]);
    return all;
}

/* Gives what comes to the kernel, several PEs at once. */
static void receive(struct search *search, struct hop *hop, void (*take)(struct search *, const struct batch *))
{
    struct batch batch = {.from = hop->inbox};

    for (int i = 0; i < hop->n_in; i++) {
        if (hop->from[i] < 0 || hop->from[i] == search->my_pe)
            continue;
        const uint64_t signal = shmem_signal_wait_until(&hop->signals[i], SHMEM_CMP_GE, search->epoch << COUNT_BITS);
        const uint64_t n = signal & ((UINT64_C(1) << COUNT_BITS) - 1);

        if (n > 0)
            add_to_batch(&batch, hop->in_start[i] + hop->received[i], n, i);
        hop->received[i] += n;
        if (batch.n == ARRIVALS) {
            take(search, &batch);
            batch.n = 0;
        }
    }
    if (batch.n > 0)
        take(search, &batch);
}

static const uint32_t *read_counters(struct search *search)
{
    search->ops->read(search->dev, search->read, search->counters, 0, counters_bytes(&search->by_grid->grid));
    return search->read->sent;
}

static uint64_t run_hop(struct search *search, int which, const uint32_t *sent,
                        void (*take)(struct search *, const struct batch *))
{
    struct hop *hop = &search->by_grid->hop[which];
    struct batch stays = {.from = hop->outbox};
    const uint64_t all = send(search, hop, sent, &stays);

    if (stays.n > 0)
        take(search, &stays);
    receive(search, hop, take);
    return all;
}

/* ---- Levels ------------------------------------------------------------------------------------------------------- */

/* Returns false after the last level. */
static bool run_level(struct search *search, struct search_times *times)
{
    uint64_t *total = search->by_grid->sums;
    double expanded;
    const uint32_t *sent;

    search->epoch++;
    expand(search);
    sent = read_counters(search);
    expanded = now();
    total[FRONTIER] = VERTICES(search->read->queues[search->level % QUEUE_COUNTERS]);
    total[FOUND] = VERTICES(search->read->queues[(search->level + 1) % QUEUE_COUNTERS]);
    total[SENT] = 0;
    for (int i = 0; i < search->by_grid->hop[0].n_out; i++)
        total[SENT] += sent[i] - search->by_grid->hop[0].sent[i];
    total[TRAVELLED] = run_hop(search, 0, sent, forward);
    sent = read_counters(search) + search->by_grid->grid.columns;
    total[TRAVELLED] += run_hop(search, 1, sent, absorb);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, total + SUMS, total, SUMS);
    total += SUMS;
    times->levels += total[FRONTIER] > 0;
    times->reached += total[FRONTIER];
    times->bytes_sent += total[TRAVELLED] * sizeof(u64);
    search->level++;
    times->comm_seconds += now() - expanded;
    return total[FOUND] + total[SENT] > 0;
}

void grid_run(struct search *search, vertex_t root, struct search_times *times)
{
    begin(search, root);
    while (run_level(search, times))
        continue;
    search->ops->gpu.finish(search->device_queue);
}
