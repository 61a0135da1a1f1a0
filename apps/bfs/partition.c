/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which PE owns which vertices: blocks of the same length, in the order of the PEs.
 */
#include "bfs.h"

#define VERTICES_PER_WORD 64

struct partition partition_make(uint64_t n_vertices, int n_pes)
{
    uint64_t share = (n_vertices + (uint64_t)n_pes - 1) / (uint64_t)n_pes;

    return (struct partition){
        .n_vertices = n_vertices,
        .block = (share + VERTICES_PER_WORD - 1) / VERTICES_PER_WORD * VERTICES_PER_WORD,
        .n_pes = n_pes,
    };
}

int partition_owner(const struct partition *part, vertex_t v)
{
    return (int)(v / part->block);
}

/* The first vertex of a PE, or n_vertices if it owns none. */
static uint64_t first_of(const struct partition *part, int pe)
{
    uint64_t first = (uint64_t)pe * part->block;

    return first < part->n_vertices ? first : part->n_vertices;
}

vertex_t partition_first(const struct partition *part, int pe)
{
    return (vertex_t)first_of(part, pe);
}

vertex_t partition_size(const struct partition *part, int pe)
{
    return (vertex_t)(first_of(part, pe + 1) - first_of(part, pe));
}
