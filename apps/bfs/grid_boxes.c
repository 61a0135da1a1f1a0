/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The boxes of a search over a grid: as large as what can come in a search, since a PE sends each ghost at most once.
 * The PEs tell each other how much that is, and where in an inbox the box of a sender begins.
 */
#include "grid.h"

#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"

static uint64_t *words(size_t n)
{
    return memset(host_alloc((n + 1) * sizeof(uint64_t)), 0, (n + 1) * sizeof(uint64_t));
}

static uint64_t *symmetric_words(size_t n)
{
    uint64_t *made = shmem_calloc(n + 1, sizeof(uint64_t));

    if (!made)
        die("no memory left in the symmetric heap: set SHMEM_SYMMETRIC_SIZE higher");
    return made;
}

static void open_hop(struct hop *hop, int n_out, int n_in)
{
    size_t most = (size_t)(n_out > n_in ? n_out : n_in);

    hop->n_out = n_out;
    hop->n_in = n_in;
    hop->to = host_alloc(most * sizeof(int));
    hop->from = host_alloc(most * sizeof(int));
    hop->slot = host_alloc(most * sizeof(int));
    hop->out_start = words((size_t)n_out);
    hop->in_start = words((size_t)n_in);
    hop->received = words((size_t)n_in);
    hop->sent = memset(host_alloc(most * sizeof(uint32_t)), 0, most * sizeof(uint32_t));
    hop->there = symmetric_words((size_t)n_out);
    hop->signals = symmetric_words((size_t)n_in);
}

static void find_peers(struct search *search)
{
    struct grid_search *g = search->by_grid;
    const struct pe_grid *grid = &g->grid;
    int me = search->my_pe;

    for (int column = 0; column < grid->columns; column++) {
        g->hop[0].to[column] = pe_grid_turn(grid, me, column);
        g->hop[0].slot[column] = pe_grid_hop(grid, me, g->hop[0].to[column]);
    }
    for (int hop = 0; hop < 2 * grid->columns; hop++)
        g->hop[0].from[hop] = pe_grid_source(grid, me, hop);
    for (int row = 0; row < grid->rows; row++) {
        g->hop[1].to[row] = g->hop[1].from[row] = pe_grid_at(grid, row, g->column);
        g->hop[1].slot[row] = g->row;
    }
}

/* Turns lengths into starts; the last is the sum. */
static void add_up(uint64_t *starts, int n)
{
    uint64_t sum = 0;

    for (int i = 0; i <= n; i++) {
        uint64_t length = starts[i];

        starts[i] = sum;
        sum += length;
    }
}

/* Tells who sends to this PE where its box begins in the inbox. `own`: which outbox of theirs comes here. */
static void tell_starts(struct hop *hop, int own)
{
    for (int i = 0; i < hop->n_in; i++)
        if (hop->from[i] >= 0)
            shmem_uint64_p(&hop->there[own], hop->in_start[i], hop->from[i]);
    shmem_barrier_all();
}

/* What comes here in the first hop, by its sender and by the row that it goes to. */
static void size_first(struct search *search, const uint32_t *counts, uint64_t *coming)
{
    struct grid_search *g = search->by_grid;
    struct hop *hop = &g->hop[0];
    uint64_t *by_row = symmetric_words((size_t)g->grid.rows);

    for (int column = 0; column < hop->n_out; column++) {
        for (int row = 0; row < g->grid.rows; row++) {
            int pe = pe_grid_at(&g->grid, row, column);

            by_row[row] = pe >= 0 ? counts[pe] : 0;
            hop->out_start[column] += by_row[row];
        }
        shmem_uint64_put(&coming[hop->slot[column] * g->grid.rows], by_row, (size_t)g->grid.rows, hop->to[column]);
        shmem_quiet();
    }
    shmem_barrier_all();
    for (int i = 0; i < hop->n_in; i++)
        for (int row = 0; row < g->grid.rows; row++)
            hop->in_start[i] += coming[i * g->grid.rows + row];
    shmem_free(by_row);
}

static void size_second(struct search *search, const uint64_t *coming)
{
    struct grid_search *g = search->by_grid;
    struct hop *hop = &g->hop[1];
    uint64_t *lengths = symmetric_words((size_t)hop->n_in);

    for (int row = 0; row < hop->n_out; row++) {
        for (int i = 0; i < g->hop[0].n_in; i++)
            hop->out_start[row] += coming[i * g->grid.rows + row];
        if (hop->to[row] >= 0)
            shmem_uint64_p(&lengths[g->row], hop->out_start[row], hop->to[row]);
    }
    shmem_barrier_all();
    for (int row = 0; row < hop->n_in; row++)
        hop->in_start[row] = lengths[row];
    shmem_free(lengths);
}

static void *map(struct search *search, struct buffer *buf, size_t bytes)
{
    void *address = shmmap(buf, bytes, search->ops->memtype);

    if (!address)
        quit_all("shmmap of %zu bytes: %s", bytes, shmemx_strerror());
    return address;
}

static void open_buffers(struct search *search, struct hop *hop)
{
    const size_t out = (size_t)(1 + max_of_pes(hop->out_start[hop->n_out])) * sizeof(u64);
    const size_t in = (size_t)(1 + max_of_pes(hop->in_start[hop->n_in])) * sizeof(u64);
    const size_t starts = (size_t)(hop->n_out + 1) * sizeof(u64);

    hop->outbox = search->ops->alloc(search->dev, out);
    hop->inbox = search->ops->alloc(search->dev, in);
    hop->starts = search->ops->alloc(search->dev, starts);
    search->ops->write(search->dev, hop->starts, 0, hop->out_start, starts);
    hop->outbox_map = map(search, hop->outbox, out);
    hop->inbox_map = map(search, hop->inbox, in);
}

void grid_boxes_open(struct search *search, const uint32_t *counts)
{
    struct grid_search *g = search->by_grid;
    uint64_t *coming = symmetric_words((size_t)(2 * g->grid.columns) * (size_t)g->grid.rows);

    open_hop(&g->hop[0], g->grid.columns, 2 * g->grid.columns);
    open_hop(&g->hop[1], g->grid.rows, g->grid.rows);
    find_peers(search);
    shmem_barrier_all();
    size_first(search, counts, coming);
    size_second(search, coming);
    for (int i = 0; i < 2; i++) {
        add_up(g->hop[i].out_start, g->hop[i].n_out);
        add_up(g->hop[i].in_start, g->hop[i].n_in);
    }
    tell_starts(&g->hop[0], g->column);
    tell_starts(&g->hop[1], g->row);
    for (int i = 0; i < 2; i++)
        open_buffers(search, &g->hop[i]);
    shmem_free(coming);
}

static void close_hop(struct search *search, struct hop *hop)
{
    shmumap(hop->inbox_map);
    shmumap(hop->outbox_map);
    search->ops->free(search->dev, hop->starts);
    search->ops->free(search->dev, hop->inbox);
    search->ops->free(search->dev, hop->outbox);
    shmem_free(hop->signals);
    shmem_free(hop->there);
    free(hop->sent);
    free(hop->received);
    free(hop->in_start);
    free(hop->out_start);
    free(hop->slot);
    free(hop->from);
    free(hop->to);
}

void grid_boxes_close(struct search *search)
{
    close_hop(search, &search->by_grid->hop[1]);
    close_hop(search, &search->by_grid->hop[0]);
}
