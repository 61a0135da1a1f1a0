/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The adjacency of this PE's vertices as compressed rows, sorted, without loops and duplicates.
 */
#include <stdlib.h>
#include <string.h>

#include "rows.h"
#include "threads.h"

#define INSERTION_MAX 64 /* entries of the longest row that is sorted by insertion */
#define ROWS_AT_ONCE 1024
#define DIGIT_BITS 8
#define DIGITS (1 << DIGIT_BITS)

struct build {
    struct graph *graph;
    struct edge *ends;
    size_t n;
    uint64_t *cursor; /* per own vertex: its entries, then where the next one goes   */
    uint64_t next;    /* first row that no thread has taken for sorting              */
    size_t longest;   /* row                                                         */
    int passes;       /* of DIGIT_BITS bits, to sort by all bits that a vertex has   */
};

static void count_share(int thread, void *arg)
{
    struct build *build = arg;
    struct graph *graph = build->graph;
    size_t first, end;

    threads_share(build->n, thread, &first, &end);
    for (size_t i = first; i < end; i++) {
        vertex_t own = build->ends[i].a - graph->first;

        __atomic_fetch_add(&graph->input_ends[own], 1, __ATOMIC_RELAXED);
        if (build->ends[i].a != build->ends[i].b)
            __atomic_fetch_add(&build->cursor[own], 1, __ATOMIC_RELAXED);
    }
}

static void place_share(int thread, void *arg)
{
    struct build *build = arg;
    size_t first, end;

    threads_share(build->n, thread, &first, &end);
    for (size_t i = first; i < end; i++) {
        vertex_t own = build->ends[i].a - build->graph->first;

        if (build->ends[i].a != build->ends[i].b)
            build->graph->column[__atomic_fetch_add(&build->cursor[own], 1, __ATOMIC_RELAXED)] = build->ends[i].b;
    }
}

/* Turns the number of entries of each row into where it begins. */
static void set_rows(struct build *build)
{
    struct graph *graph = build->graph;
    uint64_t place = 0;

    for (vertex_t i = 0; i < graph->size; i++) {
        uint64_t n = build->cursor[i];

        graph->row[i] = build->cursor[i] = place;
        place += n;
        build->longest = n > build->longest ? n : build->longest;
    }
    graph->row[graph->size] = place;
}

/* ---- Sorting ----------------------------------------------------------------------------------------------------- */

static void sort_by_insertion(vertex_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        vertex_t moved = v[i];
        size_t k = i;

        for (; k > 0 && v[k - 1] > moved; k--)
            v[k] = v[k - 1];
        v[k] = moved;
    }
}

static void sort_by_digit(const vertex_t *from, vertex_t *to, size_t n, int shift)
{
    size_t places[DIGITS] = {0};
    size_t place = 0;

    for (size_t i = 0; i < n; i++)
        places[from[i] >> shift & (DIGITS - 1)]++;
    for (int digit = 0; digit < DIGITS; digit++) {
        size_t count = places[digit];

        places[digit] = place;
        place += count;
    }
    for (size_t i = 0; i < n; i++)
        to[places[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

static void sort_by_digits(vertex_t *v, vertex_t *scratch, size_t n, int passes)
{
    vertex_t *from = v;
    vertex_t *to = scratch;

    for (int pass = 0; pass < passes; pass++) {
        vertex_t *sorted = to;

        sort_by_digit(from, to, n, pass * DIGIT_BITS);
        to = from;
        from = sorted;
    }
    if (from != v)
        memcpy(v, from, n * sizeof(*v));
}

static size_t drop_duplicates(vertex_t *v, size_t n)
{
    size_t kept = n > 0;

    for (size_t i = 1; i < n; i++)
        if (v[i] != v[kept - 1])
            v[kept++] = v[i];
    return kept;
}

/* Sets cursor to the number of entries that are kept. */
static void sort_row(struct build *build, vertex_t i, vertex_t *scratch)
{
    vertex_t *v = build->graph->column + build->graph->row[i];
    size_t n = build->graph->row[i + 1] - build->graph->row[i];

    if (n <= INSERTION_MAX)
        sort_by_insertion(v, n);
    else
        sort_by_digits(v, scratch, n, build->passes);
    build->cursor[i] = drop_duplicates(v, n);
}

/* Rows are of very different length: threads take a few at a time. */
static void sort_some(int thread, void *arg)
{
    struct build *build = arg;
    vertex_t *scratch = host_alloc(build->longest * sizeof(*scratch));
    uint64_t size = build->graph->size;
    uint64_t first;

    (void)thread;
    while ((first = __atomic_fetch_add(&build->next, ROWS_AT_ONCE, __ATOMIC_RELAXED)) < size)
        for (uint64_t i = first; i < first + ROWS_AT_ONCE && i < size; i++)
            sort_row(build, (vertex_t)i, scratch);
    free(scratch);
}

/* ---- Together ---------------------------------------------------------------------------------------------------- */

static void close_gaps(struct build *build)
{
    struct graph *graph = build->graph;
    uint64_t place = 0;

    for (vertex_t i = 0; i < graph->size; i++) {
        memmove(graph->column + place, graph->column + graph->row[i], build->cursor[i] * sizeof(*graph->column));
        graph->row[i] = place;
        place += build->cursor[i];
    }
    graph->row[graph->size] = place;
}

static int passes_for(uint64_t n_vertices)
{
    int passes = 1;

    while (passes * DIGIT_BITS < 64 && (n_vertices - 1) >> (passes * DIGIT_BITS))
        passes++;
    return passes;
}

static void *cleared(size_t n, size_t size)
{
    return memset(host_alloc(n * size), 0, n * size);
}

void rows_build(struct graph *graph, struct edge *ends, size_t n)
{
    struct build build = {
        .graph = graph,
        .ends = ends,
        .n = n,
        .passes = passes_for(graph->part.n_vertices),
    };

    graph->input_ends = cleared(graph->size, sizeof(*graph->input_ends));
    build.cursor = cleared(graph->size, sizeof(*build.cursor));
    graph->row = host_alloc(((size_t)graph->size + 1) * sizeof(*graph->row));
    threads_run(count_share, &build);
    set_rows(&build);
    graph->column = host_alloc(graph->row[graph->size] * sizeof(*graph->column));
    threads_run(place_share, &build);
    free(ends);
    threads_run(sort_some, &build);
    close_gaps(&build);
    free(build.cursor);
    graph->n_adjacent = graph->row[graph->size];
}

size_t row_search(const struct graph *graph, vertex_t i, vertex_t v)
{
    size_t low = graph->row[i];
    size_t high = graph->row[i + 1];

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (graph->column[middle] < v)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
