/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types in C for oshtypes.test with all kinds of pointers, annotated here or in mesh.ann. -DCHANGED=1, 2 and 3 give
 * types that have changed since oshtypes ran.
 */
#ifndef MESH_H
#define MESH_H

#include <shmemx_annotate.h>
#include <stdint.h>

enum material { AIR, WATER, STEEL };

struct cell {
    int id;
    double volume;
    struct cell *neighbour[2];
};

typedef struct {
    int nx;
    short ny;
    double *values;
} field;

typedef struct mesh {
    uint8_t n_cells;
    struct cell *cells, *middle;
    field temperature;
    struct {
        long n;
        float *weights;
    } extra;
    struct {
        int n_direct;
        int *direct;
    };
#if CHANGED == 1
    long n_labels;
    char *name;
    char **labels;
#else
    char *name;
    char **labels;
    long n_labels;
#endif
    void *user;
    union {
        int i;
        float f;
    } tag;
    unsigned flags : 3, more : 7;
    struct mesh *self;
    void (*callback)(int);
    struct mesh *next, *last[3];
    double (*rows)[3];
    const char *const *end;
    enum material n_rows;
    union {
        void *pointer;
        long number;
    } other;
    long double precise;
    char code[17];
#if CHANGED == 2
    char another[64];
#endif
} mesh;

SHMEMX_ONE(struct cell, neighbour);
SHMEMX_COUNT(field, values, "nx*ny");
SHMEMX_COUNT(mesh, cells, "n_cells");
SHMEMX_WEAK(mesh, middle);
SHMEMX_COUNT(mesh, extra.weights, "2*n+1");
SHMEMX_COUNT(mesh, direct, "n_direct");
SHMEMX_STRING(mesh, name);
SHMEMX_COUNT(mesh, user, "4 of double");
SHMEMX_ONE(mesh, self);
SHMEMX_OPAQUE(mesh, end);
#if CHANGED == 3
SHMEMX_WEAK(mesh, next);
#else
SHMEMX_ONE(mesh, next);
#endif
SHMEMX_LAYOUT(mesh, n_cells, cells, middle, temperature, extra, n_direct, direct, name, labels, n_labels, user, next);

#endif
