/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses the vertices from which to search: drawn, without repetition, from those that have neighbours. They are the
 * same for any number of PEs.
 */
#include <inttypes.h>
#include <shmem.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "edges.h"
#include "scramble.h"

/* Makes this draw independent of those of the edges. */
#define ROOTS_SEED UINT64_C(0x726f6f7473)

static bool has_neighbours(const struct graph *graph, vertex_t i)
{
    return graph->row[i + 1] > graph->row[i];
}

/* One root: the number of its vertex among those that have neighbours, and its place in the list of roots. */
struct choice {
    uint64_t number;
    int place;
};

static bool is_among(const struct choice *choices, int n, uint64_t number)
{
    for (int i = 0; i < n; i++)
        if (choices[i].number == number)
            return true;
    return false;
}

/* n different numbers below limit. Source: R. Floyd, in J. Bentley, "Programming Pearls: a sample of brilliance". */
static void choose(uint64_t seed, uint64_t limit, struct choice *choices, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t largest = limit - (uint64_t)n + (uint64_t)i;
        uint64_t number = mix64(mix64(seed ^ ROOTS_SEED) + (uint64_t)i) % (largest + 1);

        choices[i] = (struct choice){is_among(choices, i, number) ? largest : number, i};
    }
}

static int compare_choices(const void *a, const void *b)
{
    uint64_t first = ((const struct choice *)a)->number;
    uint64_t second = ((const struct choice *)b)->number;

    return (first > second) - (first < second);
}

/* Sets the roots that this PE owns, whose vertices with neighbours are counted from first_number on. */
static void find_own(const struct graph *graph, uint64_t first_number, struct choice *choices, int n, uint64_t *roots)
{
    uint64_t number = first_number;
    int k = 0;

    qsort(choices, (size_t)n, sizeof(*choices), compare_choices);
    while (k < n && choices[k].number < first_number)
        k++;
    for (vertex_t i = 0; i < graph->size && k < n; i++) {
        if (!has_neighbours(graph, i))
            continue;
        if (choices[k].number == number)
            roots[choices[k++].place] = graph->first + i;
        number++;
    }
}

static vertex_t *draw(const struct options *opt, const struct graph *graph, int *n)
{
    uint64_t own = 0;
    uint64_t all, lower;
    struct choice *choices;
    uint64_t *roots;
    vertex_t *drawn;

    for (vertex_t i = 0; i < graph->size; i++)
        own += has_neighbours(graph, i);
    all = sum_of_pes(own);
    lower = sum_of_lower_pes(own);
    if (all == 0)
        quit_all("%s: no vertex has a neighbour", graph->name);
    *n = (uint64_t)opt->n_roots < all ? opt->n_roots : (int)all;
    choices = host_alloc((size_t)*n * sizeof(*choices));
    choose(opt->seed, all, choices, *n);
    roots = host_alloc((size_t)*n * sizeof(*roots));
    memset(roots, 0, (size_t)*n * sizeof(*roots));
    find_own(graph, lower, choices, *n, roots);
    sum_over_pes(roots, (size_t)*n);
    drawn = host_alloc((size_t)*n * sizeof(*drawn));
    for (int i = 0; i < *n; i++)
        drawn[i] = (vertex_t)roots[i];
    free(roots);
    free(choices);
    return drawn;
}

vertex_t *roots_draw(const struct options *opt, const struct graph *graph, int *n)
{
    vertex_t *root;

    if (!opt->one_root)
        return draw(opt, graph, n);
    root = host_alloc(sizeof(*root));
    if (opt->root >= graph->part.n_vertices)
        quit_all("%s has no vertex %" PRIu64, graph->name, opt->root);
    *root = (vertex_t)opt->root;
    *n = 1;
    return root;
}
