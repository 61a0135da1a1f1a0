/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random types for random_graph.h.
 */
#include "random_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE_TYPE = 1500, MEDIUM_TYPE = 400 };

const struct basic_type basic_types[] = {
    {"char", 1, false, true},     {"int8_t", 1, true, true},   {"uint8_t", 1, true, false},  {"int16_t", 2, true, true},
    {"uint16_t", 2, true, false}, {"int", 4, true, true},      {"uint32_t", 4, true, false}, {"long", 8, true, true},
    {"size_t", 8, true, false},   {"double", 8, false, false}, {"float", 4, false, false},
};
const int n_basic_types = sizeof basic_types / sizeof *basic_types;

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void *must_have(void *memory)
{
    if (!memory) {
        fprintf(stderr, "random graph: no memory\n");
        abort();
    }
    return memory;
}

static int below(struct random_model *model, int n)
{
    return (int)(random_next(&model->random) % (uint64_t)n);
}

size_t random_size_of(const struct random_model *model, int type)
{
    return type < 0 ? basic_types[~type].size : model->types[type].size;
}

/* ---- descriptors of Fortran arrays ---- */

/* As in GCC's ISO_Fortran_binding.h, which other compilers do not have. */
struct cfi_descriptor {
    void *address;
    size_t element_size;
    int32_t version;
    int8_t rank, attribute;
    int16_t type;
    struct {
        int64_t lower, extent, stride;
    } dimensions[MAX_RANK];
};

struct gfortran_descriptor {
    void *address;
    size_t offset, element_size;
    int32_t version;
    int8_t rank, type;
    int16_t attribute;
    int64_t span;
    struct {
        int64_t stride, lower, upper;
    } dimensions[MAX_RANK];
};

size_t random_dope_size(int kind, size_t rank)
{
    if (kind == SHMEMX_FIELD_CFI)
        return offsetof(struct cfi_descriptor, dimensions) + rank * 24;
    return rank ? offsetof(struct gfortran_descriptor, dimensions) + rank * 24 : sizeof(void *);
}

size_t random_dope_count(int kind, size_t rank, const char *bytes)
{
    struct cfi_descriptor cfi;
    struct gfortran_descriptor gfortran;
    size_t n = 1;
    if (kind == SHMEMX_FIELD_CFI)
        memcpy(&cfi, bytes, random_dope_size(kind, rank));
    else
        memcpy(&gfortran, bytes, random_dope_size(kind, rank));
    for (size_t i = 0; i < rank; i++) {
        int64_t extent = kind == SHMEMX_FIELD_CFI ? cfi.dimensions[i].extent
                                                  : gfortran.dimensions[i].upper - gfortran.dimensions[i].lower + 1;
        n *= extent > 0 ? (size_t)extent : 0;
    }
    return n;
}

static void write_cfi(size_t rank, char *bytes, const void *address, const size_t *extents, size_t element_size,
                      int64_t lower)
{
    struct cfi_descriptor cfi = {.address = (void *)(uintptr_t)address,
                                 .element_size = element_size,
                                 .version = 1,
                                 .rank = (int8_t)rank,
                                 .attribute = 1};
    int64_t stride = (int64_t)element_size;
    for (size_t i = 0; i < rank; i++) {
        cfi.dimensions[i].lower = lower;
        cfi.dimensions[i].extent = (int64_t)extents[i];
        cfi.dimensions[i].stride = stride;
        stride *= (int64_t)extents[i];
    }
    memcpy(bytes, &cfi, random_dope_size(SHMEMX_FIELD_CFI, rank));
}

static void write_gfortran(size_t rank, char *bytes, const void *address, const size_t *extents, size_t element_size,
                           int64_t lower)
{
    struct gfortran_descriptor gfortran = {.address = (void *)(uintptr_t)address,
                                           .element_size = element_size,
                                           .rank = (int8_t)rank,
                                           .type = 5,
                                           .span = (int64_t)element_size};
    int64_t stride = 1;
    for (size_t i = 0; i < rank; i++) {
        gfortran.dimensions[i].stride = stride;
        gfortran.dimensions[i].lower = lower;
        gfortran.dimensions[i].upper = lower + (int64_t)extents[i] - 1;
        stride *= (int64_t)extents[i];
    }
    memcpy(bytes, &gfortran, random_dope_size(SHMEMX_FIELD_GFORTRAN, rank));
}

void random_dope_write(int kind, size_t rank, char *descriptor, const void *address, const size_t *extents,
                       size_t element_size, uint64_t lower_bound)
{
    (kind == SHMEMX_FIELD_CFI ? write_cfi : write_gfortran)(rank, descriptor, address, extents, element_size,
                                                            (int64_t)lower_bound);
}

/* ---- counts ---- */

static int64_t read_integer(const struct basic_type *type, const char *bytes)
{
    uint64_t value = 0;
    memcpy(&value, bytes, type->size);
    unsigned unused = 64 - 8 * (unsigned)type->size;
    return type->is_signed ? (int64_t)(value << unused) >> unused : (int64_t)value;
}

size_t random_count(const struct random_model *model, const struct type_model *type, const struct field_model *field,
                    const char *object)
{
    if (!field->is_counted)
        return field->n ? field->n : 1;
    int64_t value = field->count.coefficient;
    for (int i = 0; i < field->count.n_factors; i++) {
        const struct field_model *factor = &type->fields[field->count.factors[i].field];
        size_t offset = factor->offset;
        if (field->count.factors[i].inner >= 0) {
            factor = &model->types[factor->target].fields[field->count.factors[i].inner];
            offset += factor->offset;
        }
        value *= read_integer(&basic_types[~factor->target], object + offset);
    }
    value += field->count.constant;
    return value > 0 ? (size_t)value : 0;
}

/* A field that is a count, or has one inside; false when the type has none. */
static bool choose_factor(struct random_model *model, const struct type_model *type, struct count_model *count,
                          char *text)
{
    int start = below(model, type->n_fields), n = count->n_factors;
    for (int i = 0; i < type->n_fields; i++) {
        int number = (start + i) % type->n_fields;
        const struct field_model *field = &type->fields[number];
        if (field->role == ROLE_COUNT) {
            count->factors[n].field = number;
            count->factors[n].inner = -1;
            strcat(text, field->name);
            return true;
        }
        const struct type_model *inner =
            field->role == ROLE_EMBEDDED && field->n == 1 ? &model->types[field->target] : NULL;
        for (int k = 0; inner && k < inner->n_fields; k++)
            if (inner->fields[k].role == ROLE_COUNT) {
                count->factors[n].field = number;
                count->factors[n].inner = k;
                sprintf(text + strlen(text), "%s.%s", field->name, inner->fields[k].name);
                return true;
            }
    }
    return false;
}

static void choose_count(struct random_model *model, const struct type_model *type, struct field_model *field)
{
    struct count_model *count = &field->count;
    *count = (struct count_model){.coefficient = 1};
    field->count_text[0] = '\0';
    if (!below(model, 4)) {
        count->coefficient = 2;
        strcat(field->count_text, "2*");
    }
    if (!choose_factor(model, type, count, field->count_text))
        return;
    count->n_factors = 1;
    strcat(field->count_text, below(model, 3) ? "" : "*");
    if (field->count_text[strlen(field->count_text) - 1] == '*') {
        choose_factor(model, type, count, field->count_text);
        count->n_factors = 2;
    }
    int constant = below(model, 6) - 2;
    if (constant == 1 || constant == -1) {
        count->constant = constant;
        strcat(field->count_text, constant > 0 ? " + 1" : "-1");
    }
    field->is_counted = true;
    field->n = 0;
}

/* ---- fields ---- */

static int random_basic(struct random_model *model)
{
    return ~below(model, n_basic_types);
}

static int random_target(struct random_model *model)
{
    return below(model, 3) ? below(model, model->n_types) : random_basic(model);
}

static void make_plain(struct random_model *model, struct field_model *field, bool is_count)
{
    do
        field->target = random_basic(model);
    while (is_count && !basic_types[~field->target].is_integer);
    field->role = is_count ? ROLE_COUNT : ROLE_DATA;
    field->kind = SHMEMX_FIELD_VALUE;
    field->n = is_count ? 1 : (size_t)(1 + below(model, 12));
    field->alignment = basic_types[~field->target].size;
    field->size = field->n * field->alignment;
}

static void make_embedded(struct random_model *model, struct field_model *field, int type)
{
    do
        field->target = below(model, type);
    while (model->types[field->target].size >= LARGE_TYPE);
    field->role = ROLE_EMBEDDED;
    field->kind = SHMEMX_FIELD_VALUE;
    field->n = model->types[field->target].size > MEDIUM_TYPE ? 1 : (size_t)(1 + below(model, 3));
    field->alignment = model->types[field->target].alignment;
    field->size = field->n * model->types[field->target].size;
}

static void make_string(struct random_model *model, struct field_model *field)
{
    const int elements[] = {0, 0, 0, 2, 3, 6};
    field->role = ROLE_STRING;
    field->kind = SHMEMX_FIELD_STRING;
    field->target = ~elements[below(model, 6)];
}

static void make_dope(struct random_model *model, struct field_model *field)
{
    field->role = ROLE_DOPE;
    field->kind = below(model, 2) ? SHMEMX_FIELD_CFI : SHMEMX_FIELD_GFORTRAN;
    field->target = random_target(model);
    field->n = (size_t)below(model, MAX_RANK + 1);
    field->size = random_dope_size(field->kind, field->n);
}

static void make_pointer(struct random_model *model, struct field_model *field)
{
    field->target = random_target(model);
    field->n = (size_t)below(model, 4);
    field->role = ROLE_POINTER;
    field->kind = SHMEMX_FIELD_POINTER;
}

static void make_field(struct random_model *model, int type, struct field_model *field)
{
    int choice = below(model, 16);
    field->alignment = field->size = sizeof(void *);
    if (choice < 2) {
        make_plain(model, field, true);
    } else if (choice < 4) {
        make_plain(model, field, false);
    } else if (choice < 6 && type > 0 && model->types[type - 1].size < LARGE_TYPE) {
        make_embedded(model, field, type);
    } else if (choice < 7) {
        make_string(model, field);
    } else if (choice < 9) {
        make_dope(model, field);
    } else if (choice < 11) {
        field->role = choice == 9 ? ROLE_WEAK : ROLE_OPAQUE;
        field->kind = choice == 9 ? SHMEMX_FIELD_WEAK : SHMEMX_FIELD_OPAQUE;
        field->target = below(model, 2) ? NO_TARGET : random_target(model);
    } else {
        make_pointer(model, field);
    }
}

static void set_offsets(struct random_model *model, struct type_model *type)
{
    size_t at = 0;
    type->alignment = 1;
    for (int i = 0; i < type->n_fields; i++) {
        struct field_model *field = &type->fields[i];
        at += (size_t)(below(model, 4) ? 0 : below(model, 9));
        at = (at + field->alignment - 1) / field->alignment * field->alignment;
        field->offset = at;
        at += field->size;
        if (field->alignment > type->alignment)
            type->alignment = field->alignment;
    }
    at += (size_t)(below(model, 6) ? 0 : below(model, 200));
    type->size = (at + type->alignment - 1) / type->alignment * type->alignment;
}

static void make_type(struct random_model *model, int number)
{
    struct type_model *type = &model->types[number];
    type->n_fields = 1 + below(model, MAX_FIELDS - 4);
    for (int i = 0; i < type->n_fields; i++) {
        make_field(model, number, &type->fields[i]);
        sprintf(type->fields[i].name, "f%d", i);
    }
    for (int i = 0; i < type->n_fields; i++)
        if (type->fields[i].role == ROLE_POINTER && below(model, 2))
            choose_count(model, type, &type->fields[i]);
    set_offsets(model, type);
}

/* ---- texts ---- */

static void make_text(struct random_model *model, const struct field_model *field, shmemx_field_t *text)
{
    const char *target = field->target == NO_TARGET ? NULL
                         : field->target < 0        ? basic_types[~field->target].name
                                                    : model->types[field->target].name;
    *text = (shmemx_field_t){field->name,
                             field->offset,
                             field->kind,
                             target,
                             field->is_counted ? 0 : field->n,
                             field->is_counted ? field->count_text : NULL};
}

void random_types_make(struct random_model *model, uint64_t seed)
{
    model->n_types = 1 + below(model, MAX_TYPES);
    for (int i = 0; i < model->n_types; i++)
        sprintf(model->types[i].name, "random%llu.%d", (unsigned long long)seed, i);
    for (int i = 0; i < model->n_types; i++)
        make_type(model, i);
    for (int i = 0; i < model->n_types; i++) {
        struct type_model *type = &model->types[i];
        for (int k = 0; k < type->n_fields; k++)
            make_text(model, &type->fields[k], &model->texts[i][k]);
        model->type_texts[i] = (shmemx_type_desc_t){type->name, type->size, (size_t)type->n_fields, model->texts[i]};
    }
}
