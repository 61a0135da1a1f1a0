/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The levels of a search. search.h describes one.
 *
 * Why a PE knows when to stop: the reports of a level tell how many vertices were found and sent. Zero on all PEs is
 * the end. What was sent may all be known to its owners; then one more level with nothing to expand finds that out.
 */
#include "grid.h"

#include <shmem.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_LENGTH(a) ((int)(sizeof(a) / sizeof((a)[0])))

static const struct exchange *const exchanges[N_EXCHANGES] = {
    [MAPPED] = &exchange_mapped, [ATOMIC] = &exchange_atomic, [KERNEL] = &exchange_kernel,
    [GRID] = &exchange_grid,     [NAIVE] = &exchange_naive,
};

const char *exchange_name(enum exchange_kind kind)
{
    return exchanges[kind]->name;
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */

size_t search_pairs(const struct partition *part)
{
    return (size_t)(part->n_pes - 1) * part->block;
}

size_t search_words(const struct partition *part)
{
    return part->block / 32;
}

size_t search_all_words(const struct partition *part)
{
    return (size_t)part->n_pes * search_words(part);
}

/* A PE has no box for itself. */
size_t search_box(const struct search *search, int owner_of_box, int other)
{
    return (size_t)(other - (other > owner_of_box)) * search->part.block;
}

static size_t counters_bytes(int n_pes)
{
    return sizeof(struct counters) + (size_t)n_pes * sizeof(u32);
}

void search_reserve_in_boxes(struct search *search)
{
    for (int pe = 0; pe < search->n_pes; pe++)
        if (pe != search->my_pe)
            search->to_send[pe].place = search_box(search, pe, search->my_pe) + search->sent[pe];
}

struct search_memory search_memory(const struct options *opt, const struct partition *part, uint64_t n_adjacent,
                                   enum exchange_kind kind)
{
    if (kind == GRID)
        return (struct search_memory){grid_device_bytes(part, n_adjacent), exchange_grid.heap_bytes(part, false)};
    size_t n_pes = (size_t)part->n_pes;
    size_t graph = (part->block + 1) * sizeof(u64) + n_adjacent * sizeof(vertex_t);
    size_t vertices = part->block * (sizeof(vertex_t) + 2 * sizeof(u64));
    size_t bits = search_all_words(part) * sizeof(u32);
    size_t boxes = 2 * search_pairs(part) * sizeof(u64);

    return (struct search_memory){
        .device_bytes = graph + vertices + boxes + counters_bytes(part->n_pes) +
                        (opt->direction_optimising ? 3 : 1) * bits + exchanges[kind]->device_bytes,
        .heap_bytes = 3 * n_pes * sizeof(struct report) + counters_bytes(part->n_pes) +
                      exchanges[kind]->heap_bytes(part, opt->direction_optimising),
    };
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static void check_limits(const struct graph *graph)
{
    if (IS_WIDE)
        quit_all("numbers of 64 bits are for --variant grid");
    if (graph->part.n_pes > MOST_PES)
        quit_all("%d PEs are too many: this search takes up to %d, --variant grid more", graph->part.n_pes, MOST_PES);
    if (graph->part.block > (uint64_t)1 << VERTEX_BITS)
        quit_all("%llu vertices on each PE are too many: the search takes up to 2^%d, use more PEs",
                 (unsigned long long)graph->part.block, VERTEX_BITS);
    if (graph->max_adjacent >= (uint64_t)1 << EDGE_BITS)
        quit_all("%llu edges on one PE are too many: the search takes fewer than 2^%d, use more PEs",
                 (unsigned long long)graph->max_adjacent, EDGE_BITS);
}

/* Combines the values of all PEs. */
static uint64_t reduce(int (*operation)(shmem_team_t, uint64_t *, const uint64_t *, size_t), uint64_t value)
{
    uint64_t *words = symmetric_alloc(2 * sizeof(*words));
    uint64_t result;

    words[0] = value;
    operation(SHMEM_TEAM_WORLD, &words[1], &words[0], 1);
    result = words[1];
    shmem_free(words);
    return result;
}

static void open_buffers(struct search *search, const struct graph *graph)
{
    const struct device_ops *ops = search->ops;
    size_t bits = search_all_words(&search->part) * sizeof(u32);
    size_t boxes = search_pairs(&search->part) * sizeof(u64);

    search->row = ops->alloc(search->dev, ((size_t)search->size + 1) * sizeof(u64));
    search->column = ops->alloc(search->dev, graph->n_adjacent * sizeof(vertex_t));
    search->parent = ops->alloc(search->dev, search->size * sizeof(vertex_t));
    search->known = ops->alloc(search->dev, bits);
    search->counters = ops->alloc(search->dev, counters_bytes(search->n_pes));
    search->outbox = ops->alloc(search->dev, boxes);
    search->inbox = ops->alloc(search->dev, boxes);
    for (int i = 0; i < 2; i++) {
        search->queue[i] = ops->alloc(search->dev, search->size * sizeof(u64));
        if (search->opt->direction_optimising)
            search->frontier[i] = ops->alloc(search->dev, bits);
    }
    ops->write(search->dev, search->row, 0, graph->row, ((size_t)search->size + 1) * sizeof(u64));
    ops->write(search->dev, search->column, 0, graph->column, graph->n_adjacent * sizeof(vertex_t));
}

/* Groups as large as the kernels' pieces are made for, and as many as a large GPU can run at once; fewer where there
 * are not so many pieces, since each costs time on a CPU. */
static void open_kernels(struct search *search, uint64_t n_adjacent)
{
    const struct device_ops *ops = search->ops;
    bool is_cuda = strcmp(ops->name, "cuda") == 0;
    size_t lanes = is_cuda ? 256 : 64;
    size_t most_groups = is_cuda ? 1024 : 512;
    size_t groups = (size_t)n_adjacent / (4 * lanes) + 1;

    if (groups > most_groups)
        groups = most_groups;
    search->start = ops->gpu.kernel(search->dev, "start", NULL);
    search->expand = ops->gpu.kernel(search->dev, "expand", NULL);
    search->absorb = ops->gpu.kernel(search->dev, "absorb", NULL);
    search->mark_frontier = ops->gpu.kernel(search->dev, "mark_frontier", NULL);
    search->bottom_up = ops->gpu.kernel(search->dev, "bottom_up", NULL);
    search->full = (struct launch){.global = {lanes * groups}, .group = {lanes}};
}

/* Kernels are loaded and routes are set up when they are first used, which must not count in the first search's time.
 * Hence one extra search, from the vertex with the most neighbours. */
static void warm_up(struct search *search, const struct graph *graph)
{
    struct search_times times;
    uint64_t best = 0, vertex = graph->first, most;

    for (vertex_t i = 0; i < graph->size; i++) {
        uint64_t degree = graph->row[i + 1] - graph->row[i];

        if (degree >= best)
            vertex = graph->first + i;
        best = degree > best ? degree : best;
    }
    most = reduce(shmem_uint64_max_reduce, best);
    search_run(search, (vertex_t)reduce(shmem_uint64_max_reduce, best == most && graph->size > 0 ? vertex : 0), &times);
}

/* Every PE exchanges with every other. */
static void open_blocks(struct search *search, const struct graph *graph)
{
    const size_t n_pes = (size_t)search->n_pes;

    check_limits(graph);
    search->sent = host_alloc(n_pes * sizeof(uint32_t));
    search->reports = symmetric_alloc(2 * n_pes * sizeof(struct report));
    search->to_send = symmetric_alloc(n_pes * sizeof(struct report));
    open_buffers(search, graph);
}

struct search *search_open(const struct options *opt, const struct graph *graph, const struct device_ops *ops,
                           struct device *dev, enum exchange_kind kind)
{
    struct search *search = host_alloc(sizeof(*search));

    *search = (struct search){
        .opt = opt,
        .exchange = exchanges[kind],
        .part = graph->part,
        .first = graph->first,
        .size = graph->size,
        .my_pe = shmem_my_pe(),
        .n_pes = graph->part.n_pes,
        .total_adjacent = reduce(shmem_uint64_sum_reduce, graph->n_adjacent),
        .ops = ops,
        .dev = dev,
        .device_queue = ops->gpu.first_queue(dev),
        .read = symmetric_alloc(counters_bytes(graph->part.n_pes + 2)), /* a grid has at most 2 more than PEs */
    };
    if (kind == GRID)
        grid_open(search, graph);
    else
        open_blocks(search, graph);
    open_kernels(search, graph->n_adjacent);
    if (search->exchange->open)
        search->exchange->open(search);
    if (!search->refusal)
        warm_up(search, graph);
    return search;
}

const char *search_refusal(const struct search *search)
{
    return search->refusal;
}

static void close_blocks(struct search *search)
{
    const struct device_ops *ops = search->ops;
    struct buffer *buffers[] = {
        search->row,      search->column, search->parent, search->known,       search->counters,    search->queue[0],
        search->queue[1], search->outbox, search->inbox,  search->frontier[0], search->frontier[1],
    };

    ops->gpu.finish(search->device_queue);
    search->exchange->close(search);
    for (int i = 0; i < ARRAY_LENGTH(buffers); i++)
        if (buffers[i])
            ops->free(search->dev, buffers[i]);
    shmem_free(search->to_send);
    shmem_free(search->reports);
    free(search->sent);
}

void search_close(struct search *search)
{
    if (search->by_grid)
        grid_close(search);
    else
        close_blocks(search);
    shmem_free(search->read);
    free(search);
}

void search_parents(struct search *search, vertex_t *parents)
{
    if (search->by_grid)
        grid_parents(search, parents);
    else if (search->size > 0)
        search->ops->read(search->dev, parents, search->parent, 0, search->size * sizeof(vertex_t));
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static void begin(struct search *search, vertex_t root)
{
    const struct device_ops *ops = search->ops;
    struct queue *queue = search->device_queue;
    const struct launch one = {.global = {1}, .group = {1}};
    const struct argument arguments[] = {
        BUFFER_ARGUMENT(search->row),      BUFFER_ARGUMENT(search->parent),
        BUFFER_ARGUMENT(search->known),    BUFFER_ARGUMENT(search->queue[0]),
        BUFFER_ARGUMENT(search->counters), VALUE_ARGUMENT(search->first),
        VALUE_ARGUMENT(search->size),      VALUE_ARGUMENT(root),
    };

    search->level = 0;
    search->is_bottom_up = false;
    search->unexplored = search->total_adjacent;
    search->words_sent = 0;
    memset(search->sent, 0, (size_t)search->n_pes * sizeof(uint32_t));
    ops->gpu.fill(queue, search->known, 0, 0, search_all_words(&search->part));
    ops->gpu.fill(queue, search->parent, 0, UINT32_MAX, search->size);
    ops->gpu.fill(queue, search->counters, 0, 0, counters_bytes(search->n_pes) / sizeof(u32));
    ops->gpu.launch(queue, search->start, &one, arguments, ARRAY_LENGTH(arguments));
}

static void expand(struct search *search)
{
    const u32 turn = search->level % QUEUE_COUNTERS;
    const u32 block = (u32)search->part.block;
    const u32 my_pe = (u32)search->my_pe;
    const u32 n_pes = (u32)search->n_pes;
    const struct argument arguments[] = {
        BUFFER_ARGUMENT(search->row),
        BUFFER_ARGUMENT(search->column),
        BUFFER_ARGUMENT(search->parent),
        BUFFER_ARGUMENT(search->known),
        BUFFER_ARGUMENT(search->queue[search->level % 2]),
        BUFFER_ARGUMENT(search->queue[(search->level + 1) % 2]),
        BUFFER_ARGUMENT(search->counters),
        BUFFER_ARGUMENT(search->outbox),
        VALUE_ARGUMENT(turn),
        VALUE_ARGUMENT(search->first),
        VALUE_ARGUMENT(search->size),
        VALUE_ARGUMENT(block),
        VALUE_ARGUMENT(my_pe),
        VALUE_ARGUMENT(n_pes),
    };

    search->ops->gpu.launch(search->device_queue, search->expand, &search->full, arguments, ARRAY_LENGTH(arguments));
}

static void absorb(struct search *search, const struct arrivals *arrivals)
{
    const u32 turn = search->level % QUEUE_COUNTERS;
    const size_t n = (size_t)arrivals->end[ARRIVALS - 1];
    const struct launch launch = {
        .global = {n < search->full.global[0] ? n : search->full.global[0]},
        .group = {search->full.group[0]},
    };
    const struct argument arguments[] = {
        BUFFER_ARGUMENT(search->row),      BUFFER_ARGUMENT(search->parent),
        BUFFER_ARGUMENT(search->known),    BUFFER_ARGUMENT(search->queue[(search->level + 1) % 2]),
        BUFFER_ARGUMENT(search->counters), BUFFER_ARGUMENT(search->inbox),
        VALUE_ARGUMENT(*arrivals),         VALUE_ARGUMENT(turn),
        VALUE_ARGUMENT(search->first),
    };

    search->ops->gpu.launch(search->device_queue, search->absorb, &launch, arguments, ARRAY_LENGTH(arguments));
}

/* ---- Levels ------------------------------------------------------------------------------------------------------ */

struct report *search_report(struct search *search, int pe)
{
    return &search->reports[(search->epoch % 2) * (size_t)search->n_pes + (size_t)pe];
}

/* The k-th PE after this one: so that not all send to the same one first. */
static int pe_after(const struct search *search, int k)
{
    return (search->my_pe + k) % search->n_pes;
}

/* Waits for the device. */
static void read_counters(struct search *search)
{
    search->ops->read(search->dev, search->read, search->counters, 0, counters_bytes(search->n_pes));
}

static void write_reports(struct search *search, struct report *report)
{
    u64 frontier = search->read->queues[search->level % QUEUE_COUNTERS];
    u64 found = search->read->queues[(search->level + 1) % QUEUE_COUNTERS];

    *report = (struct report){
        .frontier = VERTICES(frontier),
        .frontier_edges = EDGES(frontier),
        .found = VERTICES(found),
        .found_edges = EDGES(found),
    };
    for (int pe = 0; pe < search->n_pes; pe++)
        report->sent += search->read->sent[pe] - search->sent[pe];
    for (int pe = 0; pe < search->n_pes; pe++) {
        search->to_send[pe] = *report;
        search->to_send[pe].sent_to_you = search->read->sent[pe] - search->sent[pe];
    }
}

static void send_pairs(struct search *search, int pe)
{
    size_t at = search_box(search, search->my_pe, pe) + search->sent[pe];
    size_t n = search->to_send[pe].sent_to_you;

    if (n > 0)
        search->exchange->send_pairs(search, pe, at, n);
    search->sent[pe] = search->read->sent[pe];
}

static void send_all_pairs(struct search *search)
{
    search->exchange->reserve(search);
    for (int k = 1; k < search->n_pes; k++)
        send_pairs(search, pe_after(search, k));
}

static void send(struct search *search)
{
    if (search->is_bottom_up)
        direction_send(search);
    else
        send_all_pairs(search);
    search->exchange->deliver(search);
}

/* Adds what that PE has sent to the n arrivals so far. Returns their new number. */
static int take_pairs(struct search *search, int pe, struct arrivals *arrivals, int n)
{
    u64 before = n > 0 ? arrivals->end[n - 1] : 0;
    const struct report *report = search_report(search, pe);
    u64 pairs = report->sent_to_you;

    if (pairs == 0)
        return n;
    search->exchange->take_pairs(search, report->place, pairs);
    arrivals->at[n] = report->place - before;
    for (int i = n; i < ARRIVALS; i++)
        arrivals->end[i] = before + pairs;
    return n + 1;
}

static void add_report(struct report *total, const struct report *report)
{
    total->frontier += report->frontier;
    total->frontier_edges += report->frontier_edges;
    total->found += report->found;
    total->found_edges += report->found_edges;
    total->sent += report->sent;
}

/* One kernel takes what came from several PEs: a launch costs more than most of what it takes. */
static void receive(struct search *search, struct report *total)
{
    struct arrivals arrivals;
    int n = 0;

    for (int k = search->n_pes - 1; k > 0; k--) {
        int pe = pe_after(search, k);

        search->exchange->await(search, pe);
        add_report(total, search_report(search, pe));
        if (search->is_bottom_up)
            direction_take(search, pe);
        else
            n = take_pairs(search, pe, &arrivals, n);
        if (n == ARRIVALS || (n > 0 && k == 1)) {
            absorb(search, &arrivals);
            n = 0;
        }
    }
}

/* Returns false after the last level. */
static bool run_level(struct search *search, struct search_times *times)
{
    struct report total;
    double expanded;

    search->epoch++;
    if (search->is_bottom_up)
        direction_bottom_up(search);
    else
        expand(search);
    read_counters(search);
    expanded = now();
    write_reports(search, &total);
    send(search);
    receive(search, &total);
    times->levels += total.frontier > 0;
    times->reached += total.frontier;
    times->bytes_sent += total.sent * sizeof(u64);
    search->level++;
    if (search->opt->direction_optimising)
        direction_choose(search, &total);
    times->comm_seconds += now() - expanded;
    return total.found + total.sent > 0;
}

static void take_slowest(struct search_times *times)
{
    double *seconds = symmetric_alloc(4 * sizeof(*seconds));

    seconds[0] = times->seconds;
    seconds[1] = times->comm_seconds;
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &seconds[2], &seconds[0], 2);
    times->seconds = seconds[2];
    times->comm_seconds = seconds[3];
    shmem_free(seconds);
}

static void run_blocks(struct search *search, vertex_t root, struct search_times *times)
{
    begin(search, root);
    if (search->exchange->run)
        search->exchange->run(search, times);
    else
        while (run_level(search, times))
            continue;
    search->ops->gpu.finish(search->device_queue);
}

void search_run(struct search *search, vertex_t root, struct search_times *times)
{
    double start;

    *times = (struct search_times){0};
    search->ops->gpu.finish(search->device_queue);
    if (search->exchange->prepare)
        search->exchange->prepare(search);
    shmem_barrier_all();
    start = now();
    if (search->by_grid)
        grid_run(search, root, times);
    else
        run_blocks(search, root, times);
    times->seconds = now() - start;
    times->bytes_sent += search->words_sent;
    take_slowest(times);
}
