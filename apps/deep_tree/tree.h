/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tree of the example: an ordinary search tree, whose nodes point to arrays of different lengths, and the words
 * that tell MapSHMEM where its pointers are. Nothing in it is made for the GPU. Compiled as C and as C++.
 */
#ifndef DEEP_TREE_TREE_H
#define DEEP_TREE_TREE_H

#include <shmemx.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tree {
    long key;
    int n; /* how many values */
    double *values;
    struct tree *left, *right;
};

/* name, where, what it is, of which type, (constant length,) length */
static const shmemx_field_t tree_fields[] = {
    {"n", offsetof(struct tree, n), SHMEMX_FIELD_VALUE, "int", 0, NULL},
    {"values", offsetof(struct tree, values), SHMEMX_FIELD_POINTER, "double", 0, "n"},
    {"left", offsetof(struct tree, left), SHMEMX_FIELD_POINTER, "tree", 0, NULL},
    {"right", offsetof(struct tree, right), SHMEMX_FIELD_POINTER, "tree", 0, NULL},
};

enum { KEYS = 4096, NODES = 1000, CAPACITY = 1 << 20 };

/* There are no arguments but -h and --help. Returns the exit status, or -1 if the program is to run. */
static int read_arguments(int argc, char **argv)
{
    const int helps = argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"));
    if (argc == 2 && !strcmp(argv[1], "--version")) {
        printf("%s %d.%d.%d\n", SHMEM_VENDOR_STRING, MAPSHMEM_NUMVERSION / 10000, MAPSHMEM_NUMVERSION / 100 % 100,
               MAPSHMEM_NUMVERSION % 100);
        return 0;
    }
    if (argc > 1)
        fprintf(helps ? stdout : stderr, "usage: oshrun -n 2 %s [--version]\nA tree goes to the GPU of PE 1.\n",
                argv[0]);
    return argc == 1 ? -1 : helps ? 0 : 2;
}

/* The sum of the values under a key, or -1 without such a key. The GPU does the same. */
static double look_up(const struct tree *tree, long key)
{
    double sum = 0;
    while (tree && tree->key != key)
        tree = key < tree->key ? tree->left : tree->right;
    for (int i = 0; tree && i < tree->n; i++)
        sum += tree->values[i];
    return tree ? sum : -1;
}

/* Nodes with keys below KEYS in no particular order; every tenth has no values. */
static struct tree *grow(void)
{
    struct tree *root = NULL;
    for (int i = 0; i < NODES; i++) {
        const long key = (long)i * 1234577 % KEYS;
        struct tree **place = &root, *node = (struct tree *)calloc(1, sizeof *node);
        while (*place)
            place = key < (*place)->key ? &(*place)->left : &(*place)->right;
        node->key = key;
        node->n = i % 10;
        node->values = (double *)malloc((size_t)node->n * sizeof(double) + 1);
        for (int j = 0; j < node->n; j++)
            node->values[j] = (double)key + j;
        *place = node;
    }
    return root;
}

/* Whether the GPU found for every key what this tree has. */
static int is_right(const struct tree *root, const double *found)
{
    for (long key = 0; key < KEYS; key++) {
        if (found[key] != look_up(root, key)) {
            printf("key %ld: the GPU found %g instead of %g\n", key, found[key], look_up(root, key));
            return 0;
        }
    }
    printf("%d keys looked up in %d nodes by the GPU: all right\n", KEYS, NODES);
    return 1;
}

#endif
