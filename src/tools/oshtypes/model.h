/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: types, made from the debug information, in one form for all languages.
 */
#ifndef OSHTYPES_MODEL_H
#define OSHTYPES_MODEL_H

#include "tools/oshtypes/debug.h"

#include <stdint.h>

enum osht_kind {
    OSHT_NUMBER,  /* one of the predefined types             */
    OSHT_BYTES,   /* something else without pointers         */
    OSHT_RECORD,  /* struct, class, union, derived type      */
    OSHT_POINTER, /* to target; also references              */
    OSHT_ARRAY,   /* n times target                          */
    OSHT_DOPE,    /* gfortran's descriptor of rank n         */
    OSHT_CODE,    /* function                                */
    OSHT_VOID,
    OSHT_INCOMPLETE /* only declared, or unknown               */
};

struct osht_note;

struct osht_member {
    const char *name; /* NULL (anonymous structs, base classes): its members count as the record's own */
    struct osht_type *type;
    size_t offset; /* of a bit-field in bits */
    bool is_bit_field, is_vtable, is_private, is_virtual_base;
    struct osht_note **notes; /* annotations: [0] of the member, [1] of what it points to, ... */
    size_t n_notes;
};

struct osht_type {
    enum osht_kind kind;
    const char *name; /* of a number: the predefined type; of a record: as in the debug information, or NULL */
    size_t size;
    size_t n;
    bool is_flexible; /* array without a length                     */
    bool is_text;     /* a number or bytes that are characters      */
    bool is_integer;
    bool is_reference; /* a pointer that C++ hides */
    struct osht_type *target;
    /* records */
    const struct osht_definition *definition; /* NULL: has no name */
    enum osht_language language;
    bool is_union;
    bool has_variants; /* which members it has depends on one of them, as in an enum of Rust */
    bool is_c_tag;     /* C needs "struct" in front of the name */
    bool is_private;   /* its members are, unless they differ   */
    struct osht_member *members;
    size_t n_members;
    const char *described_as; /* name of its descriptor */
};

/* The record that a definition stands for, perhaps through typedefs; NULL when it is something else. */
struct osht_type *osht_model_record(const struct osht_definition *definition);
/* The record that this very definition stands for, whatever other definitions of its name say. */
struct osht_type *osht_model_definition(const struct osht_definition *definition);
/* The type of any entry. */
struct osht_type *osht_model_type(Dwarf_Die *die);

/* How a type is written: "double *", "tree[4]". Names are those of the debug information. */
const char *osht_model_spelling(const struct osht_type *type);
/* The size and the members of a record in one line. Equal lines mean equal layouts. */
const char *osht_model_shape(const struct osht_type *record);
/* Whether all definitions of its name have the same shape. If not, prints an error that says where they differ. */
bool osht_model_is_one(const struct osht_type *record);

/* The member with this path ("n", "shape.n"); members without a name are searched, too. NULL when there is none. Adds
 * the member's offset to *offset_p and sets *record_p to the record that has it; both may be NULL. Sets *in_union_p if
 * it is in a union. */
struct osht_member *osht_model_member(struct osht_type *record, const char *path, size_t length, size_t *offset_p,
                                      bool *in_union_p);

#endif
