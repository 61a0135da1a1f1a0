/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: the spelling of types, the comparison of definitions with the same name, and members by path.
 */
#include "tools/oshtypes/model.h"
#include "tools/oshtypes/util.h"

#include <string.h>

const char *osht_model_spelling(const struct osht_type *type)
{
    if (!type)
        return "void";
    switch (type->kind) {
    case OSHT_NUMBER:
        return type->name;
    case OSHT_BYTES:
        return osht_text("%s(%zu)", type->is_text ? "character" : "bytes", type->size);
    case OSHT_RECORD:
        return type->name ? type->name : osht_text("{%s}", osht_model_shape(type));
    case OSHT_POINTER:
        return osht_text("%s *", osht_model_spelling(type->target));
    case OSHT_ARRAY:
        return type->is_flexible ? osht_text("%s[]", osht_model_spelling(type->target))
                                 : osht_text("%s[%zu]", osht_model_spelling(type->target), type->n);
    case OSHT_DOPE:
        return osht_text("%s(rank %zu)", osht_model_spelling(type->target), type->n);
    case OSHT_CODE:
        return "function";
    case OSHT_VOID:
        return "void";
    case OSHT_INCOMPLETE:
        return type->name ? type->name : "unknown";
    }
    return "unknown";
}

const char *osht_model_shape(const struct osht_type *record)
{
    const char *shape = osht_text("%s of %zu bytes", record->is_union ? "union" : "struct", record->size);
    for (size_t i = 0; i < record->n_members; i++) {
        const struct osht_member *member = &record->members[i];
        shape = osht_text("%s; %s %s at %zu%s", shape, osht_model_spelling(member->type),
                          member->name ? member->name : "-", member->offset, member->is_bit_field ? " bits" : "");
    }
    return shape;
}

/* The first part of a shape that differs from another shape. */
static const char *first_difference(const char *shape, const char *other)
{
    size_t at = 0, part = 0;
    for (; shape[at] && shape[at] == other[at]; at++)
        if (shape[at] == ';')
            part = at + 2;
    return osht_text("%.*s", (int)strcspn(shape + part, ";"), shape + part);
}

bool osht_model_is_one(const struct osht_type *record)
{
    if (!record->definition)
        return true;
    const char *shape = osht_model_shape(record);
    for (const struct osht_definition *other = osht_debug_named(record->name); other; other = other->next) {
        const struct osht_type *type = osht_model_definition(other);
        if (type == record || type->kind != OSHT_RECORD)
            continue;
        const char *its_shape = osht_model_shape(type);
        if (!strcmp(shape, its_shape))
            continue;
        osht_error("type %s is not the same everywhere: %s has \"%s\", %s has \"%s\"; choose with --unit, or compile "
                   "all files again",
                   record->name, record->definition->unit, first_difference(shape, its_shape), other->unit,
                   first_difference(its_shape, shape));
        return false;
    }
    return true;
}

static struct osht_member *member_named(struct osht_type *record, const char *name, size_t length, size_t *offset_p,
                                        bool *in_union_p)
{
    for (size_t i = 0; i < record->n_members; i++) {
        struct osht_member *member = &record->members[i], *inside;
        size_t offset = *offset_p + member->offset;
        bool in_union = record->is_union;
        if (member->name && strlen(member->name) == length && !memcmp(member->name, name, length)) {
            *offset_p = offset;
            *in_union_p |= in_union;
            return member;
        }
        if (!member->name && member->type->kind == OSHT_RECORD &&
            (inside = member_named(member->type, name, length, &offset, &in_union))) {
            *offset_p = offset;
            *in_union_p |= in_union;
            return inside;
        }
    }
    return NULL;
}

struct osht_member *osht_model_member(struct osht_type *record, const char *path, size_t length, size_t *offset_p,
                                      bool *in_union_p)
{
    size_t offset = 0;
    bool in_union = false;
    for (;;) {
        const char *dot = memchr(path, '.', length);
        size_t part = dot ? (size_t)(dot - path) : length;
        struct osht_member *member = member_named(record, path, part, &offset, &in_union);
        if (member && !dot) {
            if (offset_p)
                *offset_p += offset;
            if (in_union_p)
                *in_union_p |= in_union;
            return member;
        }
        if (!member || member->type->kind != OSHT_RECORD)
            return NULL;
        record = member->type;
        path += part + 1;
        length -= part + 1;
    }
}
