/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks of the routines that describe types to deep copy: which descriptions are accepted, which are refused, and when.
 */
#include "deep_types.h"

#include "check.h"

#include <shmemx.h>

#include <complex.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edge {
    struct vertex *from, *to;
    char *label;
};

struct vertex {
    int32_t n_edges;
    uint8_t nx, ny;
    struct edge *edges;
    double *values;
    const void *any;
};

static const shmemx_field_t edge_fields[] = {
    {"from", offsetof(struct edge, from), SHMEMX_FIELD_WEAK, "vertex", 0, NULL},
    {"to", offsetof(struct edge, to), SHMEMX_FIELD_POINTER, "vertex", 0, NULL},
    {"label", offsetof(struct edge, label), SHMEMX_FIELD_STRING, "char", 0, NULL},
};
static const shmemx_field_t vertex_fields[] = {
    {"n", offsetof(struct vertex, n_edges), SHMEMX_FIELD_VALUE, "int32_t", 0, NULL},
    {"nx", offsetof(struct vertex, nx), SHMEMX_FIELD_VALUE, "unsigned char", 0, NULL},
    {"ny", offsetof(struct vertex, ny), SHMEMX_FIELD_VALUE, "uint8_t", 0, NULL},
    {"edges", offsetof(struct vertex, edges), SHMEMX_FIELD_POINTER, "edge", 0, "n"},
    {"values", offsetof(struct vertex, values), SHMEMX_FIELD_POINTER, "double", 0, "nx*ny"},
    {"any", offsetof(struct vertex, any), SHMEMX_FIELD_OPAQUE, NULL, 0, NULL},
};

void check_types_before_init(void)
{
    const shmemx_type_desc_t types[] = {{"edge", sizeof(struct edge), 3, edge_fields},
                                        {"vertex", sizeof(struct vertex), 6, vertex_fields}};
    shmemx_type_t box = shmemx_type_create("box", 8, 0, NULL);
    CHECK(box && shmemx_type_find("box") == box && !shmemx_type_destroy(box) && !shmemx_type_find("box"));
    CHECK(!shmemx_types_create(2, types) && !shmemx_types_create(2, types)); /* twice is the same */
    CHECK(shmemx_types_create(0, NULL) == 0);
}

/* The same layouts under other names, in an order that is not the same on all PEs. */
static void make_twins(void)
{
    shmemx_field_t edges[3], vertices[6];
    memcpy(edges, edge_fields, sizeof edges);
    memcpy(vertices, vertex_fields, sizeof vertices);
    edges[0].type = edges[1].type = "struct vertex";
    vertices[3].type = "struct edge";
    vertices[0].name = "n_edges";
    vertices[3].count = "n_edges";
    const shmemx_type_desc_t edge = {"struct edge", sizeof(struct edge), 3, edges};
    const shmemx_type_desc_t vertex = {"struct vertex", sizeof(struct vertex), 6, vertices};
    const shmemx_type_desc_t orders[][2] = {{edge, vertex}, {vertex, edge}};
    CHECK(!shmemx_types_create(2, orders[shmem_my_pe() % 2]));
}

static void check_hashes(void)
{
    static uint64_t hashes[2];
    make_twins();
    hashes[0] = shmemx_type_hash(shmemx_type_find("edge"));
    hashes[1] = shmemx_type_hash(shmemx_type_find("vertex"));
    CHECK(hashes[0] && hashes[1] && hashes[0] != hashes[1]);
    CHECK(shmemx_type_hash(shmemx_type_find("struct edge")) == hashes[0]);
    CHECK(shmemx_type_hash(shmemx_type_find("struct vertex")) == hashes[1]);
    shmem_barrier_all();
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        for (int i = 0; i < 2; i++)
            CHECK(shmem_uint64_g(&hashes[i], pe) == hashes[i]);
    shmem_barrier_all();
}

/* The sizes of the predefined types in this compiler. */
static void check_predefined(void)
{
    const struct {
        const char *name;
        size_t size;
    } types[] = {{"char", 1},
                 {"short", sizeof(short)},
                 {"unsigned int", sizeof(unsigned)},
                 {"long", sizeof(long)},
                 {"unsigned long long", sizeof(unsigned long long)},
                 {"_Bool", sizeof(bool)},
                 {"int64_t", sizeof(int64_t)},
                 {"ptrdiff_t", sizeof(ptrdiff_t)},
                 {"float", sizeof(float)},
                 {"long double", sizeof(long double)},
                 {"double _Complex", sizeof(double complex)},
                 {"void *", sizeof(void *)}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        shmemx_field_t fields[] = {{"before", 0, SHMEMX_FIELD_VALUE, types[i].name, 2, NULL},
                                   {"after", 2 * types[i].size, SHMEMX_FIELD_VALUE, "char", 0, NULL}};
        shmemx_type_t type = shmemx_type_create("pair", 2 * types[i].size + 1, 2, fields);
        CHECK_THAT(type && !shmemx_type_destroy(type), "%s is not of %zu bytes", types[i].name, types[i].size);
    }
}

void check_types_in_job(void)
{
    shmemx_type_t edge = shmemx_type_find("edge"), vertex = shmemx_type_find("vertex");
    CHECK(edge && vertex && edge != vertex && !shmemx_type_find("Edge"));
    CHECK(!shmemx_type_destroy(edge) && shmemx_type_find("edge") == edge); /* it was made twice */
    CHECK(!shmemx_type_hash(NULL));
    check_hashes();
    check_predefined();
}

void check_types_after_finalize(void)
{
    CHECK(!shmemx_type_find("edge") && !shmemx_type_find("vertex") && !shmemx_type_find("struct edge"));
    CHECK(shmemx_type_find("double"));
}
