/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pointer-linked structures that are measured. Each object has memory of its own, as an application would allocate
 * it. The graph also lists its objects and pointers, for code that knows beforehand what is where: the transfers by
 * hand and the check.
 */
#ifndef DEEPCOPY_GRAPH_H
#define DEEPCOPY_GRAPH_H

#include <shmemx.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph_pointer {
    size_t offset; /* in its object       */
    long target;   /* an object; -1: null */
};

struct graph_object {
    char *bytes;
    size_t size;
    const struct graph_pointer *pointers; /* by ascending offset */
    size_t n_pointers;
    bool has_data; /* bytes outside pointers may be written: they hold no counts */
};

struct graph {
    const char *shape;
    size_t node_size;             /* 0: nodes of many sizes */
    struct graph_object *objects; /* the first reaches all others */
    struct graph_pointer *pointers;
    size_t n_objects, n_pointers;
    size_t bytes;   /* of all objects       */
    size_t largest; /* bytes of one object  */
    shmemx_type_t type;
};

/* What to build. */
struct graph_plan {
    const char *shape; /* one of graph_shapes */
    size_t node_size;  /* ignored by umt      */
    size_t nodes;      /* 0: as in the paper  */
    double scale;      /* of umt's arrays     */
};

extern const char *const graph_shapes[]; /* ended by NULL: list, splitlist, tree, umt */

/* An image of the graph needs no more bytes than this. */
size_t graph_bound(const struct graph_plan *plan);

/* Builds a graph with the pattern of GRAPH_SEED in all data. */
enum { GRAPH_SEED = 1 };
void graph_build(struct graph *graph, const struct graph_plan *plan);
void graph_destroy(struct graph *graph);

/* Bytes between two pointers, or between one and an end of the object: segment 0 to n_pointers, of which some are empty. */
struct graph_segment {
    size_t offset, size;
};
struct graph_segment graph_segment(const struct graph_object *object, size_t number);

/* Set all of an object but the pointers to the pattern of seed; object is a copy of objects[number], or that itself. */
void graph_fill(const struct graph *graph, size_t number, char *object, unsigned seed);
/* Whether the object still has that pattern. */
bool graph_is_filled(const struct graph *graph, size_t number, unsigned seed);
/* Whether all bytes of an object but the pointers are the same in a copy. */
bool graph_is_copy(const struct graph *graph, size_t number, const char *copy);
/* Whether the pointers of an object still lead where they did. */
bool graph_is_linked(const struct graph *graph, size_t number);

#endif
