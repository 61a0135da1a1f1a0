/* SPDX-License-Identifier: BSD-3-Clause
 *
 * List, SplitList, Tree and UMT, as in the paper (Chen, Sura, Sung: "Automatic Copying of Pointer-Based Data
 * Structures", 2016, section 4).
 */
#include "graph.h"
#include "support/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8, PAPER_NODES = 1024, UMT_ZONES = 2000, NO_OBJECT = -1 };

const char *const graph_shapes[] = {"list", "splitlist", "tree", "umt", NULL};

/* ---- Objects ------------------------------------------------------------------------------------------------------ */

/* Room for objects and pointers, which are then added one after the other. */
static void make_room(struct graph *graph, size_t objects, size_t pointers)
{
    graph->objects = calloc(objects, sizeof *graph->objects);
    graph->pointers = calloc(pointers ? pointers : 1, sizeof *graph->pointers);
    if (!graph->objects || !graph->pointers)
        die("no memory for the list of %zu objects", objects);
}

static long add_object(struct graph *graph, size_t size, bool has_data)
{
    struct graph_object *object = &graph->objects[graph->n_objects];
    *object = (struct graph_object){.bytes = malloc(size), .size = size, .has_data = has_data};
    if (!object->bytes)
        die("no memory for an object of %zu bytes", size);
    memset(object->bytes, 0, size);
    graph->bytes += size;
    graph->largest = size > graph->largest ? size : graph->largest;
    return (long)graph->n_objects++;
}

/* The pointers of an object are added together, by ascending offset. */
static void add_pointer(struct graph *graph, long from, size_t offset, long target)
{
    struct graph_object *object = &graph->objects[from];
    struct graph_pointer *pointer = &graph->pointers[graph->n_pointers++];
    if (object->n_pointers++ == 0)
        object->pointers = pointer;
    *pointer = (struct graph_pointer){offset, target};
    if (target != NO_OBJECT)
        memcpy(object->bytes + offset, &graph->objects[target].bytes, WORD);
}

void graph_destroy(struct graph *graph)
{
    for (size_t i = 0; i < graph->n_objects; i++)
        free(graph->objects[i].bytes);
    free(graph->objects);
    free(graph->pointers);
    *graph = (struct graph){0};
}

/* ---- List, SplitList, Tree ---------------------------------------------------------------------------------------- */

/* The offsets of a node's pointers; a list's node has no second one. */
static size_t node_pointers(const struct graph_plan *plan, size_t offsets[2])
{
    size_t last = plan->node_size - WORD;
    offsets[0] = !strcmp(plan->shape, "list") ? last : !strcmp(plan->shape, "tree") ? 0 : last / 2 / WORD * WORD;
    offsets[1] = last;
    return !strcmp(plan->shape, "tree") ? 2 : 1;
}

static shmemx_type_t node_type(const struct graph_plan *plan, size_t n, const size_t *offsets)
{
    static const char *const names[] = {"next", "left", "right"};
    char name[64];
    shmemx_field_t fields[2];
    snprintf(name, sizeof name, "%s node of %zu bytes", plan->shape, plan->node_size);
    for (size_t i = 0; i < n; i++)
        fields[i] = (shmemx_field_t){names[n - 1 + i], offsets[i], SHMEMX_FIELD_POINTER, name, 0, NULL};
    return shmemx_type_create(name, plan->node_size, n, fields);
}

static void build_nodes(struct graph *graph, const struct graph_plan *plan)
{
    size_t nodes = plan->nodes ? plan->nodes : PAPER_NODES, offsets[2], n = node_pointers(plan, offsets);
    make_room(graph, nodes, n * nodes);
    for (size_t i = 0; i < nodes; i++)
        add_object(graph, plan->node_size, true);
    for (size_t i = 0; i < nodes; i++) {
        for (size_t k = 0; k < n; k++) {
            size_t target = n * i + k + 1; /* as in a heap: balanced */
            add_pointer(graph, (long)i, offsets[k], target < nodes ? (long)target : NO_OBJECT);
        }
    }
    graph->node_size = plan->node_size;
    graph->type = node_type(plan, n, offsets);
}

/* ---- UMT ---------------------------------------------------------------------------------------------------------- */

/* Like the data of its kernel: a mesh of zones; each has quantities by corner, energy group and angle, and faces. */
struct faces {
    int64_t n;
    double *area_fp, *area_ez;
    int64_t *neighbour;
};
struct zone {
    int64_t corners, groups, values; /* values: one for each corner, group and angle */
    double *volume, *sigma_total, *source, *psi, *time_source;
    struct faces *faces;
};
struct mesh {
    int64_t n_zones;
    struct zone *zones;
};

enum { CORNERS = 8, GROUPS = 64, ANGLES = 134, FACES = 24, ZONE_ARRAYS = 5, FACE_ARRAYS = 3 };

static size_t umt_values(const struct graph_plan *plan)
{
    size_t angles = (size_t)(ANGLES * plan->scale);
    return (size_t)CORNERS * GROUPS * (angles ? angles : 1);
}

static size_t umt_zones(const struct graph_plan *plan)
{
    return plan->nodes ? plan->nodes : UMT_ZONES;
}

static size_t umt_zone_bytes(const struct graph_plan *plan)
{
    return (CORNERS + GROUPS + CORNERS * GROUPS + 2 * umt_values(plan) + FACE_ARRAYS * FACES) * WORD +
           sizeof(struct zone) + sizeof(struct faces);
}

#define POINTER(structure, member, target, length)                                                                     \
    {                                                                                                                  \
#member, offsetof(structure, member), SHMEMX_FIELD_POINTER, target, 0, length                                  \
    }
#define NUMBER(structure, member)                                                                                      \
    {                                                                                                                  \
#member, offsetof(structure, member), SHMEMX_FIELD_VALUE, "int64_t", 0, NULL                                   \
    }

static shmemx_type_t umt_type(void)
{
    static const shmemx_field_t faces[] = {
        NUMBER(struct faces, n),
        POINTER(struct faces, area_fp, "double", "n"),
        POINTER(struct faces, area_ez, "double", "n"),
        POINTER(struct faces, neighbour, "int64_t", "n"),
    };
    static const shmemx_field_t zone[] = {
        NUMBER(struct zone, corners),
        NUMBER(struct zone, groups),
        NUMBER(struct zone, values),
        POINTER(struct zone, volume, "double", "corners"),
        POINTER(struct zone, sigma_total, "double", "groups"),
        POINTER(struct zone, source, "double", "corners*groups"),
        POINTER(struct zone, psi, "double", "values"),
        POINTER(struct zone, time_source, "double", "values"),
        POINTER(struct zone, faces, "umt faces", NULL),
    };
    static const shmemx_field_t mesh[] = {
        NUMBER(struct mesh, n_zones),
        POINTER(struct mesh, zones, "umt zone", "n_zones"),
    };
    static const shmemx_type_desc_t types[] = {
        {"umt faces", sizeof(struct faces), sizeof faces / sizeof faces[0], faces},
        {"umt zone", sizeof(struct zone), sizeof zone / sizeof zone[0], zone},
        {"umt mesh", sizeof(struct mesh), sizeof mesh / sizeof mesh[0], mesh},
    };
    if (!shmemx_type_find("umt mesh") && shmemx_types_create(3, types))
        return NULL;
    return shmemx_type_find("umt mesh");
}

static long add_faces(struct graph *graph)
{
    long arrays[FACE_ARRAYS], faces = add_object(graph, sizeof(struct faces), false);
    int64_t n = FACES;
    memcpy(graph->objects[faces].bytes + offsetof(struct faces, n), &n, sizeof n);
    for (int i = 0; i < FACE_ARRAYS; i++)
        arrays[i] = add_object(graph, FACES * WORD, true);
    for (int i = 0; i < FACE_ARRAYS; i++)
        add_pointer(graph, faces, offsetof(struct faces, area_fp) + (size_t)i * WORD, arrays[i]);
    return faces;
}

/* The zones are one object, whose pointers come together: first make all of what they point to. */
static void add_zone(struct graph *graph, size_t values, struct zone *zone, long targets[ZONE_ARRAYS + 1])
{
    const size_t lengths[ZONE_ARRAYS] = {CORNERS, GROUPS, CORNERS * GROUPS, values, values};
    zone->corners = CORNERS;
    zone->groups = GROUPS;
    zone->values = (int64_t)values;
    for (int i = 0; i < ZONE_ARRAYS; i++)
        targets[i] = add_object(graph, lengths[i] * WORD, true);
    targets[ZONE_ARRAYS] = add_faces(graph);
}

static void build_umt(struct graph *graph, const struct graph_plan *plan)
{
    size_t n = umt_zones(plan), per_zone = ZONE_ARRAYS + 1 + FACE_ARRAYS;
    int64_t n_zones = (int64_t)n;
    make_room(graph, 2 + n * per_zone, 1 + n * per_zone);
    long mesh = add_object(graph, sizeof(struct mesh), false);
    long zones = add_object(graph, n * sizeof(struct zone), false);
    long(*targets)[ZONE_ARRAYS + 1] = calloc(n, sizeof *targets);
    if (!targets)
        die("no memory for a mesh of %zu zones", n);
    memcpy(graph->objects[mesh].bytes, &n_zones, sizeof n_zones);
    add_pointer(graph, mesh, offsetof(struct mesh, zones), zones);
    for (size_t i = 0; i < n; i++)
        add_zone(graph, umt_values(plan), (struct zone *)graph->objects[zones].bytes + i, targets[i]);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k <= ZONE_ARRAYS; k++)
            add_pointer(graph, zones, i * sizeof(struct zone) + offsetof(struct zone, volume) + k * WORD,
                        targets[i][k]);
    }
    free(targets);
    graph->type = umt_type();
}

/* ---- Any ---------------------------------------------------------------------------------------------------------- */

size_t graph_bound(const struct graph_plan *plan)
{
    const size_t header = 4096, padding = 16; /* of an object in an image */
    if (!strcmp(plan->shape, "umt"))
        return header + umt_zones(plan) * (umt_zone_bytes(plan) + 9 * padding);
    return header + (plan->nodes ? plan->nodes : PAPER_NODES) * (plan->node_size + padding);
}

struct graph_segment graph_segment(const struct graph_object *object, size_t number)
{
    size_t from = number ? object->pointers[number - 1].offset + WORD : 0;
    size_t to = number < object->n_pointers ? object->pointers[number].offset : object->size;
    return (struct graph_segment){from, to - from};
}

static uint64_t pattern(size_t number, size_t word, unsigned seed)
{
    return (uint64_t)(number + 1) * 0x9e3779b97f4a7c15u + (uint64_t)word * 0xd1b54a32d192ed03u + seed;
}

void graph_fill(const struct graph *graph, size_t number, char *object, unsigned seed)
{
    const struct graph_object *own = &graph->objects[number];
    for (size_t k = 0; own->has_data && k <= own->n_pointers; k++) {
        struct graph_segment segment = graph_segment(own, k);
        for (size_t at = segment.offset; at < segment.offset + segment.size; at += WORD) {
            uint64_t word = pattern(number, at / WORD, seed);
            memcpy(object + at, &word, WORD);
        }
    }
}

void graph_build(struct graph *graph, const struct graph_plan *plan)
{
    *graph = (struct graph){.shape = plan->shape};
    if (!strcmp(plan->shape, "umt"))
        build_umt(graph, plan);
    else
        build_nodes(graph, plan);
    if (!graph->type)
        die("the type of %s cannot be created", plan->shape);
    for (size_t i = 0; i < graph->n_objects; i++)
        graph_fill(graph, i, graph->objects[i].bytes, GRAPH_SEED);
}

bool graph_is_filled(const struct graph *graph, size_t number, unsigned seed)
{
    const struct graph_object *own = &graph->objects[number];
    bool same = true;
    for (size_t k = 0; own->has_data && k <= own->n_pointers; k++) {
        struct graph_segment segment = graph_segment(own, k);
        for (size_t at = segment.offset; at < segment.offset + segment.size; at += WORD) {
            uint64_t word;
            memcpy(&word, own->bytes + at, WORD);
            same &= word == pattern(number, at / WORD, seed);
        }
    }
    return same;
}

bool graph_is_copy(const struct graph *graph, size_t number, const char *copy)
{
    const struct graph_object *own = &graph->objects[number];
    for (size_t k = 0; k <= own->n_pointers; k++) {
        struct graph_segment segment = graph_segment(own, k);
        if (memcmp(own->bytes + segment.offset, copy + segment.offset, segment.size))
            return false;
    }
    return true;
}

bool graph_is_linked(const struct graph *graph, size_t number)
{
    const struct graph_object *own = &graph->objects[number];
    for (size_t k = 0; k < own->n_pointers; k++) {
        const char *expected = NULL;
        if (own->pointers[k].target != NO_OBJECT)
            expected = graph->objects[own->pointers[k].target].bytes;
        if (memcmp(own->bytes + own->pointers[k].offset, &expected, WORD))
            return false;
    }
    return true;
}
