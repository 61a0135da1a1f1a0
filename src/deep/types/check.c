/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks that descriptions of types are consistent, and compiles them into the links that a walk follows. Every error
 * message names the type, the field and the cause.
 */
#include "deep/types/type_table.h"

#include "base/log.h"
#include "base/text/nearest.h"
#include "deep/types/count.h"
#include "deep/types/dope.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The field that an error message is about. */
struct position {
    const char *routine;
    const struct shmemi_type_entry *entry;
    const struct shmemi_field *field;
};

static int refuse_field(const struct position *position, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse_field(const struct position *position, const char *format, ...)
{
    const char *field = position->field->name ? position->field->name : "without a name";
    char cause[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    shmemi_error("%s: type %s, field %s: %s", position->routine, position->entry->type.name, field, cause);
    return -EINVAL;
}

/* ---- one field --------------------------------------------------------------------------------------------------- */

static int check_name(const struct position *position)
{
    const char *name = position->field->name;
    if (!name || !*name)
        return refuse_field(position, "field %zu needs a name", (size_t)(position->field - position->entry->fields));
    if (strchr(name, '.'))
        return refuse_field(position, "the name of a field must not contain a dot");
    for (const struct shmemi_field *other = position->entry->fields; other < position->field; other++)
        if (!strcmp(other->name, name))
            return refuse_field(position, "there are two fields of this name");
    return 0;
}

static bool is_array_descriptor(int kind)
{
    return kind == SHMEMX_FIELD_CFI || kind == SHMEMX_FIELD_GFORTRAN;
}

/* WEAK and OPAQUE pointers need no type. */
static bool needs_target(int kind)
{
    return kind != SHMEMX_FIELD_WEAK && kind != SHMEMX_FIELD_OPAQUE;
}

/* Whether the field may have several elements. */
static bool has_elements(int kind)
{
    return kind == SHMEMX_FIELD_VALUE || kind == SHMEMX_FIELD_POINTER || is_array_descriptor(kind);
}

static int check_kind(const struct position *position)
{
    const struct shmemi_field *field = position->field;
    if ((unsigned)field->kind > SHMEMX_FIELD_OPAQUE)
        return refuse_field(position, "%d is not a kind of field (SHMEMX_FIELD_*)", field->kind);
    if (needs_target(field->kind) && !field->target)
        return refuse_field(position, "a field of this kind needs a type");
    if (field->count && field->kind != SHMEMX_FIELD_POINTER)
        return refuse_field(position, "only a SHMEMX_FIELD_POINTER has a count");
    if (field->count && field->n > 1)
        return refuse_field(position, "it has both a count, \"%s\", and n, %zu", field->count, field->n);
    if (field->n > 1 && !has_elements(field->kind))
        return refuse_field(position, "n is %zu, but a field of this kind is one pointer", field->n);
    if (field->kind == SHMEMX_FIELD_STRING && !field->target->integer.size)
        return refuse_field(position, "a string consists of integers, and %s is not an integer type", field->type_name);
    if (is_array_descriptor(field->kind) && !shmemi_dope_size(field->kind, field->n))
        return refuse_field(position, "an array cannot have rank %zu", field->n);
    return 0;
}

static int measure(const struct position *position, struct shmemi_field *field)
{
    size_t size = position->entry->type.size;
    field->elements = field->n || is_array_descriptor(field->kind) ? field->n : 1;
    if (is_array_descriptor(field->kind))
        field->nbytes = shmemi_dope_size(field->kind, field->n);
    else if (field->kind != SHMEMX_FIELD_VALUE)
        field->nbytes = sizeof(void *);
    else if (__builtin_mul_overflow(field->elements, field->target->type.size, &field->nbytes))
        return refuse_field(position, "%zu elements of %zu bytes are larger than memory", field->elements,
                            field->target->type.size);
    if (field->offset > size || field->nbytes > size - field->offset)
        return refuse_field(position, "%zu bytes at offset %zu end past the size of the type, %zu", field->nbytes,
                            field->offset, size);
    return 0;
}

static int check_field(const char *routine, const struct shmemi_type_entry *entry, struct shmemi_field *field)
{
    struct position position = {routine, entry, field};
    int rc = check_name(&position);
    if (!rc)
        rc = check_kind(&position);
    return rc ? rc : measure(&position, field);
}

/* ---- fields together --------------------------------------------------------------------------------------------- */

static int by_offset(const void *left, const void *right)
{
    const struct shmemi_field *a = *(const struct shmemi_field *const *)left;
    const struct shmemi_field *b = *(const struct shmemi_field *const *)right;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int check_overlaps(const char *routine, const struct shmemi_type_entry *entry)
{
    const struct shmemi_field **sorted = calloc(entry->n_fields + 1, sizeof *sorted);
    int rc = 0;
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < entry->n_fields; i++)
        sorted[i] = &entry->fields[i];
    qsort(sorted, entry->n_fields, sizeof *sorted, by_offset);
    for (size_t i = 1; !rc && i < entry->n_fields; i++) {
        struct position position = {routine, entry, sorted[i]};
        if (sorted[i - 1]->offset + sorted[i - 1]->nbytes > sorted[i]->offset)
            rc = refuse_field(&position, "it overlaps field %s, which takes bytes %zu to %zu", sorted[i - 1]->name,
                              sorted[i - 1]->offset, sorted[i - 1]->offset + sorted[i - 1]->nbytes - 1);
    }
    free(sorted);
    return rc;
}

static int check_type(const char *routine, struct shmemi_type_entry *entry)
{
    int rc = 0;
    if (!entry->type.size || entry->type.size > PTRDIFF_MAX) {
        shmemi_error("%s: type %s: its size is %zu; allowed: 1 to %zu", routine, entry->type.name, entry->type.size,
                     (size_t)PTRDIFF_MAX);
        return -EINVAL;
    }
    for (size_t i = 0; !rc && i < entry->n_fields; i++)
        rc = check_field(routine, entry, &entry->fields[i]);
    return rc ? rc : check_overlaps(routine, entry);
}

static bool is_complete(const struct shmemi_type_entry *entry)
{
    return entry->is_predefined || entry->type.links;
}

/* Search for a type inside itself, among the new types only, since others have been checked. */
static int check_nesting(const char *routine, struct shmemi_type_entry *entry)
{
    int rc = 0;
    entry->visit = SHMEMI_VISITING;
    for (size_t i = 0; !rc && i < entry->n_fields; i++) {
        struct position position = {routine, entry, &entry->fields[i]};
        struct shmemi_type_entry *inner = entry->fields[i].target;
        if (entry->fields[i].kind != SHMEMX_FIELD_VALUE || is_complete(inner) || inner->visit == SHMEMI_VISITED)
            continue;
        if (inner->visit == SHMEMI_VISITING)
            rc = refuse_field(&position, "type %s would be inside itself", inner->type.name);
        else
            rc = check_nesting(routine, inner);
    }
    entry->visit = SHMEMI_VISITED;
    return rc;
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

/* Buffer for the reason why a name is not a suitable member. The lock of the table protects it. */
static char member_cause[256];

static const struct shmemi_field *find_member(const struct shmemi_type_entry *entry, const char *name, size_t length)
{
    for (size_t i = 0; i < entry->n_fields; i++)
        if (strlen(entry->fields[i].name) == length && !memcmp(entry->fields[i].name, name, length))
            return &entry->fields[i];
    return NULL;
}

static bool no_member(const struct shmemi_type_entry *entry, const char *name, size_t length, const char **cause_p)
{
    char wanted[128];
    snprintf(wanted, sizeof wanted, "%.*s", (int)(length < 120 ? length : 120), name);
    struct shmemi_nearest nearest = {.unknown = wanted};
    for (size_t i = 0; i < entry->n_fields; i++)
        shmemi_nearest_offer(&nearest, entry->fields[i].name);
    const char *near = nearest.name && nearest.distance <= 1 + length / 3 ? nearest.name : NULL;
    snprintf(member_cause, sizeof member_cause, "type %.60s has no member %.60s" SHMEMI_MEANT, entry->type.name, wanted,
             SHMEMI_MEANT_ARGUMENTS(near));
    *cause_p = member_cause;
    return false;
}

static bool is_something_else(const char *what, const char *name, size_t length, const char **cause_p)
{
    snprintf(member_cause, sizeof member_cause, "%.*s is not %s", (int)(length < 120 ? length : 120), name, what);
    *cause_p = member_cause;
    return false;
}

/* A shmemi_member_lookup: "a.b.n" is the member n of the object b in the object a in this one. */
static bool look_up_member(const void *fields, const char *name, size_t length, struct shmemi_integer *member_p,
                           const char **cause_p)
{
    const struct shmemi_type_entry *entry = fields;
    size_t offset = 0;
    for (;;) {
        const char *dot = memchr(name, '.', length);
        size_t first = dot ? (size_t)(dot - name) : length;
        const struct shmemi_field *field = find_member(entry, name, first);
        if (!field)
            return no_member(entry, name, first, cause_p);
        if (field->kind != SHMEMX_FIELD_VALUE || field->elements != 1)
            return is_something_else(dot ? "a single object inside this one" : "a single integer", name, first,
                                     cause_p);
        offset += field->offset;
        entry = field->target;
        if (!dot) {
            *member_p = entry->integer;
            member_p->offset = offset;
            return entry->integer.size || is_something_else("an integer", name, first, cause_p);
        }
        name += first + 1;
        length -= first + 1;
    }
}

/* ---- links ------------------------------------------------------------------------------------------------------- */

static bool is_link(const struct shmemi_field *field)
{
    return field->kind != SHMEMX_FIELD_VALUE || field->target->type.has_links;
}

static int compile_link(const struct position *position, struct shmemi_type_link *link)
{
    const struct shmemi_field *field = position->field;
    const char *cause;
    *link = (struct shmemi_type_link){.kind = field->kind,
                                      .offset = field->offset,
                                      .n = field->elements,
                                      .target = field->target ? &field->target->type : NULL,
                                      .name = field->name};
    if (!field->count)
        return 0;
    link->count = shmemi_count_parse(field->count, look_up_member, position->entry, &cause);
    return link->count ? 0 : refuse_field(position, "its count is \"%s\": %s", field->count, cause);
}

static int link_by_offset(const void *left, const void *right)
{
    const struct shmemi_type_link *a = left, *b = right;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int compile(const char *routine, struct shmemi_type_entry *entry)
{
    struct shmemi_type *type = &entry->type;
    int rc = 0;
    type->links = calloc(entry->n_fields + 1, sizeof *type->links);
    if (!type->links)
        return -ENOMEM;
    for (size_t i = 0; !rc && i < entry->n_fields; i++) {
        struct position position = {routine, entry, &entry->fields[i]};
        if (is_link(&entry->fields[i]))
            rc = compile_link(&position, &type->links[type->n_links++]);
    }
    qsort(type->links, type->n_links, sizeof *type->links, link_by_offset);
    return rc;
}

/* Find out whether objects of a type have pointers, first those inside it. */
static bool find_links(struct shmemi_type_entry *entry)
{
    if (entry->visit == SHMEMI_VISITING || is_complete(entry))
        return entry->type.has_links;
    entry->visit = SHMEMI_VISITING;
    for (size_t i = 0; i < entry->n_fields; i++) {
        const struct shmemi_field *field = &entry->fields[i];
        if (field->kind != SHMEMX_FIELD_VALUE || find_links(field->target))
            entry->type.has_links = true;
    }
    return entry->type.has_links;
}

static void find_alignment_and_links(struct shmemi_type_entry *entry)
{
    size_t lowest_bit = entry->type.size & -entry->type.size;
    entry->type.alignment = lowest_bit < 16 ? lowest_bit : 16;
    find_links(entry);
}

int shmemi_types_check(const struct shmemi_new_types *new_types)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < new_types->n; i++)
        rc = check_type(new_types->routine, new_types->entries[i]);
    for (size_t i = 0; !rc && i < new_types->n; i++)
        if (new_types->entries[i]->visit == SHMEMI_NOT_VISITED)
            rc = check_nesting(new_types->routine, new_types->entries[i]);
    for (size_t i = 0; !rc && i < new_types->n; i++)
        find_alignment_and_links(new_types->entries[i]);
    for (size_t i = 0; !rc && i < new_types->n; i++)
        rc = compile(new_types->routine, new_types->entries[i]);
    return rc;
}
