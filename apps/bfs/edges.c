/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes a PE's share of the generated graph as a list of edges.
 */
#include <shmem.h>
#include <stdlib.h>

#include "edges.h"
#include "threads.h"

struct generation {
    const struct options *opt;
    uint64_t first;
    struct edge_list *list;
};

static void make_share(int thread, void *arg)
{
    const struct generation *generation = arg;
    size_t first, end;

    threads_share(generation->list->n, thread, &first, &end);
    edges_kronecker(generation->opt, generation->first + first, end - first, generation->list->edges + first);
}

struct edge_list edges_generate(const struct options *opt)
{
    uint64_t pe = (uint64_t)shmem_my_pe();
    uint64_t n_pes = (uint64_t)shmem_n_pes();
    uint64_t each = kronecker_edges(opt) / n_pes;
    uint64_t rest = kronecker_edges(opt) % n_pes;
    struct edge_list list = {
        .n_vertices = kronecker_vertices(opt),
        .n_all = kronecker_edges(opt),
        .n = each + (pe < rest),
    };
    struct generation generation = {opt, pe * each + (pe < rest ? pe : rest), &list};

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
