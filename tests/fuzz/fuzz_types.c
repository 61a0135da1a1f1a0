/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types, counts and array descriptors from arbitrary bytes. Accepted types must be consistent, the same in another
 * order of creation, and a walk through hostile memory must not leave it.
 */
#include "fuzz.h"

#include "base/log.h"
#include "deep/types/count.h"
#include "deep/types/dope.h"
#include "deep/graph.h"
#include "deep/image.h"
#include "deep/types/type.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

enum { MOST_TYPES = 5, MOST_FIELDS = 6, MOST_TEXT = 24, MOST_MEMORY = 2048, MOST_OBJECT = 1 << 16 };

/* Descriptions of types, and room for their texts. */
struct made_up {
    size_t n;
    shmemx_type_desc_t types[MOST_TYPES];
    shmemx_field_t fields[MOST_TYPES][MOST_FIELDS];
    char counts[MOST_TYPES][MOST_FIELDS][MOST_TEXT];
    size_t end; /* of the fields of this type so far, and its size */
};

static const char *const type_names[] = {"t0", "t1", "t2", "t3", "t4"};
static const char *const field_names[] = {"a", "b", "c", "d", "e", "f"};
static const char *const targets[] = {"t0",     "t1",    "t2",     "t3",     "t4",       "int",  "char", "double",
                                      "size_t", "short", "int8_t", "void *", "uint64_t", "none", NULL,   "wchar_t"};
static const char *const tokens[] = {"a", "b", "c", "d", "e",   "*",   "+",  "-",
                                     "1", "2", " ", ".", "a.a", "b.a", "0x", "999999999"};
#define N_OF(_array) (sizeof(_array) / sizeof(_array)[0])

static const char *make_count(struct fuzz_input *input, char *text)
{
    size_t length = 0;
    for (size_t n = 1 + fuzz_below(input, 5); n; n--) {
        const char *token = tokens[fuzz_below(input, N_OF(tokens))];
        if (length + strlen(token) < MOST_TEXT)
            length += (size_t)sprintf(text + length, "%s", token);
    }
    return text;
}

/* Bytes that a field takes; of the types of this input, only the earlier ones are known. */
static size_t field_size(const struct made_up *made_up, const shmemx_field_t *field)
{
    const struct shmemi_type *target = field->type ? shmemi_type_find(field->type) : NULL;
    size_t size = target ? target->size : 8;
    for (size_t i = 0; field->type && i < made_up->n; i++)
        if (made_up->types[i].name && !strcmp(field->type, made_up->types[i].name))
            size = made_up->types[i].size;
    if (field->kind == SHMEMX_FIELD_VALUE)
        return size * (field->n ? field->n : 1);
    size_t dope = field->kind >= 0 ? shmemi_dope_size((int)field->kind, field->n) : 0;
    return dope ? dope : 8;
}

static void make_field(struct fuzz_input *input, struct made_up *made_up, size_t number)
{
    shmemx_field_t *field = &made_up->fields[made_up->n][number];
    uint8_t oddities = fuzz_byte(input);
    *field = (shmemx_field_t){.name = field_names[number],
                              .kind = (int)fuzz_below(input, SHMEMX_FIELD_OPAQUE + 1),
                              .type = targets[fuzz_below(input, N_OF(targets))]};
    bool is_descriptor = field->kind == SHMEMX_FIELD_CFI || field->kind == SHMEMX_FIELD_GFORTRAN;
    if (field->kind == SHMEMX_FIELD_VALUE || field->kind == SHMEMX_FIELD_POINTER || is_descriptor)
        field->n = fuzz_below(input, 4);
    if (field->kind == SHMEMX_FIELD_POINTER && oddities & 1)
        field->count = make_count(input, made_up->counts[made_up->n][number]);
    if (field->count)
        field->n = 0;
    field->offset = made_up->end + (oddities >> 1 & 3);
    switch (oddities >> 3) { /* now and then something is wrong */
    case 31:
        field->offset = fuzz_number(input);
        break;
    case 30:
        field->n = fuzz_number(input);
        break;
    case 29:
        field->kind = (int)fuzz_number(input);
        break;
    case 28:
        field->name = fuzz_byte(input) & 1 ? "a" : NULL;
        break;
    default:
        made_up->end = field->offset + field_size(made_up, field);
    }
}

static void make_type(struct fuzz_input *input, struct made_up *made_up)
{
    shmemx_type_desc_t *type = &made_up->types[made_up->n];
    uint8_t oddity = fuzz_byte(input);
    made_up->end = 0;
    *type = (shmemx_type_desc_t){.name = type_names[made_up->n],
                                 .nfields = fuzz_below(input, MOST_FIELDS + 1),
                                 .fields = made_up->fields[made_up->n]};
    for (size_t i = 0; i < type->nfields; i++)
        make_field(input, made_up, i);
    type->size = made_up->end + oddity % 16;
    if (oddity >= 250)
        type->size = fuzz_number(input);
    if (oddity == 249)
        type->name = targets[fuzz_below(input, N_OF(targets))];
    made_up->n++;
}

static void check_link(const struct shmemi_type *type, const struct shmemi_type_link *link, size_t *end_p)
{
    size_t nbytes = sizeof(void *);
    ALWAYS(link->name && (unsigned)link->kind <= SHMEMX_FIELD_OPAQUE);
    ALWAYS(link->target || link->kind == SHMEMX_FIELD_WEAK || link->kind == SHMEMX_FIELD_OPAQUE);
    if (link->kind == SHMEMX_FIELD_VALUE) {
        ALWAYS(link->n && link->n <= type->size / link->target->size && link->target->has_links);
        nbytes = link->n * link->target->size;
    } else if (link->kind == SHMEMX_FIELD_CFI || link->kind == SHMEMX_FIELD_GFORTRAN) {
        nbytes = shmemi_dope_size(link->kind, link->n);
    } else {
        ALWAYS(link->n);
    }
    ALWAYS(link->offset >= *end_p && nbytes <= type->size && link->offset <= type->size - nbytes);
    *end_p = link->offset + nbytes;
    if (link->count && type->size <= MOST_OBJECT) {
        char *object = fuzz_memory(type->size);
        size_t value;
        memset(object, 0x5a, type->size);
        (void)shmemi_count_evaluate(link->count, object, &value);
        free(object);
    }
}

static void check_type(const struct shmemi_type *type)
{
    size_t end = 0;
    ALWAYS(type == shmemi_type_find(type->name) && type->size && type->size % type->alignment == 0);
    ALWAYS(type->has_links == (type->n_links > 0));
    for (size_t i = 0; i < type->n_links; i++)
        check_link(type, &type->links[i], &end);
}

/* The same types made in another order have the same hashes. */
static void check_order(const struct made_up *made_up, const struct shmemi_type *const *types)
{
    uint64_t layouts[MOST_TYPES];
    shmemx_type_desc_t reversed[MOST_TYPES];
    const struct shmemi_type *again[MOST_TYPES];
    for (size_t i = 0; i < made_up->n; i++) {
        layouts[i] = types[i]->layout;
        reversed[made_up->n - 1 - i] = made_up->types[i];
    }
    ALWAYS(!shmemi_types_create("fuzz", made_up->n, reversed, again) && again[0] == types[made_up->n - 1]);
    shmemi_types_close();
    ALWAYS(!shmemi_types_create("fuzz", made_up->n, reversed, again));
    for (size_t i = 0; i < made_up->n; i++)
        ALWAYS(again[made_up->n - 1 - i]->layout == layouts[i]);
}

static void check_selection(struct fuzz_input *input)
{
    char name[16];
    const char *const names[] = {"t0.a", name, NULL};
    struct shmemi_field_set set;
    sprintf(name, "t%zu.%s", fuzz_below(input, MOST_TYPES), field_names[fuzz_below(input, MOST_FIELDS)]);
    if (!shmemi_field_set_open("fuzz", names, &set))
        shmemi_field_set_close(&set);
}

/* Whatever depends on what, after as many rounds as there are types all are destroyed. */
static void check_destruction(const struct made_up *made_up)
{
    for (size_t round = 0; round < made_up->n; round++) {
        for (size_t i = 0; i < made_up->n; i++) {
            const struct shmemi_type *type = shmemi_type_find(made_up->types[i].name);
            ALWAYS(!type || shmemi_type_destroy(type) != -EINVAL);
        }
    }
    for (size_t i = 0; i < made_up->n; i++)
        ALWAYS(!shmemi_type_find(made_up->types[i].name));
}

/* ---- a walk ------------------------------------------------------------------------------------------------------ */

static void write_word(char *memory, size_t size, size_t at, uint64_t word, size_t nbytes)
{
    if (at <= size && nbytes <= size - at)
        memcpy(memory + at, &word, nbytes);
}

/* An array descriptor that is nearly right; both kinds have the bounds at the end. */
static void write_descriptor(struct fuzz_input *input, char *memory, size_t size, size_t at, uintptr_t address)
{
    bool is_cfi = fuzz_byte(input) & 1;
    uint64_t element_size = fuzz_number(input), rank = fuzz_below(input, 4), stride = is_cfi ? element_size : 1;
    write_word(memory, size, at, address, 8);
    write_word(memory, size, at + (is_cfi ? 8 : 16), element_size, 8);
    write_word(memory, size, at + (is_cfi ? 16 : 24), rank << 32, 8);
    write_word(memory, size, at + 32, element_size, is_cfi ? 0 : 8);
    at += is_cfi ? 24 : 40;
    for (; rank; rank--, at += 24) {
        uint64_t extent = fuzz_number(input);
        write_word(memory, size, at, is_cfi ? 1 : stride, 8);
        write_word(memory, size, at + 8, is_cfi ? extent : 1, 8);
        write_word(memory, size, at + 16, is_cfi ? stride : extent, 8);
        stride *= extent;
    }
}

static void fill_memory(struct fuzz_input *input, char *memory, size_t size, uintptr_t base)
{
    memset(memory, 0, size);
    for (size_t n = fuzz_below(input, 64); n; n--) {
        size_t at = SHMEMX_DEEP_HEADER + fuzz_below(input, MOST_MEMORY);
        uint8_t what = fuzz_byte(input);
        if (what < 160)
            write_word(memory, size, at & ~(size_t)7, base + SHMEMX_DEEP_HEADER + fuzz_below(input, MOST_MEMORY), 8);
        else if (what < 200)
            write_word(memory, size, at, fuzz_number(input), 8);
        else if (what < 240)
            write_word(memory, size, at, fuzz_number(input), 1);
        else
            write_descriptor(input, memory, size, at & ~(size_t)7, base + SHMEMX_DEEP_HEADER + fuzz_below(input, size));
    }
}

static void check_graph(const struct shmemi_graph *graph, uintptr_t base, size_t size)
{
    size_t end = SHMEMX_DEEP_HEADER;
    for (size_t i = 0; i < graph->n_extents; i++) {
        const struct shmemi_extent *extent = &graph->extents[i];
        ALWAYS(extent->address - base < size && extent->size <= size - (extent->address - base));
        ALWAYS(extent->at >= end);
        end = extent->at + extent->size;
    }
    ALWAYS(end <= graph->size);
    for (size_t i = 0; i < graph->n_links; i++) {
        const struct shmemi_graph_link *link = &graph->links[i];
        ALWAYS(link->at + sizeof(void *) <= graph->size && (!i || link->at > graph->links[i - 1].at));
        ALWAYS(link->to <= graph->size || link->to == SHMEMI_LINK_NULL || link->to == SHMEMI_LINK_OPAQUE);
        ALWAYS(shmemi_graph_extent_at(graph, link->at));
    }
}

static void walk(struct fuzz_input *input, const struct shmemi_type *type)
{
    size_t size = SHMEMX_DEEP_HEADER + fuzz_below(input, MOST_MEMORY);
    uintptr_t base = (uintptr_t)4096 * fuzz_byte(input);
    char *memory = fuzz_memory(size);
    struct shmemi_graph graph;
    struct shmemi_walk_options options = {
        .routine = "fuzz", .space = {memory, base, size}, .header = SHMEMX_DEEP_HEADER};
    fill_memory(input, memory, size, base);
    if (!shmemi_graph_open(&graph, &options, base + SHMEMX_DEEP_HEADER, type, 1 + fuzz_below(input, 3))) {
        check_graph(&graph, base, size);
        shmemi_graph_close(&graph);
    }
    free(memory);
}

static void fuzz_types(struct fuzz_input *input)
{
    struct made_up made_up = {0};
    const struct shmemi_type *types[MOST_TYPES];
    for (size_t n = 1 + fuzz_below(input, MOST_TYPES); made_up.n < n;)
        make_type(input, &made_up);
    if (!shmemi_types_create("fuzz", made_up.n, made_up.types, types)) {
        for (size_t i = 0; i < made_up.n; i++)
            check_type(types[i]);
        walk(input, types[fuzz_below(input, made_up.n)]);
        check_order(&made_up, types);
        check_selection(input);
        check_destruction(&made_up);
    }
    shmemi_types_close();
}

/* ---- the parts alone --------------------------------------------------------------------------------------------- */

static void fuzz_descriptor(struct fuzz_input *input)
{
    int kind = fuzz_byte(input) & 1 ? SHMEMX_FIELD_CFI : SHMEMX_FIELD_GFORTRAN;
    size_t rank = fuzz_below(input, 16), size = shmemi_dope_size(kind, rank), n = 0;
    const struct shmemi_type *element = shmemi_type_find(fuzz_byte(input) & 1 ? "double" : "char");
    char *descriptor = fuzz_memory(size);
    uintptr_t address;
    const char *cause = NULL;
    memset(descriptor, 0, size);
    write_descriptor(input, descriptor, size, 0, fuzz_word(input));
    for (size_t i = 0; i < input->size && i < size; i++)
        descriptor[i] ^= (char)input->data[i];
    int rc = shmemi_dope_read(kind, rank, element, descriptor, &address, &n, &cause);
    ALWAYS(rc ? cause != NULL : n <= PTRDIFF_MAX / element->size && (address || !n));
    free(descriptor);
}

static bool look_up(const void *fields, const char *name, size_t length, struct shmemi_integer *member_p,
                    const char **cause_p)
{
    *cause_p = "unknown";
    *member_p =
        (struct shmemi_integer){.offset = length, .size = (uint8_t)(1 << (name[0] & 3)), .is_signed = name[0] & 4};
    return length + member_p->size <= *(const size_t *)fields;
}

static void fuzz_count(struct fuzz_input *input)
{
    size_t size = 32, value;
    char *text = fuzz_memory(input->size + 1), *object = fuzz_memory(size);
    const char *cause = NULL;
    memcpy(text, input->data, input->size);
    text[input->size] = '\0';
    memset(object, text[0], size);
    struct shmemi_count_expression *count = shmemi_count_parse(text, look_up, &size, &cause);
    ALWAYS(count || cause);
    if (count) {
        (void)shmemi_count_evaluate(count, object, &value);
        ALWAYS(shmemi_count_hash(count, 1) == shmemi_count_hash(count, 1));
    }
    shmemi_count_free(count);
    free(object);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    shmemi_log_hold(true); /* one line is enough of what is refused */
    switch (fuzz_byte(&input) % 8) {
    case 6:
        fuzz_descriptor(&input);
        break;
    case 7:
        fuzz_count(&input);
        break;
    default:
        fuzz_types(&input);
    }
    return 0;
}
