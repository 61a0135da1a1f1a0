/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A search by one CPU that counts what each PE would do.
 */
#include "bfs_graph.h"

#include "bfs.h"
#include "edges.h"

#include <stdlib.h>
#include <string.h>

struct csr {
    uint64_t n_vertices, *row;
    vertex_t *column;
};

static struct csr make_graph(int scale)
{
    const struct options options = {.scale = scale, .edge_factor = 16, .seed = 1};
    const uint64_t n_vertices = kronecker_vertices(&options), n_edges = kronecker_edges(&options);
    struct edge *edges = malloc(n_edges * sizeof *edges);
    struct csr csr = {n_vertices, calloc(n_vertices + 2, sizeof(uint64_t)), malloc(2 * n_edges * sizeof(vertex_t))};
    edges_kronecker(&options, 0, n_edges, edges);
    for (uint64_t i = 0; i < n_edges; i++) {
        csr.row[edges[i].a + 2]++;
        csr.row[edges[i].b + 2]++;
    }
    for (uint64_t v = 2; v < csr.n_vertices + 2; v++)
        csr.row[v] += csr.row[v - 1];
    for (uint64_t i = 0; i < n_edges; i++) {
        csr.column[csr.row[edges[i].a + 1]++] = edges[i].b;
        csr.column[csr.row[edges[i].b + 1]++] = edges[i].a;
    }
    free(edges);
    return csr;
}

struct walk {
    struct csr csr;
    struct partition part;
    vertex_t *queue;
    uint8_t *known; /* a bit for each vertex and PE that knows it */
    uint64_t bytes; /* of known for each PE */
    uint64_t n;
};

static bool make_known(struct walk *walk, int pe, vertex_t v)
{
    uint8_t *byte = &walk->known[(uint64_t)pe * walk->bytes + v / 8], bit = (uint8_t)(1u << v % 8);
    bool is_new = !(*byte & bit);
    *byte |= bit;
    return is_new;
}

/* An edge from a vertex of the frontier. Returns whether a pair is sent. */
static bool follow(struct walk *walk, int pe, vertex_t to)
{
    const int owner = partition_owner(&walk->part, to);
    if (!make_known(walk, pe, to))
        return false;
    if (pe == owner || make_known(walk, owner, to))
        walk->queue[walk->n++] = to;
    return pe != owner;
}

static vertex_t vertex_with_most(const struct csr *csr)
{
    vertex_t best = 0;
    for (vertex_t v = 0; v < csr->n_vertices; v++)
        if (csr->row[v + 1] - csr->row[v] > csr->row[best + 1] - csr->row[best])
            best = v;
    return best;
}

static void search_level(struct walk *walk, uint64_t begin, uint64_t end, double *edges, double *pairs)
{
    const struct csr *csr = &walk->csr;
    for (uint64_t i = begin; i < end; i++) {
        const vertex_t v = walk->queue[i];
        const int pe = partition_owner(&walk->part, v);
        *edges += (double)(csr->row[v + 1] - csr->row[v]);
        for (uint64_t e = csr->row[v]; e < csr->row[v + 1]; e++)
            *pairs += follow(walk, pe, csr->column[e]);
    }
}

struct levels bfs_levels(int scale, int n_pes)
{
    struct walk walk = {.csr = make_graph(scale)};
    struct levels levels = {0};
    walk.part = partition_make(walk.csr.n_vertices, n_pes);
    walk.bytes = walk.csr.n_vertices / 8;
    walk.known = calloc((size_t)n_pes, walk.bytes);
    walk.queue = malloc(walk.csr.n_vertices * sizeof *walk.queue);
    walk.queue[walk.n++] = vertex_with_most(&walk.csr);
    for (int pe = 0; pe < n_pes; pe++)
        make_known(&walk, pe, walk.queue[0]);
    for (uint64_t begin = 0, end; begin < walk.n && levels.n < LEVELS_MOST; begin = end) {
        end = walk.n;
        search_level(&walk, begin, end, &levels.edges[levels.n], &levels.pairs[levels.n]);
        levels.n++;
    }
    free(walk.csr.row);
    free(walk.csr.column);
    free(walk.known);
    free(walk.queue);
    return levels;
}
