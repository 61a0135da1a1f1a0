/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings of linked nodes: making them, and checking them and copies of them.
 */
#include "deep_ring.h"

#include "check.h"

enum { LARGE = 1 << 20 };

shmemx_type_t ring_node_type, ring_leaf_type;

const struct copy ring_everything = {NULL, SIZE_MAX, 0};

void ring_create_types(void)
{
    const shmemx_field_t of_leaf[] = {{"value", offsetof(struct leaf, value), SHMEMX_FIELD_VALUE, "double", 3, NULL}};
    const shmemx_field_t of_node[] = {
        {"n", offsetof(struct node, n), SHMEMX_FIELD_VALUE, "int", 0, NULL},
        {"data", offsetof(struct node, data), SHMEMX_FIELD_POINTER, "double", 0, "n"},
        {"next", offsetof(struct node, next), SHMEMX_FIELD_POINTER, "node", 0, NULL},
        {"self", offsetof(struct node, self), SHMEMX_FIELD_POINTER, "node", 0, NULL},
        {"name", offsetof(struct node, name), SHMEMX_FIELD_STRING, "char", 0, NULL},
        {"shared", offsetof(struct node, shared), SHMEMX_FIELD_POINTER, "leaf", 0, NULL},
        {"middle", offsetof(struct node, middle), SHMEMX_FIELD_POINTER, "double", 0, NULL},
        {"weak", offsetof(struct node, weak), SHMEMX_FIELD_WEAK, NULL, 0, NULL},
        {"opaque", offsetof(struct node, opaque), SHMEMX_FIELD_OPAQUE, NULL, 0, NULL},
    };
    ring_leaf_type = shmemx_type_create("leaf", sizeof(struct leaf), 1, of_leaf);
    ring_node_type = shmemx_type_create("node", sizeof(struct node), 9, of_node);
    CHECK(ring_leaf_type && ring_node_type);
}

double ring_datum(const struct ring *ring, int node, int i, int seed)
{
    return seed * 1e6 + node * 1e3 + i + ring->n_nodes * 0.125;
}

void ring_set_data(const struct ring *ring, int seed)
{
    for (int k = 0; k < ring->n_nodes; k++) {
        ring->nodes[k]->key = seed * 100 + k;
        for (int i = 0; i < ring->n_data; i++)
            ring->nodes[k]->data[i] = ring_datum(ring, k, i, seed);
    }
    for (int i = 0; i < 3; i++)
        ring->leaf->value[i] = seed + i;
}

/* Every other large array is prepared, so that it can be sent without being packed. */
static bool is_prepared(const struct ring *ring, int node)
{
    return node % 2 && ring->n_data * sizeof(double) > LARGE;
}

static double *make_data(const struct ring *ring, int node)
{
    size_t nbytes = (size_t)ring->n_data * sizeof(double);
    double *data = check_malloc(nbytes);
    CHECK(!is_prepared(ring, node) || !shmemx_prepare(data, nbytes));
    return data;
}

struct ring ring_make(int n_nodes, int n_data, int seed)
{
    struct ring ring = {n_nodes, n_data, check_malloc((size_t)n_nodes * sizeof(struct node *)),
                        check_malloc(sizeof(struct leaf))};
    for (int k = 0; k < n_nodes; k++) {
        ring.nodes[k] = check_malloc(sizeof(struct node));
        *ring.nodes[k] = (struct node){.n = n_data, .shared = ring.leaf};
        ring.nodes[k]->data = make_data(&ring, k);
        ring.nodes[k]->name = check_malloc(32);
        snprintf(ring.nodes[k]->name, 32, "node %d", k);
        ring.nodes[k]->opaque = (void *)(uintptr_t)(0x1000 + k);
    }
    for (int k = 0; k < n_nodes; k++) {
        struct node *node = ring.nodes[k];
        node->next = ring.nodes[(k + 1) % n_nodes];
        node->self = node;
        node->middle = n_data ? node->next->data + n_data / 2 : NULL;
        node->weak = k % 2 ? (void *)&ring : (void *)ring.leaf->value; /* the first is not in the graph */
    }
    ring_set_data(&ring, seed);
    return ring;
}

void ring_free(const struct ring *ring)
{
    for (int k = 0; k < ring->n_nodes; k++) {
        CHECK(!is_prepared(ring, k) || !shmemx_release(ring->nodes[k]->data));
        free(ring->nodes[k]->data);
        free(ring->nodes[k]->name);
        free(ring->nodes[k]);
    }
    free(ring->nodes);
    free(ring->leaf);
}

struct node *ring_root(const struct ring *ring)
{
    return ring->nodes[0];
}

void *copy_at(const struct copy *copy, const void *pointer, size_t nbytes)
{
    uint64_t offset = (uint64_t)(uintptr_t)pointer - copy->base;
    CHECK_THAT(offset < copy->size && nbytes <= copy->size - offset, "pointer %p leaves the image at %#llx", pointer,
               (unsigned long long)copy->base);
    return (void *)((uintptr_t)copy->bytes + offset);
}

static void check_node(const struct ring *like, const struct copy *copy, const struct node *node,
                       const struct node *address, int k, int seed)
{
    char name[32];
    const struct node *next = copy_at(copy, node->next, sizeof *next);
    snprintf(name, sizeof name, "node %d", k);
    CHECK_THAT(node->key == seed * 100 + k && node->n == like->n_data, "node %d: key %ld, n %d", k, node->key, node->n);
    CHECK_THAT(node->self == address, "node %d: self is %p, not %p", k, (void *)node->self, (const void *)address);
    CHECK(!strcmp(copy_at(copy, node->name, strlen(name) + 1), name));
    CHECK(node->opaque == (void *)(uintptr_t)(0x1000 + k));
    CHECK(node->weak == (k % 2 ? NULL : (void *)node->shared));
    CHECK(!like->n_data || node->middle == next->data + like->n_data / 2);
    const double *data = like->n_data ? copy_at(copy, node->data, (size_t)node->n * sizeof *data) : NULL;
    for (int i = 0; i < like->n_data; i++)
        CHECK_THAT(data[i] == ring_datum(like, k, i, seed), "node %d: data[%d] is %g, not %g", k, i, data[i],
                   ring_datum(like, k, i, seed));
}

/* Check that this is a copy of the ring with the shape of `like` and the data of seed. */
void ring_check_copy(const struct ring *like, const struct copy *copy, const struct node *root, int seed)
{
    const struct node *address = root, *first = copy_at(copy, root, sizeof *first);
    const struct leaf *leaf = copy_at(copy, first->shared, sizeof *leaf);
    for (int k = 0; k < like->n_nodes; k++) {
        const struct node *node = copy_at(copy, address, sizeof *node);
        CHECK(node->shared == first->shared);
        check_node(like, copy, node, address, k, seed);
        address = node->next;
    }
    CHECK_THAT(address == root, "the ring does not close");
    for (int i = 0; i < 3; i++)
        CHECK(leaf->value[i] == seed + i);
}

/* As ring_check_copy, but for the objects themselves: weak pointers out of the graph stay. */
void ring_check(const struct ring *ring, int seed)
{
    for (int k = 0; k < ring->n_nodes; k++) {
        const struct node *node = ring->nodes[k];
        CHECK(node->next == ring->nodes[(k + 1) % ring->n_nodes] && node->self == node);
        CHECK_THAT(node->weak != NULL, "get_deep has changed a weak pointer");
        CHECK(node->shared == ring->leaf && node->key == seed * 100 + k);
        for (int i = 0; i < ring->n_data; i++)
            CHECK(node->data[i] == ring_datum(ring, k, i, seed));
    }
    for (int i = 0; i < 3; i++)
        CHECK(ring->leaf->value[i] == seed + i);
}
