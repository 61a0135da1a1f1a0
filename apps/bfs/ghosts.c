/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the ghosts of a graph's part: sorts the neighbours that other PEs own, a byte at a time, and drops duplicates.
 */
#include "ghosts.h"

#include <stdlib.h>
#include <string.h>

static bool is_own(const struct graph *graph, vertex_t v)
{
    return v - graph->first < graph->size;
}

static uint64_t gather(const struct graph *graph, vertex_t *into)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < graph->n_adjacent; i++)
        if (!is_own(graph, graph->column[i]))
            into[n++] = graph->column[i];
    return n;
}

static void sort_by_byte(const vertex_t *from, vertex_t *to, uint64_t n, int shift)
{
    uint64_t places[256] = {0}, place = 0;

    for (uint64_t i = 0; i < n; i++)
        places[from[i] >> shift & 255]++;
    for (int digit = 0; digit < 256; digit++) {
        uint64_t count = places[digit];

        places[digit] = place;
        place += count;
    }
    for (uint64_t i = 0; i < n; i++)
        to[places[from[i] >> shift & 255]++] = from[i];
}

static uint64_t drop_duplicates(vertex_t *v, uint64_t n)
{
    uint64_t kept = n > 0;

    for (uint64_t i = 1; i < n; i++)
        if (v[i] != v[kept - 1])
            v[kept++] = v[i];
    return kept;
}

struct ghosts ghosts_find(const struct graph *graph)
{
    vertex_t *v = host_alloc((graph->n_adjacent + 1) * sizeof(*v));
    vertex_t *scratch = host_alloc((graph->n_adjacent + 1) * sizeof(*scratch));
    uint64_t n = gather(graph, v);
    int bits = 0;

    while (bits < 64 && (graph->part.n_vertices - 1) >> bits)
        bits += 8;
    for (int shift = 0; shift < bits; shift += 8) {
        vertex_t *sorted = scratch;

        sort_by_byte(v, sorted, n, shift);
        scratch = v;
        v = sorted;
    }
    free(scratch);
    return (struct ghosts){v, drop_duplicates(v, n)};
}

uint32_t ghosts_number(const struct ghosts *ghosts, const struct graph *graph, vertex_t v)
{
    uint64_t low = 0, high = ghosts->n;

    if (is_own(graph, v))
        return (uint32_t)(v - graph->first);
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (ghosts->vertex[middle] <= v)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)(graph->size + low);
}
