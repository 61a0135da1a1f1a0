/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: types as the debug information says, of all languages alike.
 */
#ifndef OSHTYPES_MODEL_H
#define OSHTYPES_MODEL_H

#include "tools/oshtypes/debug.h"

#include <stdint.h>

enum osht_kind {
    OSHT_NUMBER,  /* one of the predefined types             */
    OSHT_BYTES,   /* another thing without pointers          */
    OSHT_RECORD,  /* struct, class, union, derived type      */
    OSHT_POINTER, /* to target; also references              */
    OSHT_ARRAY,   /* n times target                          */
    OSHT_DOPE,    /* gfortran's descriptor of rank n         */
    OSHT_CODE,    /* function                                */
    OSHT_VOID,
    OSHT_INCOMPLETE /* declared only, or not known             */
};

struct osht_note;

struct osht_member {
    const char *name; /* NULL: its members count as those of the record (anonymous structs, base classes) */
    struct osht_type *type;
    size_t offset; /* of a bit-field in bits */
    bool is_bit_field, is_vtable, is_private, is_virtual_base;
    struct osht_note **notes; /* what is annotated: [0] the member, [1] what it points to ... */
    size_t n_notes;
};

struct osht_type {
    enum osht_kind kind;
    const char *name; /* of numbers that of the predefined type; of records as in the debug information, or NULL */
    size_t size;
    size_t n;
    bool is_flexible; /* array without a length                     */
    bool is_text;     /* number or bytes: characters                */
    bool is_integer;
    bool is_reference; /* a pointer that C++ does not let see */
    struct osht_type *target;
    /* records */
    const struct osht_definition *definition; /* NULL: has no name */
    enum osht_language language;
    bool is_union;
    bool is_c_tag;   /* C needs "struct" in front of the name */
    bool is_private; /* members are, unless they say so       */
    struct osht_member *members;
    size_t n_members;
    const char *described_as; /* name of its descriptor */
};

/* The record that a definition stands for, through typedefs; NULL when it is something else. */
struct osht_type *osht_model_record(const struct osht_definition *definition);
/* The same for just this definition, whatever others of the name say. */
struct osht_type *osht_model_definition(const struct osht_definition *definition);
/* The type, whatever it is. */
struct osht_type *osht_model_type(Dwarf_Die *die);

/* How a type is written: "double *", "tree[4]". Names are those of the debug information. */
const char *osht_model_spelling(const struct osht_type *type);
/* Size and members of a record in one line: the same for the same layout. */
const char *osht_model_shape(const struct osht_type *record);
/* Whether all definitions of its name have the same shape; an error line says where it differs. */
bool osht_model_is_one(const struct osht_type *record);

/* The member with this path ("n", "shape.n"), through members without a name; NULL when there is none. *offset_p grows
 * by its offset, and *record_p is what it is a member of; both may be NULL. *in_union_p is set if it is in a union. */
struct osht_member *osht_model_member(struct osht_type *record, const char *path, size_t length, size_t *offset_p,
                                      bool *in_union_p);

#endif
