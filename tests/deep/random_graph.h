/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random graphs, for tests of deep copy: types with every kind of field, and objects of them in private memory that
 * share, overlap, point into each other's middle and to themselves. A seed gives the same graph on every PE, at
 * different addresses. The checker walks a graph and its copy side by side and does not use the library.
 *
 *     struct random_graph *graph = random_graph_open(seed, seed, 20);
 *     shmemx_types_create(graph->n_types, (const shmemx_type_desc_t *)graph->types);
 *     ... put graph->root, graph->n_elems objects of type graph->root_type ...
 *     const char *difference = random_graph_compare(graph, &copy, root of the copy);     NULL: isomorphic
 */
#ifndef RANDOM_GRAPH_H
#define RANDOM_GRAPH_H

#include "deep/types/type.h"

struct random_graph {
    size_t n_types;
    shmemx_type_desc_t *types; /* as shmemx_type_desc_t; names begin with "random<seed>." */
    const char *root_type;
    size_t n_elems;
    void *root;
    struct random_model *model;
};

/* Structure from seed, other bytes from data_seed; up to max_objects arrays of objects. Without memory it aborts. */
struct random_graph *random_graph_open(uint64_t seed, uint64_t data_seed, size_t max_objects);
void random_graph_close(struct random_graph *graph);

/* A copy, with a function that returns nbytes of it at one of its addresses, or NULL if there is no such memory. */
struct random_copy {
    const char *(*bytes)(const struct random_copy *copy, uint64_t address, size_t nbytes);
    const char *image; /* for those below */
    uint64_t base;
    size_t size;
};
/* A copy in size bytes of local memory, which begin at `base` by the values of their pointers. */
struct random_copy random_copy_in(const void *image, uint64_t base, size_t size);
/* In this process's memory. */
struct random_copy random_copy_here(void);

/* NULL when all pointers of the copy lead to copies of what they lead to here, each byte once, and all other bytes are
 * equal; otherwise what is wrong (static text of this thread). */
const char *random_graph_compare(const struct random_graph *graph, const struct random_copy *copy, uint64_t root);

/* Hash of all bytes that the root reaches, except pointers. */
uint64_t random_graph_digest(const struct random_graph *graph);
/* Gives all objects other data; links, counts, strings and descriptors stay as they are. */
void random_graph_scramble(struct random_graph *graph, uint64_t data_seed);

/* All bytes of its blocks of memory and of the guards around them, one after the other; to be freed. */
unsigned char *random_graph_bytes(const struct random_graph *graph);
/* NULL if the bytes that the root reaches are those of `reached`, and all others those of `others`; otherwise what is
 * wrong. Both are from random_graph_bytes. */
const char *random_graph_differs(const struct random_graph *graph, const unsigned char *reached,
                                 const unsigned char *others);

#endif
