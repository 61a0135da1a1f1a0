/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks that a copy is the same graph, without routines of the library: it follows the pointers from the root, as the
 * graph's own list of objects describes them. Of large graphs it reads all pointers, but only samples of the rest.
 */
#include "deepcopy.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 8, SAMPLES = 64, READ_WHOLE = 1 << 16 };
static const size_t CHECKED_AS_A_WHOLE = 32 << 20;

enum { OTHER_SEED = 77 };

static bool is_sample(const struct graph *graph, size_t object)
{
    return graph->bytes <= CHECKED_AS_A_WHOLE || object % (graph->n_objects / SAMPLES + 1) == 0;
}

static bool wrong(const struct graph *graph, size_t object, const char *what)
{
    fprintf(stderr, "deepcopy: %s, node of %zu bytes: object %zu of %zu: %s\n", graph->shape, graph->node_size, object,
            graph->n_objects, what);
    return false;
}

/* The address of a target is what the first pointer to it says; all others must agree. */
static bool follow(const struct graph_object *object, const char *copy, uint64_t *addresses)
{
    for (size_t k = 0; k < object->n_pointers; k++) {
        long target = object->pointers[k].target;
        uint64_t value;
        memcpy(&value, copy + object->pointers[k].offset, WORD);
        if (target >= 0 && !addresses[target])
            addresses[target] = value;
        if (value != (target >= 0 ? addresses[target] : 0))
            return false;
    }
    return true;
}

static void read_object(const struct graph *graph, const struct copy_access *access, size_t number, uint64_t address,
                        char *copy)
{
    const struct graph_object *object = &graph->objects[number];
    if (object->size <= READ_WHOLE || is_sample(graph, number)) {
        access->read(access->context, address, copy, object->size);
        return;
    }
    for (size_t k = 0; k < object->n_pointers; k++)
        access->read(access->context, address + object->pointers[k].offset, copy + object->pointers[k].offset, WORD);
}

/* Objects come after one that points to them, so their addresses are known in time. */
static bool compare(struct graph *graph, const struct copy_access *access, uint64_t *addresses, char *copy)
{
    for (size_t i = 0; i < graph->n_objects; i++) {
        const struct graph_object *object = &graph->objects[i];
        if (!is_sample(graph, i) && !object->n_pointers)
            continue;
        if (!addresses[i])
            return wrong(graph, i, "nothing in the copy points to it");
        read_object(graph, access, i, addresses[i], copy);
        if (!follow(object, copy, addresses))
            return wrong(graph, i, "its pointers in the copy are not linked as the graph is");
        if (!is_sample(graph, i))
            continue;
        if (!graph_is_copy(graph, i, copy))
            return wrong(graph, i, "its copy has other values");
        if (object->has_data) {
            graph_fill(graph, i, copy, OTHER_SEED);
            access->write(access->context, addresses[i], copy, object->size);
        }
    }
    return true;
}

bool check_copy(struct graph *graph, const struct copy_access *access, uint64_t root)
{
    uint64_t *addresses = calloc(graph->n_objects, sizeof *addresses);
    char *copy = malloc(graph->largest);
    if (!addresses || !copy)
        die("no memory for the check");
    addresses[0] = root;
    bool right = compare(graph, access, addresses, copy);
    free(copy);
    free(addresses);
    return right;
}

bool check_back(struct graph *graph)
{
    for (size_t i = 0; i < graph->n_objects; i++) {
        unsigned seed = is_sample(graph, i) ? OTHER_SEED : GRAPH_SEED;
        if (!graph_is_filled(graph, i, seed))
            return wrong(graph, i, "its values have not come back");
        if (!graph_is_linked(graph, i))
            return wrong(graph, i, "its own pointers have changed");
        if (seed == OTHER_SEED)
            graph_fill(graph, i, graph->objects[i].bytes, GRAPH_SEED);
    }
    return true;
}
