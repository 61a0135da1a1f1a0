/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kronecker graphs as Graph500 defines them: for each bit of the two vertices of an edge, one of four quadrants of the
 * adjacency matrix is drawn with the probabilities A, B, C and D; then vertices are renumbered by a bijection, so that
 * numbers do not reveal degrees.
 *
 * Source: Graph500 specification, section "Generating the edge list".
 */
#include "edges.h"
#include "scramble.h"

#define A 0.57
#define B 0.19
#define C 0.19

/* 2^32 times the probability. */
#define BELOW(p) ((uint32_t)((p)*4294967296.0))

/* One bit of each vertex by a number below 2^32. */
static void draw_bit(uint32_t number, uint64_t *a, uint64_t *b)
{
    uint64_t lower = number >= BELOW(A + B);
    uint64_t right = (number >= BELOW(A) && !lower) || number >= BELOW(A + B + C);

    *a = *a << 1 | lower;
    *b = *b << 1 | right;
}

static struct edge make_edge(const struct scramble *labels, uint64_t state, int scale)
{
    uint64_t a = 0;
    uint64_t b = 0;

    for (int bit = 0; bit < scale; bit += 2) {
        uint64_t numbers = mix64(state += MIX_STEP);

        draw_bit((uint32_t)numbers, &a, &b);
        if (bit + 1 < scale)
            draw_bit((uint32_t)(numbers >> 32), &a, &b);
    }
    return (struct edge){(vertex_t)scramble(labels, a), (vertex_t)scramble(labels, b)};
}

void edges_kronecker(const struct options *opt, uint64_t first, size_t n, struct edge *edges)
{
    const struct scramble labels = scramble_make(opt->seed, kronecker_vertices(opt));
    uint64_t stream = mix64(opt->seed + MIX_STEP);

    for (size_t i = 0; i < n; i++)
        edges[i] = make_edge(&labels, mix64(stream ^ (first + i)), opt->scale);
}
