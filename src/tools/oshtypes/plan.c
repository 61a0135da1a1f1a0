/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: makes descriptors from types and annotations.
 */
#include "tools/oshtypes/plan.h"
#include "tools/oshtypes/util.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_POINTER_ARRAY = 4096 };

static struct osht_descriptor **descriptors;
static size_t n_descriptors, n_done;
static enum osht_unannotated unannotated;

/* The place of a pointer, for messages and for the members that its count may name. */
struct spot {
    struct osht_descriptor *descriptor;
    const struct osht_member *member;
    const char *name; /* of the field */
    size_t offset;
    size_t level; /* 0: the member itself; 1: what it points to; ... */
};

static const char *full_name(const struct spot *spot)
{
    return osht_text("%s.%s", spot->descriptor->name, spot->name);
}

/* The place as annotations write it: with [] for each pointer that is followed. */
static const char *note_name(const struct spot *spot)
{
    const char *name = osht_text("%s.%s", spot->descriptor->name, spot->member->name);
    for (size_t i = 0; i < spot->level; i++)
        name = osht_text("%s[]", name);
    return name;
}

static struct osht_field *add_field(const struct spot *spot, const char *kind, const char *type, size_t n)
{
    struct osht_field *field = &OSHT_APPEND(spot->descriptor->fields, spot->descriptor->n_fields);
    *field = (struct osht_field){spot->name, spot->offset, kind, type, n, NULL};
    return field;
}

/* ---- descriptors ---- */

static struct osht_descriptor *descriptor_named(const char *name)
{
    for (size_t i = 0; i < n_descriptors; i++)
        if (!strcmp(descriptors[i]->name, name))
            return descriptors[i];
    return NULL;
}

static struct osht_descriptor *new_descriptor(const char *name, size_t size, struct osht_type *record)
{
    struct osht_descriptor *descriptor = osht_alloc(sizeof *descriptor);
    *descriptor = (struct osht_descriptor){.name = name, .size = size, .record = record};
    OSHT_APPEND(descriptors, n_descriptors) = descriptor;
    return descriptor;
}

/* The name of the record's descriptor: without the Fortran module, unless another type has that name. A record without
 * a name is named after its place. */
static const char *descriptor_name_of(struct osht_type *record, const char *place)
{
    if (record->described_as)
        return record->described_as;
    const char *name = record->name ? record->name : place;
    if (record->definition && record->definition->is_scoped_by_module && !descriptor_named(record->definition->last))
        name = record->definition->last;
    if (descriptor_named(name))
        osht_error("two types would have the descriptor %s", name);
    osht_model_is_one(record);
    new_descriptor(name, record->size, record);
    return record->described_as = name;
}

/* ---- counts ---- */

/* Every name in a count must be an integer member of what is described. The library checks digits and signs. */
static void check_count(const struct spot *spot, const char *count)
{
    for (const char *at = count; *at;) {
        size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789");
        bool is_name = length && !isdigit((unsigned char)*at), in_union = false;
        if (!length && !strchr("+-* ", *at)) {
            osht_error("%s: count \"%s\" has \"%c\", but may only have members, numbers, +, - and *", full_name(spot),
                       count, *at);
            return;
        }
        struct osht_type *record = spot->descriptor->record;
        struct osht_member *member = is_name && record ? osht_model_member(record, at, length, NULL, &in_union) : NULL;
        if (is_name && (!member || !member->type->is_integer || member->is_bit_field || in_union))
            osht_error("%s: count \"%s\": %.*s %s", full_name(spot), count, (int)length, at,
                       !record                ? "is no member of the pointer that is pointed to"
                       : !member              ? osht_text("is no member of %s", spot->descriptor->name)
                       : member->is_bit_field ? "is a bit-field"
                       : in_union             ? "is in a union"
                                              : "is no integer");
        at += length ? length : 1;
    }
}

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == 0;
}

static void set_count(struct osht_field *field, const struct spot *spot, const char *count)
{
    if (is_number(count)) {
        field->n = strtoull(count, NULL, 10);
        return;
    }
    check_count(spot, count);
    field->count = count;
}

/* ---- what pointers point to ---- */

static void add_pointer(const struct spot *spot, struct osht_type *pointer);
static void add_elements(const struct spot *spot, struct osht_type *type);

/* A descriptor for a type that is not a record: an array, a pointer, bytes. */
static const char *helper(const struct spot *spot, struct osht_type *type)
{
    const struct osht_note *note = osht_note_of(spot->member, spot->level + 1);
    const char *name = osht_model_spelling(type);
    if (type->kind == OSHT_POINTER)
        name = note ? osht_text("%s(%s)", name, note->text) : name;
    if (descriptor_named(name))
        return name;
    struct osht_descriptor *descriptor = new_descriptor(name, type->size, NULL);
    struct spot inside = {descriptor, spot->member, "elements", 0, spot->level + 1};
    if (type->kind == OSHT_POINTER) {
        inside.name = "pointer";
        add_pointer(&inside, type);
    } else if (type->kind == OSHT_ARRAY)
        add_elements(&inside, type);
    return name;
}

/* The name of the type that is pointed to. Prints a message and returns NULL when it cannot be described. */
static const char *target_name(const struct spot *spot, struct osht_type *target, const char *of)
{
    static const char *const numbers[] = {"char",    "int8_t",      "uint8_t",        "int16_t",        "uint16_t",
                                          "int32_t", "uint32_t",    "int64_t",        "uint64_t",       "float",
                                          "double",  "long double", "float _Complex", "double _Complex"};
    for (size_t i = 0; of && i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(of, numbers[i]))
            return of;
    if (of) {
        const struct osht_definition *definition = osht_debug_find(of, osht_text("%s: ", full_name(spot)));
        Dwarf_Die die;
        if (!definition)
            return NULL;
        die = definition->die;
        target = definition->is_typedef ? osht_model_type(&die) : osht_model_record(definition);
    }
    switch (target->kind) {
    case OSHT_NUMBER:
        return target->name;
    case OSHT_RECORD:
        return descriptor_name_of(target, osht_text("*%s", full_name(spot)));
    case OSHT_POINTER:
        return helper(spot, target);
    case OSHT_BYTES:
    case OSHT_ARRAY:
        if (target->size)
            return helper(spot, target);
        break;
    default:
        break;
    }
    osht_error("%s points to %s%s, which cannot be described; annotate it: %s weak | opaque%s", full_name(spot),
               osht_model_spelling(target), target->kind == OSHT_INCOMPLETE ? " (only declared in what was read)" : "",
               note_name(spot), target->kind == OSHT_VOID ? " | count N of TYPE" : "");
    return NULL;
}

static void follow(const struct spot *spot, struct osht_type *pointer, const char *count, const char *of)
{
    const char *type = target_name(spot, pointer->target, of);
    struct osht_field *field = type ? add_field(spot, "POINTER", type, 0) : NULL;
    if (field && count)
        set_count(field, spot, count);
}

static void add_string(const struct spot *spot, struct osht_type *pointer)
{
    if (pointer->target->is_integer)
        add_field(spot, "STRING", pointer->target->name, 0);
    else
        osht_error("%s: a string has elements of an integer type, not %s", full_name(spot),
                   osht_model_spelling(pointer->target));
}

/* Fortran tells what its pointers point to; the length of a string of deferred length is a member of its own. */
static bool add_fortran(const struct spot *spot, struct osht_type *pointer)
{
    struct osht_type *target = pointer->target;
    const char *length = osht_text("_%s_length", spot->name);
    if (pointer->language != OSHT_FORTRAN || target->kind == OSHT_VOID || target->kind == OSHT_INCOMPLETE)
        return false;
    if (target->kind != OSHT_BYTES || target->size) {
        follow(spot, pointer, NULL, NULL);
        return true;
    }
    if (!spot->descriptor->record || !osht_model_member(spot->descriptor->record, length, strlen(length), NULL, NULL))
        return false;
    set_count(add_field(spot, "POINTER", "char", 0), spot, length);
    return true;
}

/* Whether the message was printed already for another element of the same array. */
static bool is_said(const struct spot *spot)
{
    static const struct osht_member *last;
    bool is_again = last == spot->member;
    last = spot->member;
    return is_again;
}

static void add_unannotated(const struct spot *spot, struct osht_type *pointer)
{
    bool to_record = pointer->target->kind == OSHT_RECORD && !pointer->target->is_union;
    if (pointer->target->kind == OSHT_CODE || unannotated == OSHT_TAKE_AS_OPAQUE)
        add_field(spot, "OPAQUE", NULL, 0);
    else if (add_fortran(spot, pointer))
        return;
    else if (unannotated == OSHT_TAKE_AS_WEAK)
        add_field(spot, "WEAK", NULL, 0);
    else if (unannotated == OSHT_TAKE_AS_ONE || (unannotated == OSHT_GUESS && to_record)) {
        if (unannotated == OSHT_GUESS && !is_said(spot))
            osht_warn("%s is taken as a pointer to one %s; to say so, or otherwise: %s one | count N | weak | opaque",
                      full_name(spot), osht_model_spelling(pointer->target), note_name(spot));
        follow(spot, pointer, NULL, NULL);
    } else if (!is_said(spot))
        osht_error("%s is a pointer to %s without an annotation; add one of: %s %s | weak | opaque", full_name(spot),
                   osht_model_spelling(pointer->target), note_name(spot),
                   pointer->target->kind == OSHT_VOID ? "one of TYPE | count N of TYPE"
                   : pointer->target->is_text         ? "one | count N | string"
                                                      : "one | count N");
}

static void add_pointer(const struct spot *spot, struct osht_type *pointer)
{
    const struct osht_note *note = osht_note_of(spot->member, spot->level);
    if (!note) {
        add_unannotated(spot, pointer);
        return;
    }
    switch (note->meaning) {
    case OSHT_ONE:
        follow(spot, pointer, NULL, note->of);
        break;
    case OSHT_COUNT:
        follow(spot, pointer, note->count, note->of);
        break;
    case OSHT_STRING:
        add_string(spot, pointer);
        break;
    case OSHT_WEAK:
        add_field(spot, "WEAK", NULL, 0);
        break;
    case OSHT_OPAQUE:
        add_field(spot, "OPAQUE", NULL, 0);
        break;
    default:
        osht_error("%s is a pointer, not a C descriptor: \"%s\"", full_name(spot), note->text);
    }
}

/* ---- members ---- */

static bool has_pointers(const struct osht_type *type)
{
    if (type->kind == OSHT_ARRAY)
        return type->target && has_pointers(type->target);
    if (type->kind != OSHT_RECORD)
        return type->kind == OSHT_POINTER || type->kind == OSHT_DOPE || type->kind == OSHT_INCOMPLETE;
    for (size_t i = 0; i < type->n_members; i++)
        if (has_pointers(type->members[i].type))
            return true;
    return false;
}

/* It is unknown which member of a union is in use: pointers in it can only be copied, and only if the user says so. */
static void check_union(struct osht_descriptor *descriptor, const struct osht_type *type, const char *name)
{
    for (size_t i = 0; i < type->n_members; i++) {
        const struct osht_member *member = &type->members[i];
        const struct osht_note *note = osht_note_of(member, 0);
        if (!has_pointers(member->type) || (note && note->meaning == OSHT_OPAQUE) || unannotated == OSHT_TAKE_AS_OPAQUE)
            continue;
        if (!member->name && member->type->kind == OSHT_RECORD)
            check_union(descriptor, member->type, name);
        else
            osht_error("%s.%s is a pointer, or has some, in a union: it can only be opaque; annotate it, or the union",
                       name, member->name ? member->name : "?");
    }
}

/* CLASS(...) components: a pointer or descriptor, and a pointer to the table of the dynamic type. */
static bool is_polymorphic(const struct osht_type *type)
{
    return type->language == OSHT_FORTRAN && type->definition &&
           !strncmp(type->definition->last, "__class_", strlen("__class_")) && type->n_members;
}

static void add_dope(const struct spot *spot, struct osht_type *dope)
{
    const struct osht_note *note = osht_note_of(spot->member, 0);
    if (note && (note->meaning == OSHT_WEAK || note->meaning == OSHT_OPAQUE)) {
        add_field(spot, note->meaning == OSHT_WEAK ? "WEAK" : "OPAQUE", NULL, 0);
        return;
    }
    struct osht_type *element = dope->target;
    bool is_deferred = !element || element->kind == OSHT_INCOMPLETE || element->size == 0;
    const char *type = is_deferred ? NULL : target_name(spot, element, NULL);
    if (is_deferred)
        osht_error("%s is an array whose element type gfortran does not tell (strings of deferred length?); annotate "
                   "it: %s opaque",
                   full_name(spot), note_name(spot));
    if (type)
        add_field(spot, "GFORTRAN", type, dope->n);
}

static void add_polymorphic(const struct spot *spot, struct osht_type *type)
{
    const struct osht_note *note = osht_note_of(spot->member, 0);
    struct osht_type *data = type->members[0].type;
    if (note ? note->meaning == OSHT_OPAQUE : unannotated == OSHT_TAKE_AS_OPAQUE)
        return;
    if (!note || note->meaning != OSHT_ONE)
        osht_error("%s is polymorphic; if its dynamic type is always the declared one, annotate it: %s one; else "
                   "opaque",
                   full_name(spot), note_name(spot));
    else if (data->kind == OSHT_DOPE)
        add_dope(spot, data);
    else
        follow(spot, data, NULL, NULL);
}

static void add_record(const struct spot *spot, struct osht_type *type, size_t n)
{
    const struct osht_note *note = osht_note_of(spot->member, spot->level);
    bool is_opaque = note && note->meaning == OSHT_OPAQUE;
    if (is_polymorphic(type))
        add_polymorphic(spot, type);
    else if (note && !is_opaque && note->meaning != OSHT_CFI)
        osht_error("%s is no pointer: \"%s\"", full_name(spot), note->text);
    else if (type->is_union && !is_opaque)
        check_union(spot->descriptor, type, full_name(spot));
    else if (!is_opaque && type->size && n)
        add_field(spot, "VALUE", descriptor_name_of(type, full_name(spot)), n);
}

/* n consecutive elements. If they are pointers, each gets a field. */
static void add_each(const struct spot *spot, struct osht_type *type, size_t n)
{
    if (type->kind == OSHT_POINTER && n > LARGEST_POINTER_ARRAY)
        osht_error("%s: an array of %zu pointers is too long to be described", full_name(spot), n);
    else if (type->kind == OSHT_POINTER)
        for (size_t i = 0; i < n; i++) {
            struct spot element = *spot;
            element.name = n > 1 ? osht_text("%s[%zu]", spot->name, i) : spot->name;
            element.offset += i * type->size;
            add_pointer(&element, type);
        }
    else if (type->kind == OSHT_NUMBER && n)
        add_field(spot, "VALUE", type->name, n);
    else if (type->kind == OSHT_RECORD)
        add_record(spot, type, n);
    else if (type->kind == OSHT_DOPE && n == 1)
        add_dope(spot, type);
    else if (type->kind == OSHT_INCOMPLETE && type->language == OSHT_FORTRAN)
        osht_error("%s: gfortran does not tell what this is (an array of strings of deferred length?); annotate it: %s "
                   "opaque",
                   full_name(spot), note_name(spot));
    else if (type->kind != OSHT_BYTES && n)
        osht_error("%s: %s cannot be described; annotate it: %s opaque", full_name(spot), osht_model_spelling(type),
                   note_name(spot));
}

static void add_elements(const struct spot *spot, struct osht_type *type)
{
    size_t n = 1;
    for (; type->kind == OSHT_ARRAY && type->target; type = type->target)
        n *= type->n;
    add_each(spot, type, n);
}

static bool is_flexible(const struct osht_type *type)
{
    return type->kind == OSHT_ARRAY && type->is_flexible;
}

static void add_cfi(const struct spot *spot, const struct osht_note *note)
{
    const char *type = target_name(spot, spot->member->type, note->of);
    if (!is_number(note->count))
        osht_error("%s: the rank is a number: \"%s\"", full_name(spot), note->text);
    else if (spot->member->type->kind != OSHT_RECORD)
        osht_error("%s is no CFI_CDESC_T: \"%s\"", full_name(spot), note->text);
    else if (type)
        add_field(spot, "CFI", type, strtoull(note->count, NULL, 10));
}

static void add_named_member(struct osht_descriptor *descriptor, const struct osht_member *member, size_t offset)
{
    struct spot spot = {descriptor, member, member->name, offset, 0};
    const struct osht_note *note = osht_note_of(member, 0);
    bool is_opaque = note && note->meaning == OSHT_OPAQUE;
    if (member->is_vtable) {
        osht_warn("%s: objects of %s have virtual functions; the table is not valid in a copy on another PE or a GPU",
                  full_name(&spot), descriptor->name);
        add_field(&spot, "OPAQUE", NULL, 0);
    } else if (is_flexible(member->type)) {
        if (!is_opaque)
            osht_warn("%s has no length in the type: its elements are not copied (no warning if annotated: %s opaque)",
                      full_name(&spot), note_name(&spot));
    } else if (note && note->meaning == OSHT_CFI)
        add_cfi(&spot, note);
    else if (note && !is_opaque && !has_pointers(member->type))
        osht_error("%s is no pointer: \"%s\" in %s", full_name(&spot), note->text, note->where);
    else if (!member->is_bit_field && !(is_opaque && member->type->kind == OSHT_INCOMPLETE))
        add_elements(&spot, member->type);
}

static void add_members(struct osht_descriptor *descriptor, struct osht_type *record, size_t base)
{
    if (record->has_variants)
        osht_error("%s has variants: which members it has, and pointers among them, is known at run time only (an enum "
                   "of Rust); no description can say that",
                   osht_model_spelling(record));
    for (size_t i = 0; i < record->n_members; i++) {
        const struct osht_member *member = &record->members[i];
        if (member->is_virtual_base)
            osht_error("%s has a virtual base class (%s), whose place is only known at run time", descriptor->name,
                       osht_model_spelling(member->type));
        else if (member->name)
            add_named_member(descriptor, member, base + member->offset);
        else if (member->type->kind == OSHT_RECORD && member->type->is_union)
            check_union(descriptor, member->type, descriptor->name);
        else if (member->type->kind == OSHT_RECORD)
            add_members(descriptor, member->type, base + member->offset);
    }
}

void osht_plan_add(const char *name, enum osht_unannotated mode)
{
    const struct osht_definition *definition = osht_debug_find(name, "");
    struct osht_type *record = definition ? osht_model_record(definition) : NULL;
    unannotated = mode;
    if (definition && !record)
        osht_error("%s is no struct, class, union or derived type", name);
    if (!record)
        return;
    if (record->described_as)
        osht_error("%s and %s are the same type", name, record->described_as);
    else if (descriptor_named(name))
        osht_error("two types would have the descriptor %s", name);
    else {
        osht_model_is_one(record);
        new_descriptor(name, record->size, record);
        record->described_as = name;
    }
}

size_t osht_plan_end(const struct osht_descriptor *const **descriptors_p)
{
    for (; n_done < n_descriptors; n_done++) {
        struct osht_descriptor *descriptor = descriptors[n_done];
        if (descriptor->record && descriptor->record->is_union)
            check_union(descriptor, descriptor->record, descriptor->name);
        else if (descriptor->record)
            add_members(descriptor, descriptor->record, 0);
    }
    *descriptors_p = (const struct osht_descriptor *const *)descriptors;
    return n_descriptors;
}
