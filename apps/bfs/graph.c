/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes the graph, whose vertices are spread over the PEs, from a list of edges.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

#include "collective.h"
#include "distribute.h"
#include "edges.h"
#include "rows.h"

void graph_build(struct edge_list *list, const char *name, struct graph *graph)
{
    int me = shmem_my_pe();
    struct edge *ends;
    size_t n_ends;

    *graph = (struct graph){
        .part = partition_make(list->n_vertices, shmem_n_pes()),
        .n_input = list->n_all,
        .first_label = list->first_label,
        .labels = list->labels,
        .shuffle = list->shuffle,
    };
    snprintf(graph->name, sizeof(graph->name), "%s", name);
    graph->first = partition_first(&graph->part, me);
    graph->size = partition_size(&graph->part, me);
    ends = distribute(list, &graph->part, &n_ends);
    edge_list_free(list);
    rows_build(graph, ends, n_ends);
    if (sum_of_pes(n_ends) != 2 * graph->n_input)
        quit_all("%llu ends of edges were distributed, of %llu edges", (unsigned long long)sum_of_pes(n_ends),
                 (unsigned long long)graph->n_input);
    graph->max_adjacent = max_of_pes(graph->n_adjacent);
}

void graph_free(struct graph *graph)
{
    free(graph->row);
    free(graph->column);
    free(graph->input_ends);
    free(graph->labels);
    *graph = (struct graph){.name = ""};
}

uint64_t graph_label(const struct graph *graph, vertex_t v)
{
    uint64_t index = unscramble(&graph->shuffle, v);

    return graph->labels ? graph->labels[index] : graph->first_label + index;
}

static int compare_labels(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a;
    uint64_t second = *(const uint64_t *)b;

    return (first > second) - (first < second);
}

bool graph_vertex(const struct graph *graph, uint64_t label, vertex_t *v)
{
    uint64_t index = label - graph->first_label;

    if (graph->labels) {
        const uint64_t *found =
            bsearch(&label, graph->labels, graph->part.n_vertices, sizeof(*graph->labels), compare_labels);

        index = found ? (uint64_t)(found - graph->labels) : graph->part.n_vertices;
    }
    if (index >= graph->part.n_vertices)
        return false;
    *v = (vertex_t)scramble(&graph->shuffle, index);
    return true;
}
