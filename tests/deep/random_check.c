/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares a copy with its graph. Both are walked side by side, and each array that is reached gives a pair of places;
 * in the end, pairs that overlap on one side must overlap on the other in the same way.
 */
#include "random_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    uintptr_t original;
    uint64_t copy;
    size_t size;
    int type;
    size_t n;
    const char *bytes; /* of the copy */
};

struct weak {
    uintptr_t original;
    uint64_t copy;
};

struct check {
    const struct random_graph *graph;
    const struct random_copy *copy; /* NULL: only the digest is wanted */
    struct pair *pairs;
    size_t n_pairs, max_pairs;
    struct weak *weaks;
    size_t n_weaks, max_weaks;
    struct seen {
        uintptr_t address;
        int type_plus_1;
    } * seen;
    size_t n_seen, max_seen;
    uint64_t digest;
    /* the current object */
    const char *original_bytes, *copy_bytes;
    size_t done;
    const char *difference;
};

static _Thread_local char difference_text[200];

static void differ(struct check *check, const char *what, const struct type_model *type, const char *field)
{
    if (check->difference)
        return;
    snprintf(difference_text, sizeof difference_text, "%s: %s%s%s", what, type ? type->name : "", field ? "." : "",
             field ? field : "");
    check->difference = difference_text;
}

/* ---- what was seen ---- */

static bool see_in(struct seen *table, size_t max, uintptr_t address, int type)
{
    size_t place = (size_t)((address ^ (uint64_t)type << 56) * 0x9e3779b97f4a7c15u >> 20) % max;
    while (table[place].type_plus_1) {
        if (table[place].address == address && table[place].type_plus_1 == type + 1)
            return true;
        place = (place + 1) % max;
    }
    table[place] = (struct seen){address, type + 1};
    return false;
}

/* Whether this object was seen before; marks it as seen. */
static bool see(struct check *check, uintptr_t address, int type)
{
    if (2 * check->n_seen >= check->max_seen) {
        size_t max = check->max_seen ? 2 * check->max_seen : 256;
        struct seen *larger = must_have(calloc(max, sizeof *larger));
        for (size_t i = 0; i < check->max_seen; i++)
            if (check->seen[i].type_plus_1)
                see_in(larger, max, check->seen[i].address, check->seen[i].type_plus_1 - 1);
        free(check->seen);
        check->seen = larger;
        check->max_seen = max;
    }
    bool known = see_in(check->seen, check->max_seen, address, type);
    check->n_seen += !known;
    return known;
}

static void add_pair(struct check *check, uintptr_t original, uint64_t copy, int type, size_t n,
                     const struct type_model *owner, const char *field)
{
    size_t size = n * random_size_of(check->graph->model, type);
    const char *bytes = NULL;
    if (check->copy) {
        bytes = check->copy->bytes(check->copy, copy, size);
        if (!bytes) {
            differ(check, "leads out of the copy", owner, field);
            return;
        }
    }
    if (check->n_pairs == check->max_pairs) {
        check->max_pairs = check->max_pairs ? 2 * check->max_pairs : 64;
        check->pairs = must_have(realloc(check->pairs, check->max_pairs * sizeof *check->pairs));
    }
    check->pairs[check->n_pairs++] = (struct pair){original, copy, size, type, n, bytes};
}

static void add_weak(struct check *check, uintptr_t original, uint64_t copy)
{
    if (check->n_weaks == check->max_weaks) {
        check->max_weaks = check->max_weaks ? 2 * check->max_weaks : 64;
        check->weaks = must_have(realloc(check->weaks, check->max_weaks * sizeof *check->weaks));
    }
    check->weaks[check->n_weaks++] = (struct weak){original, copy};
}

/* ---- objects ---- */

/* Compare the bytes without pointers, up to here. */
static void check_data(struct check *check, size_t end, const struct type_model *type)
{
    for (size_t i = check->done; i < end; i++)
        check->digest = (check->digest ^ (unsigned char)check->original_bytes[i]) * 0x100000001b3u;
    if (check->copy && memcmp(check->original_bytes + check->done, check->copy_bytes + check->done, end - check->done))
        differ(check, "data are not the same", type, NULL);
    check->done = end;
}

/* Number of elements that a pointer leads to. */
static size_t count_of(const struct random_model *model, const struct type_model *type, const struct field_model *field,
                       const char *object, uintptr_t address)
{
    size_t n = 0, size = random_size_of(model, field->target);
    static const char zeros[8];
    if (field->role == ROLE_POINTER)
        return random_count(model, type, field, object);
    if (field->role == ROLE_DOPE)
        return random_dope_count(field->kind, field->n, object + field->offset);
    while (memcmp((const char *)address + n * size, zeros, size))
        n++;
    return n + 1;
}

static void check_followed(struct check *check, const struct type_model *type, const struct field_model *field,
                           const char *object, uintptr_t original, uint64_t copy)
{
    size_t n = original ? count_of(check->graph->model, type, field, object, original) : 0;
    bool is_null = !n && !(original && field->role == ROLE_DOPE);
    if (check->copy && is_null != !copy)
        differ(check, copy ? "is not null" : "is null", type, field->name);
    else if (n)
        add_pair(check, original, copy, field->target, n, type, field->name);
}

/* The object at `at` in the current one. */
static void check_object(struct check *check, const struct type_model *type, size_t at)
{
    for (int i = 0; i < type->n_fields; i++) {
        const struct field_model *field = &type->fields[i];
        const struct type_model *types = check->graph->model->types;
        const struct type_model *inner = field->role == ROLE_EMBEDDED ? &types[field->target] : NULL;
        for (size_t k = 0; inner && k < field->n; k++)
            check_object(check, inner, at + field->offset + k * inner->size);
        if (field->role == ROLE_DATA || field->role == ROLE_COUNT || inner)
            continue;
        size_t slot = at + field->offset;
        uintptr_t original;
        uint64_t copy = 0;
        check_data(check, slot, type);
        memcpy(&original, check->original_bytes + slot, sizeof original);
        if (check->copy)
            memcpy(&copy, check->copy_bytes + slot, sizeof copy);
        check->done = slot + sizeof original;
        if (field->role == ROLE_WEAK)
            add_weak(check, original, copy);
        else if (field->role != ROLE_OPAQUE)
            check_followed(check, type, field, check->original_bytes + at, original, copy);
        else if (check->copy && copy != original)
            differ(check, "was changed", type, field->name);
    }
}

static void check_pair(struct check *check, struct pair pair)
{
    if (pair.type < 0) {
        check->original_bytes = (const char *)pair.original;
        check->copy_bytes = pair.bytes;
        check->done = 0;
        check_data(check, pair.size, NULL);
        return;
    }
    const struct type_model *type = &check->graph->model->types[pair.type];
    for (size_t i = 0; i < pair.n && !check->difference; i++) {
        if (see(check, pair.original + i * type->size, pair.type))
            continue;
        check->original_bytes = (const char *)pair.original + i * type->size;
        check->copy_bytes = check->copy ? pair.bytes + i * type->size : NULL;
        check->done = 0;
        check_object(check, type, 0);
        check_data(check, type->size, type);
    }
}

/* ---- places ---- */

static int by_original(const void *a, const void *b)
{
    uintptr_t x = ((const struct pair *)a)->original, y = ((const struct pair *)b)->original;
    return (x > y) - (x < y);
}

static int by_copy(const void *a, const void *b)
{
    uint64_t x = ((const struct pair *)a)->copy, y = ((const struct pair *)b)->copy;
    return (x > y) - (x < y);
}

/* Joins pairs that overlap; they must be as far from each other here as there. */
static void check_originals(struct check *check)
{
    size_t n = 0;
    qsort(check->pairs, check->n_pairs, sizeof *check->pairs, by_original);
    for (size_t i = 0; i < check->n_pairs; i++) {
        struct pair pair = check->pairs[i], *last = n ? &check->pairs[n - 1] : NULL;
        if (!last || pair.original >= last->original + last->size) {
            check->pairs[n++] = pair;
            continue;
        }
        if (pair.copy - last->copy != pair.original - last->original)
            differ(check, "objects that share memory do not in the copy", NULL, NULL);
        if (pair.original + pair.size > last->original + last->size)
            last->size = pair.original + pair.size - last->original;
    }
    check->n_pairs = n;
}

static void check_weaks(struct check *check)
{
    for (size_t i = 0; i < check->n_weaks; i++) {
        uint64_t expected = 0;
        uintptr_t original = check->weaks[i].original;
        size_t low = 0, high = check->n_pairs;
        while (low < high) { /* the first pair that begins after it */
            size_t middle = (low + high) / 2;
            if (check->pairs[middle].original <= original)
                low = middle + 1;
            else
                high = middle;
        }
        const struct pair *pair = low ? &check->pairs[low - 1] : NULL;
        if (pair && original - pair->original < pair->size)
            expected = pair->copy + (original - pair->original);
        if (check->weaks[i].copy != expected)
            differ(check, expected ? "a weak pointer is wrong" : "a weak pointer is not null", NULL, NULL);
    }
}

static void check_copies(struct check *check)
{
    qsort(check->pairs, check->n_pairs, sizeof *check->pairs, by_copy);
    for (size_t i = 1; i < check->n_pairs; i++)
        if (check->pairs[i].copy < check->pairs[i - 1].copy + check->pairs[i - 1].size)
            differ(check, "objects share memory in the copy only", NULL, NULL);
}

static void walk(struct check *check, uint64_t root)
{
    const struct random_graph *graph = check->graph;
    int type = 0;
    while (graph->root_type != graph->model->types[type].name)
        type++;
    add_pair(check, (uintptr_t)graph->root, root, type, graph->n_elems, NULL, "root");
    for (size_t i = 0; i < check->n_pairs && !check->difference; i++)
        check_pair(check, check->pairs[i]);
}

static void free_check(struct check *check)
{
    free(check->pairs);
    free(check->weaks);
    free(check->seen);
}

static void check_all(struct check *check, uint64_t root)
{
    walk(check, root);
    if (check->copy && !check->difference) {
        check_originals(check);
        check_weaks(check);
        check_copies(check);
    }
    free_check(check);
}

/* ---- what get_deep has written ---- */

/* Whether an object that the root reaches has the byte; the pairs are in order, and do not overlap. */
static bool is_reached(const struct check *check, size_t *pair, const char *byte)
{
    const uintptr_t address = (uintptr_t)byte;
    while (*pair < check->n_pairs && check->pairs[*pair].original + check->pairs[*pair].size <= address)
        ++*pair;
    return *pair < check->n_pairs && check->pairs[*pair].original <= address;
}

static const char *block_differs(const struct check *check, const struct block *block, const unsigned char *reached,
                                 const unsigned char *others)
{
    size_t pair = 0;
    for (size_t i = 0; i < block->whole; i++) {
        const bool is = is_reached(check, &pair, block->memory + i);
        if ((unsigned char)block->memory[i] != (is ? reached : others)[i])
            return is ? "an object has not all bytes of the image" : "a byte outside the objects was changed";
    }
    return NULL;
}

const char *random_graph_differs(const struct random_graph *graph, const unsigned char *reached,
                                 const unsigned char *others)
{
    struct check check = {.graph = graph};
    const char *difference = NULL;
    size_t at = 0;
    walk(&check, 0);
    for (size_t i = 0; i < check.n_pairs; i++) /* as if all lay at the same distance from their copies */
        check.pairs[i].copy = check.pairs[i].original;
    check_originals(&check);
    for (size_t i = 0; i < graph->model->n_blocks && !difference; at += graph->model->blocks[i++].whole)
        difference = block_differs(&check, &graph->model->blocks[i], reached + at, others + at);
    free_check(&check);
    return difference;
}

/* ---- the interface ---- */

const char *random_graph_compare(const struct random_graph *graph, const struct random_copy *copy, uint64_t root)
{
    struct check check = {.graph = graph, .copy = copy};
    check_all(&check, root);
    return check.difference;
}

uint64_t random_graph_digest(const struct random_graph *graph)
{
    struct check check = {.graph = graph, .digest = 0xcbf29ce484222325u};
    check_all(&check, 0);
    return check.digest;
}

static const char *bytes_in_image(const struct random_copy *copy, uint64_t address, size_t nbytes)
{
    uint64_t at = address - copy->base;
    return at >= IMAGE_HEADER && at <= copy->size && nbytes <= copy->size - at ? copy->image + at : NULL;
}

struct random_copy random_copy_in(const void *image, uint64_t base, size_t size)
{
    return (struct random_copy){bytes_in_image, image, base, size};
}

static const char *bytes_here(const struct random_copy *copy, uint64_t address, size_t nbytes)
{
    (void)copy;
    (void)nbytes;
    return (const char *)(uintptr_t)address;
}

struct random_copy random_copy_here(void)
{
    return (struct random_copy){.bytes = bytes_here};
}
