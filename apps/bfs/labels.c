/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turns the names that a file gives its vertices into numbers from 0 on. If labels leave few gaps, these become
 * vertices without edges. Otherwise labels are numbered in ascending order, so that the numbers are the same on any
 * number of PEs.
 */
#include <inttypes.h>
#include <shmem.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "read.h"
#include "threads.h"
#include "windows.h"

/* A vertex without edges takes about as much memory as an edge. */
#define MAX_GAPS 8 /* for each edge */
#define FEW_GAPS 1024

struct numbering {
    const struct labelled_edge *from;
    size_t n;
    struct edge *to;
    uint64_t first;
    uint64_t *labels; /* sorted; NULL where numbers are counted from the first label */
    size_t n_labels;
    struct scramble shuffle;
};

/* ---- Sparse labels ----------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a;
    uint64_t second = *(const uint64_t *)b;

    return (first > second) - (first < second);
}

/* Sorts, moves the different labels to the front, and returns how many there are. */
static size_t sort_different(uint64_t *labels, size_t n)
{
    size_t kept = n > 0;

    qsort(labels, n, sizeof(*labels), compare);
    for (size_t i = 1; i < n; i++)
        if (labels[i] != labels[kept - 1])
            labels[kept++] = labels[i];
    return kept;
}

static void append(const struct window *window, void *arg)
{
    struct numbering *numbering = arg;

    memcpy(numbering->labels + numbering->n_labels, window->values, window->n * sizeof(*numbering->labels));
    numbering->n_labels += window->n;
}

/* Every PE contributes the same number of labels, by repeating its last one. */
static void merge(const char *file, struct numbering *numbering, const uint64_t *own, size_t n)
{
    uint64_t n_pes = (uint64_t)shmem_n_pes();
    uint64_t most = max_of_pes(n);
    uint64_t spare = max_of_pes(n > 0 ? own[n - 1] : 0);
    struct partition part = partition_make(most * n_pes, (int)n_pes);
    uint64_t *shown;

    if (part.block * n_pes > MAX_VERTICES)
        quit_all("%s: more than %" PRIu64 " different vertices", file, MAX_VERTICES / n_pes);
    memory_refuse_host(file, (n_pes + 1) * part.block * sizeof(*shown));
    part.n_vertices = part.block * n_pes;
    shown = host_alloc(part.block * sizeof(*shown));
    for (size_t i = 0; i < part.block; i++)
        shown[i] = i < n ? own[i] : spare;
    numbering->labels = host_alloc(part.n_vertices * sizeof(*numbering->labels));
    numbering->n_labels = 0;
    windows_visit(&part, shown, sizeof(*shown), append, numbering);
    free(shown);
    numbering->n_labels = sort_different(numbering->labels, numbering->n_labels);
}

/* Collects the labels of all PEs on each PE. */
static void collect_labels(const char *file, struct numbering *numbering)
{
    uint64_t *own;
    size_t n = 0;

    memory_refuse_host(file, 2 * numbering->n * sizeof(*own));
    own = host_alloc(2 * numbering->n * sizeof(*own));
    for (size_t i = 0; i < numbering->n; i++) {
        own[n++] = numbering->from[i].a;
        own[n++] = numbering->from[i].b;
    }
    n = sort_different(own, n);
    merge(file, numbering, own, n);
    free(own);
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static vertex_t number_of(const struct numbering *numbering, uint64_t label)
{
    uint64_t number = label - numbering->first;

    if (numbering->labels) {
        const uint64_t *found = bsearch(&label, numbering->labels, numbering->n_labels, sizeof(label), compare);

        number = (uint64_t)(found - numbering->labels);
    }
    return (vertex_t)scramble(&numbering->shuffle, number);
}

static void number_share(int thread, void *arg)
{
    const struct numbering *numbering = arg;
    size_t first, end;

    threads_share(numbering->n, thread, &first, &end);
    for (size_t i = first; i < end; i++)
        numbering->to[i] =
            (struct edge){number_of(numbering, numbering->from[i].a), number_of(numbering, numbering->from[i].b)};
}

/* The smallest and largest label of all PEs; first is larger than last if there are none. */
static void find_range(const struct labelled_edge *edges, size_t n, uint64_t *first, uint64_t *last)
{
    *first = UINT64_MAX;
    *last = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t low = edges[i].a < edges[i].b ? edges[i].a : edges[i].b;
        uint64_t high = edges[i].a < edges[i].b ? edges[i].b : edges[i].a;

        *first = low < *first ? low : *first;
        *last = high > *last ? high : *last;
    }
    *first = min_of_pes(*first);
    *last = max_of_pes(*last);
}

struct edge_list labels_to_vertices(const struct options *opt, struct labelled_edge *edges, size_t n,
                                    uint64_t n_vertices)
{
    struct numbering numbering = {.from = edges, .n = n, .first = 1};
    struct edge_list list = {.n_vertices = n_vertices, .n_all = sum_of_pes(n), .n = n};

    if (n_vertices == 0) {
        uint64_t last;

        find_range(edges, n, &numbering.first, &last);
        list.n_vertices = last - numbering.first + 1;
        if (last - numbering.first >= MAX_VERTICES || last - numbering.first > MAX_GAPS * list.n_all + FEW_GAPS) {
            collect_labels(opt->file, &numbering);
            list.n_vertices = numbering.n_labels;
        }
    }
    if (opt->shuffle)
        list.shuffle = numbering.shuffle = scramble_make(opt->seed, list.n_vertices);
    list.edges = numbering.to = host_alloc(n * sizeof(*numbering.to));
    list.first_label = numbering.first;
    list.labels = numbering.labels;
    threads_run(number_share, &numbering);
    free(edges);
    return list;
}
