/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Breaks a rule at one vertex of a correct tree, to test that the check finds it.
 */
#include "collective.h"
#include "validate.h"

/* Collective: the lowest vertex of all PEs; own is UINT64_MAX where a PE has none. */
static bool is_chosen(const struct graph *graph, uint64_t own, vertex_t *index)
{
    uint64_t lowest = min_of_pes(own);

    if (lowest == UINT64_MAX)
        quit_all("no vertex of the tree can be spoilt as --inject-error asks");
    *index = (vertex_t)(own - graph->first);
    return own == lowest;
}

void spoil_parents(int rule, const struct graph *graph, vertex_t root, vertex_t *parents)
{
    uint64_t own = UINT64_MAX;
    vertex_t i;

    if (rule != NO_CYCLE && rule != SPANS && rule != TREE_IN_GRAPH)
        return;
    for (i = 0; i < graph->size && own == UINT64_MAX; i++)
        if (parents[i] != NO_VERTEX && graph->first + i != root && (rule != TREE_IN_GRAPH || parents[i] != root))
            own = graph->first + i;
    if (!is_chosen(graph, own, &i))
        return;
    if (rule == NO_CYCLE)
        parents[i] = graph->first + i;
    else
        parents[i] = rule == SPANS ? NO_VERTEX : root;
}

void spoil_levels(int rule, const struct graph *graph, vertex_t root, uint32_t *levels)
{
    uint64_t own = UINT64_MAX;
    vertex_t i;

    if (rule != TREE_LEVELS && rule != EDGE_LEVELS)
        return;
    for (i = 0; i < graph->size && own == UINT64_MAX; i++)
        if (levels[i] != NO_LEVEL && graph->first + i != root)
            own = graph->first + i;
    if (is_chosen(graph, own, &i))
        levels[i] += rule == EDGE_LEVELS ? 2 : 1;
}
