/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times of walk and layout, and of filling the image: lists and trees whose nodes lie in order or at random, warm. Not
 * a test: tests/deep/walk_speed [NODES [BYTES]] prints nanoseconds for each node.
 */
#include "deep/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPETITIONS = 200, GAP = 16 };

static size_t n_nodes = 1024, node_size = 128;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(double *values)
{
    qsort(values, REPETITIONS, sizeof *values, ascending);
}

/* Place of node i among all, in order or not. */
static size_t place_of(size_t i, bool shuffled)
{
    return shuffled ? i * 2654435761u % n_nodes : i; /* one to one as long as the number of nodes is odd, or 2^n */
}

static char *node_at(char *memory, size_t i, bool shuffled)
{
    return memory + place_of(i, shuffled) * (node_size + GAP);
}

/* A node begins with a pointer and ends with one. */
static void set_pointer(char *at, char *memory, size_t target, bool shuffled)
{
    char *value = target < n_nodes ? node_at(memory, target, shuffled) : NULL;
    memcpy(at, &value, sizeof value);
}

static void link_nodes(char *memory, bool tree, bool shuffled)
{
    for (size_t i = 0; i < n_nodes; i++) {
        char *node = node_at(memory, i, shuffled);
        set_pointer(node, memory, tree ? 2 * i + 1 : i + 1, shuffled);
        set_pointer(node + node_size - sizeof(char *), memory, tree ? 2 * i + 2 : n_nodes, shuffled);
    }
}

static void measure(const char *what, const struct shmemi_type *type, const void *root)
{
    const struct shmemi_walk_options options = {"walk_speed", SHMEMI_LIVE_MEMORY, NULL, SHMEMX_DEEP_HEADER};
    double walks[REPETITIONS], fills[REPETITIONS];
    char *bytes = NULL;
    size_t size = 0;
    for (int i = 0; i < REPETITIONS; i++) {
        struct shmemi_graph graph;
        struct shmemi_image image;
        double start = now();
        if (shmemi_graph_open(&graph, &options, (uintptr_t)root, type, 1))
            exit(1);
        walks[i] = now() - start;
        size = graph.size;
        bytes = bytes ? bytes : malloc(size);
        start = now();
        shmemi_image_describe(&image, &graph, type, 1, 0, false);
        shmemi_image_fill(&image, 0, bytes, size);
        shmemi_graph_close(&graph);
        fills[i] = now() - start;
    }
    sort(walks);
    sort(fills);
    for (int i = 0; i <= REPETITIONS / 2; i += REPETITIONS / 2)
        printf("%-16s %8zu nodes of %zu, %s: walk %7.1f ns, fill %7.1f ns each; together %9.1f us\n", what, n_nodes,
               node_size, i ? "median" : "best  ", walks[i] / (double)n_nodes, fills[i] / (double)n_nodes,
               (walks[i] + fills[i]) / 1000);
    free(bytes);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        n_nodes = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        node_size = strtoull(argv[2], NULL, 10);
    const shmemx_field_t fields[] = {
        {"left", 0, SHMEMX_FIELD_POINTER, "node", 1, NULL},
        {"right", node_size - sizeof(char *), SHMEMX_FIELD_POINTER, "node", 1, NULL},
    };
    const shmemx_type_desc_t text = {"node", node_size, 2, fields};
    const struct shmemi_type *type;
    char *memory = malloc(n_nodes * (node_size + GAP));
    if (!memory || !n_nodes || node_size < 2 * sizeof(char *) || shmemi_types_create("walk_speed", 1, &text, &type))
        return 1;
    memset(memory, 1, n_nodes * (node_size + GAP));
    for (int i = 0; i < 4; i++) {
        const char *names[] = {"list, in order", "list, shuffled", "tree, in order", "tree, shuffled"};
        link_nodes(memory, i & 2, i & 1);
        measure(names[i], type, node_at(memory, 0, i & 1));
    }
    free(memory);
    return 0;
}
