/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether the parents that a search has found are a breadth-first tree: the five rules of Graph500, each PE for its own
 * vertices and all of their edges. Levels come from the parents alone: each vertex knows an ancestor and how far up it
 * is, first its parent, and takes over what the ancestor knows, until that is the root.
 */
#include <inttypes.h>
#include <pthread.h>
#include <shmem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "edges.h"
#include "rows.h"
#include "threads.h"
#include "validate.h"
#include "windows.h"

/* Each round doubles how far up the known ancestors are; paths without a circle are shorter than 2^32. */
#define MAX_ROUNDS 33

struct hop {
    vertex_t ancestor; /* NO_VERTEX: not in the tree */
    uint32_t distance;
};

struct check {
    const struct graph *graph;
    vertex_t root;
    const vertex_t *parents;
    struct hop *hops;
    uint32_t *levels;
    const struct window *window;
    struct verdict *verdict;
    pthread_mutex_t lock; /* of verdict */
};

static __attribute__((format(printf, 3, 4))) void report(struct check *check, enum rule rule, const char *format, ...)
{
    va_list args;

    pthread_mutex_lock(&check->lock);
    if (check->verdict->broken[rule]++ == 0) {
        va_start(args, format);
        vsnprintf(check->verdict->first[rule], FINDING_BYTES, format, args);
        va_end(args);
    }
    pthread_mutex_unlock(&check->lock);
}

static bool is_in(const struct window *window, vertex_t v)
{
    return v >= window->first && v - window->first < window->n;
}

/* ---- Levels ------------------------------------------------------------------------------------------------------ */

static struct hop first_hop(struct check *check, vertex_t i)
{
    const struct hop none = {NO_VERTEX, 0};
    vertex_t v = check->graph->first + i;
    vertex_t parent = check->parents[i];

    if (v == check->root && parent != v)
        report(check, NO_CYCLE, "vertex %" PRIvertex " is the root, and not its own parent", v);
    else if (parent != NO_VERTEX && parent >= check->graph->part.n_vertices)
        report(check, NO_CYCLE, "vertex %" PRIvertex " has parent number %" PRIvertex " of %" PRIu64 " vertices", v,
               parent, check->graph->part.n_vertices);
    else if (parent != NO_VERTEX)
        return (struct hop){parent, v != check->root};
    return none;
}

static void first_hops(int thread, void *arg)
{
    struct check *check = arg;
    size_t first, end;

    threads_share(check->graph->size, thread, &first, &end);
    for (size_t i = first; i < end; i++)
        check->hops[i] = first_hop(check, (vertex_t)i);
}

static bool is_resolved(const struct check *check, const struct hop *hop)
{
    return hop->ancestor == NO_VERTEX || hop->ancestor == check->root;
}

static void extend_share(int thread, void *arg)
{
    struct check *check = arg;
    const struct hop *values = check->window->values;
    size_t first, end;

    threads_share(check->graph->size, thread, &first, &end);
    for (size_t i = first; i < end; i++) {
        struct hop *hop = &check->hops[i];
        struct hop next;

        if (is_resolved(check, hop) || !is_in(check->window, hop->ancestor))
            continue;
        next = values[hop->ancestor - check->window->first];
        if (next.ancestor == NO_VERTEX)
            report(check, NO_CYCLE, "an ancestor of vertex %" PRIvertex ", vertex %" PRIvertex ", is not in the tree",
                   check->graph->first + (vertex_t)i, hop->ancestor);
        *hop = (struct hop){next.ancestor, hop->distance + next.distance};
    }
}

static void extend(const struct window *window, void *arg)
{
    struct check *check = arg;

    check->window = window;
    threads_run(extend_share, check);
}

static uint64_t count_unresolved(const struct check *check)
{
    uint64_t n = 0;

    for (vertex_t i = 0; i < check->graph->size; i++)
        n += !is_resolved(check, &check->hops[i]);
    return n;
}

static void set_levels(struct check *check)
{
    for (vertex_t i = 0; i < check->graph->size; i++) {
        const struct hop *hop = &check->hops[i];

        if (!is_resolved(check, hop))
            report(check, NO_CYCLE, "from vertex %" PRIvertex ", parents lead round in a circle",
                   check->graph->first + i);
        check->levels[i] = hop->ancestor == NO_VERTEX ? NO_LEVEL : hop->distance;
    }
}

static void find_levels(struct check *check)
{
    threads_run(first_hops, check);
    for (int round = 0; round < MAX_ROUNDS && sum_of_pes(count_unresolved(check)) > 0; round++)
        windows_visit(&check->graph->part, check->hops, sizeof(*check->hops), extend, check);
    set_levels(check);
}

/* ---- Edges ------------------------------------------------------------------------------------------------------- */

static void check_parent(struct check *check, vertex_t i, uint32_t parent_level)
{
    vertex_t v = check->graph->first + i;
    vertex_t parent = check->parents[i];
    size_t at = row_search(check->graph, i, parent);

    if (at == check->graph->row[i + 1] || check->graph->column[at] != parent)
        report(check, TREE_IN_GRAPH, "no edge joins vertex %" PRIvertex " and its parent %" PRIvertex, v, parent);
    if (check->levels[i] != parent_level + 1)
        report(check, TREE_LEVELS,
               "vertex %" PRIvertex " is on level %" PRIu32 ", its parent %" PRIvertex " on %" PRIu32, v,
               check->levels[i], parent, parent_level);
}

static void check_edge(struct check *check, vertex_t i, vertex_t neighbour, uint32_t neighbour_level)
{
    vertex_t v = check->graph->first + i;
    uint32_t level = check->levels[i];

    if ((level == NO_LEVEL) != (neighbour_level == NO_LEVEL))
        report(check, SPANS,
               "of vertices %" PRIvertex " and %" PRIvertex ", which an edge joins, one is not in the tree", v,
               neighbour);
    else if (level != neighbour_level && level + 1 != neighbour_level && neighbour_level + 1 != level)
        report(check, EDGE_LEVELS,
               "the edge between %" PRIvertex " and %" PRIvertex " joins levels %" PRIu32 " and %" PRIu32, v, neighbour,
               level, neighbour_level);
}

static void check_row(struct check *check, vertex_t i)
{
    const struct graph *graph = check->graph;
    const struct window *window = check->window;
    const uint32_t *levels = window->values;
    vertex_t parent = check->parents[i];

    if (check->levels[i] != NO_LEVEL && graph->first + i != check->root && is_in(window, parent))
        check_parent(check, i, levels[parent - window->first]);
    for (size_t at = row_search(graph, i, window->first); at < graph->row[i + 1]; at++) {
        vertex_t neighbour = graph->column[at];

        if (!is_in(window, neighbour))
            break;
        /* The owner of the lower vertex checks the edge. */
        if (neighbour > graph->first + i)
            check_edge(check, i, neighbour, levels[neighbour - window->first]);
    }
}

static void check_rows(int thread, void *arg)
{
    struct check *check = arg;
    size_t first, end;

    threads_share(check->graph->size, thread, &first, &end);
    for (size_t i = first; i < end; i++)
        check_row(check, (vertex_t)i);
}

static void check_edges(const struct window *window, void *arg)
{
    struct check *check = arg;

    check->window = window;
    threads_run(check_rows, check);
}

/* ---- Together ---------------------------------------------------------------------------------------------------- */

static void check_account(struct check *check, const struct search_times *times)
{
    uint64_t reached = 0;
    uint64_t levels = 0;

    for (vertex_t i = 0; i < check->graph->size; i++) {
        if (check->levels[i] == NO_LEVEL)
            continue;
        reached++;
        if (check->levels[i] >= levels)
            levels = (uint64_t)check->levels[i] + 1;
    }
    reached = sum_of_pes(reached);
    levels = max_of_pes(levels);
    if (shmem_my_pe() == 0 && (reached != times->reached || levels != (uint64_t)times->levels))
        report(check, ACCOUNT,
               "the tree has %" PRIu64 " vertices on %" PRIu64 " levels, the search counted %" PRIu64 " on %d", reached,
               levels, times->reached, times->levels);
}

/* Every PE gets the counts, and the text of the lowest PE that has one. */
static bool any_broken(struct verdict *verdict)
{
    uint64_t own[RULES];
    bool any = false;

    memcpy(own, verdict->broken, sizeof(own));
    sum_over_pes(verdict->broken, RULES);
    for (int rule = 0; rule < RULES; rule++) {
        if (verdict->broken[rule] == 0)
            continue;
        any = true;
        broadcast_from((int)min_of_pes(own[rule] > 0 ? (uint64_t)shmem_my_pe() : UINT64_MAX), verdict->first[rule],
                       FINDING_BYTES);
    }
    return any;
}

/* Without levels nothing else can be checked. */
static bool is_tree(struct check *check)
{
    find_levels(check);
    return !any_broken(check->verdict);
}

void validate(const struct options *opt, const struct graph *graph, vertex_t root, const vertex_t *parents,
              const struct search_times *times, struct verdict *verdict)
{
    struct check check = {
        .graph = graph,
        .root = root,
        .parents = parents,
        .hops = host_alloc(graph->size * sizeof(*check.hops)),
        .levels = host_alloc(graph->size * sizeof(*check.levels)),
        .verdict = verdict,
        .lock = PTHREAD_MUTEX_INITIALIZER,
    };

    *verdict = (struct verdict){.checked = true};
    if (is_tree(&check)) {
        check_account(&check, times);
        spoil_levels(opt->inject_error, graph, root, check.levels);
        windows_visit(&graph->part, check.levels, sizeof(*check.levels), check_edges, &check);
        verdict->valid = !any_broken(verdict);
    }
    free(check.levels);
    free(check.hops);
}

uint64_t traversed_edges(const struct graph *graph, const vertex_t *parents)
{
    uint64_t ends = 0;

    for (vertex_t i = 0; i < graph->size; i++)
        if (parents[i] != NO_VERTEX)
            ends += graph->input_ends[i];
    return sum_of_pes(ends) / 2;
}
