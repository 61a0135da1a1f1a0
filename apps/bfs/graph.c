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
    *graph = (struct graph){.name = ""};
}
