/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: makes types from the entries of the debug information.
 */
#include "tools/oshtypes/model.h"
#include "tools/oshtypes/util.h"

#include <dwarf.h>
#include <string.h>

/* Descriptors of gfortran: address, offset, type (16 bytes), span; stride, lower and upper bound of each dimension. */
enum { DOPE_HEAD = 40, DOPE_DIMENSION = 24 };

/* Each type is made once. */
static struct osht_type *remember(const Dwarf_Die *die, enum osht_kind kind)
{
    struct osht_type *type = osht_alloc(sizeof *type);
    type->kind = kind;
    type->language = osht_debug_language(die);
    return osht_debug_entry(die)->type = type;
}

static struct osht_type *recall(const Dwarf_Die *die)
{
    return osht_debug_entry(die)->type;
}

/* ---- attributes ---- */

static bool number(Dwarf_Die *die, unsigned name, int64_t *value_p)
{
    Dwarf_Attribute attribute;
    Dwarf_Sword value;
    Dwarf_Word positive;
    if (!dwarf_attr_integrate(die, name, &attribute))
        return false;
    /* forms of 1, 2 and 4 bytes do not tell whether the number is signed; compilers use them for unsigned numbers */
    unsigned form = dwarf_whatform(&attribute);
    bool has_sign = form == DW_FORM_sdata || form == DW_FORM_implicit_const;
    if (has_sign ? dwarf_formsdata(&attribute, &value) : dwarf_formudata(&attribute, &positive))
        return false;
    *value_p = has_sign ? value : (int64_t)positive;
    return true;
}

static bool type_entry(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, DW_AT_type, &attribute) && dwarf_formref_die(&attribute, type);
}

static size_t byte_size(Dwarf_Die *die)
{
    int64_t size;
    return number(die, DW_AT_byte_size, &size) && size > 0 ? (size_t)size : 0;
}

/* Set *offset_p to the offset of a member. False when it is computed at run time. */
static bool location(Dwarf_Die *die, size_t *offset_p)
{
    Dwarf_Attribute attribute;
    Dwarf_Op *operations;
    size_t n;
    int64_t value;
    *offset_p = 0;
    if (!dwarf_attr_integrate(die, DW_AT_data_member_location, &attribute))
        return true;
    if (number(die, DW_AT_data_member_location, &value))
        return *offset_p = (size_t)value, true;
    if (dwarf_getlocation(&attribute, &operations, &n) || n != 1 || operations[0].atom != DW_OP_plus_uconst)
        return false;
    *offset_p = operations[0].number;
    return true;
}

/* The first bit of a bit-field. DWARF 5 counts from the start of the object, DWARF 4 from the high end of a storage
 * unit. */
static size_t first_bit(Dwarf_Die *die, size_t byte)
{
    int64_t bit, bits;
    if (number(die, DW_AT_data_bit_offset, &bit))
        return (size_t)bit;
    bool is_old = number(die, DW_AT_bit_offset, &bit) && number(die, DW_AT_bit_size, &bits);
    return is_old ? 8 * (byte + byte_size(die)) - (size_t)(bit + bits) : 8 * byte;
}

/* ---- numbers ---- */

static void set_integer(struct osht_type *type, bool is_signed)
{
    static const char *const names[2][4] = {{"uint8_t", "uint16_t", "uint32_t", "uint64_t"},
                                            {"int8_t", "int16_t", "int32_t", "int64_t"}};
    int log = type->size == 1 ? 0 : type->size == 2 ? 1 : type->size == 4 ? 2 : type->size == 8 ? 3 : -1;
    type->kind = log < 0 ? OSHT_BYTES : OSHT_NUMBER;
    type->is_integer = log >= 0;
    if (log >= 0)
        type->name = names[is_signed][log];
}

static void set_number(struct osht_type *type, int64_t encoding, const char *name)
{
    switch (encoding) {
    case DW_ATE_signed_char:
    case DW_ATE_unsigned_char:
    case DW_ATE_UTF:
        type->is_text = true; /* fall through */
    case DW_ATE_signed:
    case DW_ATE_unsigned:
    case DW_ATE_boolean:
        set_integer(type, encoding == DW_ATE_signed || encoding == DW_ATE_signed_char);
        if (name && !strcmp(name, "char"))
            type->name = name;
        return;
    case DW_ATE_float:
        type->name = type->size == 4 ? "float" : type->size == 8 ? "double" : NULL;
        if (name && !strcmp(name, "long double") && type->size == sizeof(long double))
            type->name = "long double";
        break;
    case DW_ATE_complex_float:
        type->name = type->size == 8 ? "float _Complex" : type->size == 16 ? "double _Complex" : NULL;
        break;
    default:
        break;
    }
    type->kind = type->name ? OSHT_NUMBER : OSHT_BYTES;
}

static struct osht_type *convert_number(Dwarf_Die *die)
{
    struct osht_type *type = remember(die, OSHT_NUMBER);
    int64_t encoding = 0;
    type->size = byte_size(die);
    number(die, DW_AT_encoding, &encoding);
    set_number(type, encoding, dwarf_diename(die));
    return type;
}

static struct osht_type *convert_enumeration(Dwarf_Die *die)
{
    struct osht_type *type = remember(die, OSHT_NUMBER);
    Dwarf_Die underlying;
    int64_t encoding = DW_ATE_unsigned;
    type->size = byte_size(die);
    if (!number(die, DW_AT_encoding, &encoding) && type_entry(die, &underlying))
        number(&underlying, DW_AT_encoding, &encoding);
    set_integer(type, encoding == DW_ATE_signed || encoding == DW_ATE_signed_char);
    return type;
}

/* ---- arrays ---- */

/* Set *n_p to the number of elements in a dimension. False when the type does not tell. */
static bool extent(Dwarf_Die *range, enum osht_language language, size_t *n_p)
{
    int64_t count, lower = language == OSHT_FORTRAN, upper;
    if (!number(range, DW_AT_count, &count)) {
        number(range, DW_AT_lower_bound, &lower);
        if (!number(range, DW_AT_upper_bound, &upper))
            return false;
        count = upper - lower + 1;
    }
    *n_p = count > 0 ? (size_t)count : 0;
    return true;
}

static bool is_of_gfortran(Dwarf_Die *die)
{
    Dwarf_Die unit;
    Dwarf_Attribute attribute;
    const char *producer = dwarf_diecu(die, &unit, NULL, NULL) && dwarf_attr(&unit, DW_AT_producer, &attribute)
                               ? dwarf_formstring(&attribute)
                               : NULL;
    return producer && !strncmp(producer, "GNU Fortran", strlen("GNU Fortran"));
}

/* Allocatable and pointer arrays: the object is a descriptor, and the type tells how to find the elements. */
static void set_dope(struct osht_type *type, Dwarf_Die *die, size_t rank, bool has_rank)
{
    type->kind = has_rank && is_of_gfortran(die) ? OSHT_DOPE : OSHT_INCOMPLETE;
    type->n = rank;
    type->size = DOPE_HEAD + rank * DOPE_DIMENSION;
}

static struct osht_type *convert_array(Dwarf_Die *die)
{
    struct osht_type *type = remember(die, OSHT_ARRAY);
    Dwarf_Die child, element;
    size_t rank = 0, n = 1;
    bool is_dope = dwarf_hasattr(die, DW_AT_data_location), has_rank = true;
    if (dwarf_hasattr(die, DW_AT_GNU_vector)) {
        Dwarf_Word bytes;
        type->kind = OSHT_BYTES;
        type->size = dwarf_aggregate_size(die, &bytes) ? 0 : bytes;
        return type;
    }
    type->target = type_entry(die, &element) ? osht_model_type(&element) : NULL;
    if (dwarf_child(die, &child) == 0)
        do {
            size_t length = 0;
            has_rank &= dwarf_tag(&child) != DW_TAG_generic_subrange;
            if (dwarf_tag(&child) == DW_TAG_subrange_type) {
                type->is_flexible |= !is_dope && !extent(&child, type->language, &length);
                n *= length;
                rank++;
            }
        } while (dwarf_siblingof(&child, &child) == 0);
    type->n = type->is_flexible ? 0 : n;
    type->size = type->target ? type->n * type->target->size : 0;
    if (is_dope)
        set_dope(type, die, rank, has_rank);
    return type;
}

/* ---- records ---- */

static void add_member(struct osht_type *record, Dwarf_Die *die, bool is_base)
{
    Dwarf_Die type;
    int64_t value;
    size_t offset;
    if (!type_entry(die, &type) || dwarf_hasattr(die, DW_AT_external) || dwarf_hasattr(die, DW_AT_declaration))
        return; /* static members */
    bool is_known = location(die, &offset);
    struct osht_member *member = &OSHT_APPEND(record->members, record->n_members);
    *member = (struct osht_member){.name = is_base ? NULL : dwarf_diename(die), .offset = offset};
    member->is_virtual_base = !is_known || (is_base && number(die, DW_AT_virtuality, &value) && value);
    member->is_bit_field = dwarf_hasattr(die, DW_AT_bit_size);
    if (member->is_bit_field)
        member->offset = first_bit(die, offset);
    member->is_vtable = member->name && !strncmp(member->name, "_vptr", strlen("_vptr"));
    member->is_private = number(die, DW_AT_accessibility, &value) ? value != DW_ACCESS_public : record->is_private;
    size_t at = record->n_members - 1; /* making the type may move the array */
    struct osht_type *its_type = osht_model_type(&type);
    record->members[at].type = its_type;
}

static struct osht_type *convert_record(Dwarf_Die *die, const struct osht_definition *definition)
{
    struct osht_type *record = remember(die, OSHT_RECORD);
    Dwarf_Die child;
    record->definition = definition;
    record->name = definition ? definition->name : NULL;
    record->size = byte_size(die);
    record->is_union = dwarf_tag(die) == DW_TAG_union_type;
    record->is_c_tag = record->language == OSHT_C && dwarf_diename(die);
    record->is_private = dwarf_tag(die) == DW_TAG_class_type;
    if (dwarf_child(die, &child) == 0)
        do {
            if (dwarf_tag(&child) == DW_TAG_member || dwarf_tag(&child) == DW_TAG_inheritance)
                add_member(record, &child, dwarf_tag(&child) == DW_TAG_inheritance);
            record->has_variants |= dwarf_tag(&child) == DW_TAG_variant_part;
        } while (dwarf_siblingof(&child, &child) == 0);
    return record;
}

static struct osht_type *incomplete(Dwarf_Die *die, const char *name)
{
    struct osht_type *type = remember(die, OSHT_INCOMPLETE);
    type->name = name;
    return type;
}

/* The record of a name is made from the first of its definitions; the others are only compared with it. */
static struct osht_type *convert_named(Dwarf_Die *die, const char *name)
{
    const struct osht_definition *first = osht_debug_named(name);
    while (first && first->is_typedef)
        first = first->next;
    if (!first)
        return incomplete(die, name);
    Dwarf_Die copy = first->die;
    struct osht_type *type = recall(&copy);
    return type ? type : convert_record(&copy, first);
}

static bool is_nameless_record(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);
    return (tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type) &&
           !dwarf_hasattr(die, DW_AT_declaration) && !osht_debug_entry(die)->name;
}

/* A record without a name takes that of its typedef. Here, too, the first definition stands for all. */
static struct osht_type *convert_typedef(Dwarf_Die *die)
{
    Dwarf_Die target, first_target;
    if (!type_entry(die, &target))
        return remember(die, OSHT_VOID);
    const char *name = osht_debug_entry(die)->name;
    if (!name || !is_nameless_record(&target))
        return osht_model_type(&target);
    for (const struct osht_definition *first = osht_debug_named(name); first; first = first->next) {
        Dwarf_Die copy = first->die;
        if (first->is_typedef && type_entry(&copy, &first_target) && is_nameless_record(&first_target))
            return osht_model_definition(first);
    }
    return osht_model_type(&target);
}

/* ---- any type ---- */

static struct osht_type *convert_pointer(Dwarf_Die *die)
{
    struct osht_type *type = remember(die, OSHT_POINTER);
    Dwarf_Die target;
    type->size = sizeof(void *);
    type->is_reference = dwarf_tag(die) != DW_TAG_pointer_type;
    if (type_entry(die, &target))
        type->target = osht_model_type(&target);
    else {
        type->target = osht_alloc(sizeof *type->target);
        type->target->kind = OSHT_VOID;
    }
    return type;
}

static struct osht_type *convert_bytes(Dwarf_Die *die, enum osht_kind kind)
{
    struct osht_type *type = remember(die, kind);
    type->size = byte_size(die);
    type->is_text = dwarf_tag(die) == DW_TAG_string_type;
    return type;
}

/* A pointer to a data member is an offset, a pointer to a member function two words. */
static struct osht_type *convert_member_pointer(Dwarf_Die *die)
{
    struct osht_type *type = remember(die, OSHT_BYTES);
    Dwarf_Die target;
    bool is_function = type_entry(die, &target) && dwarf_tag(&target) == DW_TAG_subroutine_type;
    type->size = is_function ? 2 * sizeof(void *) : sizeof(void *);
    return type;
}

static struct osht_type *convert_struct(Dwarf_Die *die)
{
    const char *name = osht_debug_entry(die)->name;
    if (name)
        return convert_named(die, name);
    if (dwarf_hasattr(die, DW_AT_declaration))
        return incomplete(die, NULL);
    return convert_record(die, NULL);
}

struct osht_type *osht_model_type(Dwarf_Die *die)
{
    Dwarf_Die target;
    struct osht_type *type = recall(die);
    if (type)
        return type;
    switch (dwarf_tag(die)) {
    case DW_TAG_typedef:
        return convert_typedef(die);
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
        return type_entry(die, &target) ? osht_model_type(&target) : remember(die, OSHT_VOID);
    case DW_TAG_base_type:
        return convert_number(die);
    case DW_TAG_enumeration_type:
        return convert_enumeration(die);
    case DW_TAG_array_type:
        return convert_array(die);
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        return convert_pointer(die);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        return convert_struct(die);
    case DW_TAG_ptr_to_member_type:
        return convert_member_pointer(die);
    case DW_TAG_subroutine_type:
        return convert_bytes(die, OSHT_CODE);
    default:
        return convert_bytes(die, OSHT_BYTES);
    }
}

struct osht_type *osht_model_definition(const struct osht_definition *definition)
{
    Dwarf_Die die = definition->die, target;
    bool names_target = definition->is_typedef && type_entry(&die, &target);
    if (names_target && !is_nameless_record(&target))
        return osht_model_type(&target);
    Dwarf_Die *record = names_target ? &target : &die;
    struct osht_type *type = recall(record);
    return type ? type : convert_record(record, definition);
}

struct osht_type *osht_model_record(const struct osht_definition *definition)
{
    Dwarf_Die die = definition->die;
    struct osht_type *type = definition->is_typedef ? osht_model_type(&die) : convert_named(&die, definition->name);
    return type->kind == OSHT_RECORD ? type : NULL;
}
