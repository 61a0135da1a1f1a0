/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random objects, linked at random: the generator of random_graph.h.
 */
#include "random_model.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, MAX_ELEMENTS = 6, MAX_DATA = 40, MUCH_DATA = 5000, TRIES = 12, NEW_BLOCKS = 20 };

/* Something that a pointer can point to: n elements of a type, which are a block or lie in one. */
struct array {
    char *start;
    int type;
    size_t n, block;
};

static size_t below(struct random_model *model, size_t n)
{
    return (size_t)(random_next(&model->random) % n);
}

static void fill_bytes(char *bytes, size_t nbytes, uint64_t *state)
{
    for (size_t i = 0; i < nbytes; i += 8) {
        uint64_t value = random_next(state);
        memcpy(bytes + i, &value, nbytes - i < 8 ? nbytes - i : 8);
    }
}

/* ---- memory ---- */

static void add_array(struct random_model *model, char *start, int type, size_t n)
{
    if (model->n_arrays == model->max_arrays) {
        model->max_arrays = model->max_arrays ? 2 * model->max_arrays : 64;
        model->arrays = must_have(realloc(model->arrays, model->max_arrays * sizeof *model->arrays));
    }
    model->arrays[model->n_arrays++] = (struct array){start, type, n, model->n_blocks - 1};
}

/* Fill all members of an object. */
static void add_arrays(struct random_model *model, char *start, int type, size_t n)
{
    add_array(model, start, type, n);
    for (size_t i = 0; type >= 0 && i < n; i++)
        for (int k = 0; k < model->types[type].n_fields; k++) {
            const struct field_model *field = &model->types[type].fields[k];
            if (field->role == ROLE_EMBEDDED || field->role == ROLE_DATA)
                add_arrays(model, start + i * model->types[type].size + field->offset, field->target, field->n);
        }
}

static struct block *add_block(struct random_model *model, int type, size_t n, uint64_t *data)
{
    if (model->n_blocks == model->max_blocks) {
        model->max_blocks = model->max_blocks ? 2 * model->max_blocks : 64;
        model->blocks = must_have(realloc(model->blocks, model->max_blocks * sizeof *model->blocks));
    }
    size_t size = n * random_size_of(model, type), phase = 8 * (below(model, 4) == 0);
    struct block *block = &model->blocks[model->n_blocks++];
    *block = (struct block){.whole = GUARD + phase + size + GUARD, .type = type, .n = n};
    block->memory = must_have(malloc(block->whole));
    memset(block->memory, 0xa5, block->whole);
    block->start = block->memory + GUARD + phase;
    fill_bytes(block->start, size, data);
    return block;
}

static char *new_data(struct random_model *model, int type, size_t n, uint64_t *data)
{
    struct block *block = add_block(model, type, n, data);
    block->is_used = true;
    add_array(model, block->start, type, n);
    return block->start;
}

/* A new string, or the end of an old one. */
static char *choose_string(struct random_model *model, int type)
{
    size_t size = random_size_of(model, type), n = below(model, MAX_DATA);
    for (size_t tries = 0; tries < TRIES && below(model, 3); tries++) {
        struct block *old = &model->blocks[below(model, model->n_blocks)];
        if (old->is_string && old->type == type)
            return old->start + below(model, old->n) * size;
    }
    if (model->n_blocks > model->enough_blocks)
        return NULL;
    uint64_t zero = 0;
    struct block *block = add_block(model, type, n + 1, &zero);
    block->is_string = block->is_used = true;
    memset(block->start, 0, (n + 1) * size);
    for (size_t i = 0; i < n; i++)
        block->start[i * size + below(model, size)] = (char)(1 + below(model, 100));
    return block->start;
}

/* Where there are n elements of a type; NULL when there is no such place. Objects that nothing points to come first. */
static char *choose_target(struct random_model *model, int type, size_t n, uint64_t *data)
{
    for (size_t tries = 0; tries < TRIES * 4; tries++) {
        struct array *array = &model->arrays[below(model, model->n_arrays)];
        if (array->type != type || array->n < n || (tries < TRIES && model->blocks[array->block].is_used))
            continue;
        model->blocks[array->block].is_used = true;
        return array->start + below(model, array->n - n + 1) * random_size_of(model, type);
    }
    return type < 0 && model->n_blocks <= model->enough_blocks ? new_data(model, type, n, data) : NULL;
}

/* ---- pointers ---- */

static void set_pointer(char *slot, const void *value)
{
    memcpy(slot, &value, sizeof value);
}

static void fill_pointer(struct random_model *model, const struct type_model *type, const struct field_model *field,
                         char *object, uint64_t *data)
{
    size_t n = random_count(model, type, field, object);
    const void *value = NULL;
    if (!n && below(model, 2))
        value = (const void *)(uintptr_t)(1 + below(model, 1 << 20)); /* must not be followed */
    else if (n && below(model, 6))
        value = choose_target(model, field->target, n, data);
    set_pointer(object + field->offset, value);
}

static void fill_dope(struct random_model *model, const struct field_model *field, char *object, uint64_t *data)
{
    size_t extents[MAX_RANK] = {0}, n = 1;
    for (size_t i = 0; i < field->n; i++) {
        extents[i] = below(model, 8) ? 1 + below(model, 3) : 0;
        n *= extents[i];
    }
    const char *address = NULL;
    if (below(model, 5))
        address = choose_target(model, field->target, n ? n : 1, data);
    if (field->kind == SHMEMX_FIELD_GFORTRAN && !field->n)
        set_pointer(object + field->offset, address);
    else
        random_dope_write(field->kind, field->n, object + field->offset, address, extents,
                          random_size_of(model, field->target), below(model, 3));
}

static void fill_unfollowed(struct random_model *model, const struct field_model *field, char *slot)
{
    uint64_t opaque = random_next(&model->random) | 1;
    if (field->role == ROLE_OPAQUE)
        memcpy(slot, &opaque, sizeof opaque);
    else if (!below(model, 4))
        set_pointer(slot, NULL);
    else {
        const struct array *array = &model->arrays[below(model, model->n_arrays)];
        set_pointer(slot, array->start + below(model, array->n * random_size_of(model, array->type)));
    }
}

static void fill_counts(struct random_model *model, int type, char *object)
{
    for (int i = 0; i < model->types[type].n_fields; i++) {
        const struct field_model *field = &model->types[type].fields[i];
        if (field->role == ROLE_EMBEDDED)
            for (size_t k = 0; k < field->n; k++)
                fill_counts(model, field->target, object + field->offset + k * model->types[field->target].size);
        if (field->role != ROLE_COUNT)
            continue;
        int64_t value = below(model, 4) ? (int64_t)below(model, 4) : 0;
        if (basic_types[~field->target].is_signed && !below(model, 6))
            value = -1 - (int64_t)below(model, 3);
        memcpy(object + field->offset, &value, field->size);
    }
}

static void fill_pointers(struct random_model *model, int number, char *object, uint64_t *data)
{
    const struct type_model *type = &model->types[number];
    for (int i = 0; i < type->n_fields; i++) {
        const struct field_model *field = &type->fields[i];
        if (field->role == ROLE_EMBEDDED)
            for (size_t k = 0; k < field->n; k++)
                fill_pointers(model, field->target, object + field->offset + k * model->types[field->target].size,
                              data);
        else if (field->role == ROLE_POINTER)
            fill_pointer(model, type, field, object, data);
        else if (field->role == ROLE_STRING)
            set_pointer(object + field->offset, below(model, 6) ? choose_string(model, field->target) : NULL);
        else if (field->role == ROLE_DOPE)
            fill_dope(model, field, object, data);
        else if (field->role == ROLE_WEAK || field->role == ROLE_OPAQUE)
            fill_unfollowed(model, field, object + field->offset);
    }
}

/* ---- all ---- */

static void make_objects(struct random_model *model, size_t n, uint64_t *data)
{
    for (size_t i = 0; i < n; i++) {
        size_t elements = below(model, 3) ? 1 : 1 + below(model, MAX_ELEMENTS);
        int type = (int)below(model, (size_t)model->n_types + 1);
        if (type == model->n_types) {
            type = ~(int)below(model, (size_t)n_basic_types);
            elements = 1 + below(model, below(model, 10) ? MAX_DATA : MUCH_DATA);
        }
        if (!i) /* the root */
            type = model->n_types - 1;
        struct block *block = add_block(model, type, elements, data);
        add_arrays(model, block->start, type, elements);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; model->blocks[i].type >= 0 && k < model->blocks[i].n; k++)
            fill_counts(model, model->blocks[i].type,
                        model->blocks[i].start + k * random_size_of(model, model->blocks[i].type));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; model->blocks[i].type >= 0 && k < model->blocks[i].n; k++)
            fill_pointers(model, model->blocks[i].type,
                          model->blocks[i].start + k * random_size_of(model, model->blocks[i].type), data);
}

struct random_graph *random_graph_open(uint64_t seed, uint64_t data_seed, size_t max_objects)
{
    struct random_graph *graph = must_have(calloc(1, sizeof *graph));
    struct random_model *model = graph->model = must_have(calloc(1, sizeof *model));
    uint64_t data = data_seed ^ 0x5851f42d4c957f2du;
    model->random = seed;
    model->enough_blocks = NEW_BLOCKS * max_objects;
    random_types_make(model, seed);
    make_objects(model, 1 + below(model, max_objects), &data);
    struct block *root = &model->blocks[0];
    graph->n_types = (size_t)model->n_types;
    graph->types = model->type_texts;
    graph->root_type = model->types[root->type].name;
    graph->n_elems = 1 + below(model, root->n);
    graph->root = root->start + below(model, root->n - graph->n_elems + 1) * model->types[root->type].size;
    return graph;
}

void random_graph_close(struct random_graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->model->n_blocks; i++)
        free(graph->model->blocks[i].memory);
    free(graph->model->blocks);
    free(graph->model->arrays);
    free(graph->model);
    free(graph);
}

unsigned char *random_graph_bytes(const struct random_graph *graph)
{
    const struct random_model *model = graph->model;
    size_t whole = 0, at = 0;
    for (size_t i = 0; i < model->n_blocks; i++)
        whole += model->blocks[i].whole;
    unsigned char *bytes = must_have(malloc(whole));
    for (size_t i = 0; i < model->n_blocks; at += model->blocks[i++].whole)
        memcpy(bytes + at, model->blocks[i].memory, model->blocks[i].whole);
    return bytes;
}

static void scramble(const struct random_model *model, char *start, int type, size_t n, uint64_t *data)
{
    if (type < 0) {
        fill_bytes(start, n * random_size_of(model, type), data);
        return;
    }
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < model->types[type].n_fields; k++) {
            const struct field_model *field = &model->types[type].fields[k];
            if (field->role == ROLE_EMBEDDED || field->role == ROLE_DATA)
                scramble(model, start + i * model->types[type].size + field->offset, field->target, field->n, data);
        }
}

void random_graph_scramble(struct random_graph *graph, uint64_t data_seed)
{
    for (size_t i = 0; i < graph->model->n_blocks; i++) {
        struct block *block = &graph->model->blocks[i];
        if (!block->is_string)
            scramble(graph->model, block->start, block->type, block->n, &data_seed);
    }
}
