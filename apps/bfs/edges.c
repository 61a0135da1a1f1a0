/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes a PE's share of a generated graph as a list of edges.
 */
#include <shmem.h>
#include <stdlib.h>

#include "edges.h"
#include "threads.h"

struct generation {
    const struct options *opt;
    const struct generator *generator;
    uint64_t first;
    struct edge_list *list;
};

static void make_share(int thread, void *arg)
{
    const struct generation *generation = arg;
    size_t first, end;

    threads_share(generation->list->n, thread, &first, &end);
    generation->generator->make(generation->opt, generation->first + first, end - first,
                                generation->list->edges + first);
}

struct edge_list edges_generate(const struct options *opt, const struct generator *generator)
{
    uint64_t pe = (uint64_t)shmem_my_pe();
    uint64_t n_pes = (uint64_t)shmem_n_pes();
    uint64_t each = generator->n_edges / n_pes;
    uint64_t rest = generator->n_edges % n_pes;
    struct edge_list list = {
        .n_vertices = generator->n_vertices,
        .n_all = generator->n_edges,
        .n = each + (pe < rest),
    };
    struct generation generation = {opt, generator, pe * each + (pe < rest ? pe : rest), &list};

    list.edges = host_alloc(list.n * sizeof(*list.edges));
    threads_run(make_share, &generation);
    return list;
}

void edge_list_free(struct edge_list *list)
{
    free(list->edges);
    list->edges = NULL;
    list->n = 0;
}
