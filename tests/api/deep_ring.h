/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A graph for the tests of deep copy: a ring of nodes, each with an array, a name, a leaf that all share, the middle of
 * its neighbour's array, and itself.
 */
#ifndef DEEP_RING_H
#define DEEP_RING_H

#include <shmemx.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct leaf {
    double value[3];
};

struct node {
    long key;
    int n;
    double *data;
    struct node *next, *self;
    char *name;
    struct leaf *shared;
    double *middle; /* of next's data */
    void *weak, *opaque;
};

extern shmemx_type_t ring_node_type, ring_leaf_type;
void ring_create_types(void);

struct ring {
    int n_nodes, n_data;
    struct node **nodes;
    struct leaf *leaf;
};

/* Bytes in local memory, which begin at `base` by the values of their pointers. */
struct copy {
    char *bytes;
    size_t size;
    uint64_t base;
};

/* This process's own memory as a copy. */
extern const struct copy ring_everything;

/* The bytes here that a pointer of the copy means; the test fails where they are not in it. */
void *copy_at(const struct copy *copy, const void *pointer, size_t nbytes);

/* The number that data[i] of a node has. */
double ring_datum(const struct ring *ring, int node, int i, int seed);
void ring_set_data(const struct ring *ring, int seed);
struct ring ring_make(int n_nodes, int n_data, int seed);
void ring_free(const struct ring *ring);
struct node *ring_root(const struct ring *ring);

/* Check that this is a copy of the ring with the shape of `like` and the data of seed. */
void ring_check_copy(const struct ring *like, const struct copy *copy, const struct node *root, int seed);
/* The same for the objects themselves: weak pointers out of the graph stay. */
void ring_check(const struct ring *ring, int seed);

#endif
