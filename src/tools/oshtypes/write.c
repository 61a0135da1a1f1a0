/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: writes the C file.
 */
#include "tools/oshtypes/plan.h"
#include "tools/oshtypes/util.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Whether the character at text, which stands after another one, means itself in a literal that may be in a comment. */
static bool is_plain(char before, const char *text)
{
    const bool is_trigraph = *text == '?' && before == '?';
    const bool is_comment = (*text == '/' && before == '*') || (*text == '*' && before == '/');
    return *text >= ' ' && *text < 0x7f && *text != '"' && *text != '\\' && !is_trigraph && !is_comment;
}

/* The text as a string literal; names in files may have any characters. Three digits end an octal number. */
static const char *literal(const char *text)
{
    if (!text)
        return "NULL";
    char *quoted = osht_alloc(4 * strlen(text) + 3), *end = quoted;
    *end++ = '"';
    for (char before = 0; *text; before = *text++)
        end += sprintf(end, is_plain(before, text) ? "%c" : "\\%03o", (unsigned char)*text);
    *end = '"';
    return quoted;
}

/* Whether the name can stand in C or C++ as it is, and does not bring more than a name. */
static bool is_code(const char *name)
{
    static const char others[] = "_$:<>,*&()[]-.~ ";
    while (isalnum((unsigned char)*name) || (unsigned char)*name >= 0x80 || (*name && strchr(others, *name)))
        name++;
    return !*name;
}

static void write_fields(FILE *file, const struct osht_descriptor *descriptor, size_t at)
{
    if (!descriptor->n_fields)
        return;
    fprintf(file, "/* %s */\nstatic const shmemx_field_t fields_%zu[] = {\n", literal(descriptor->name), at);
    for (size_t i = 0; i < descriptor->n_fields; i++) {
        const struct osht_field *field = &descriptor->fields[i];
        fprintf(file, "    {%s, %zu, SHMEMX_FIELD_%s, ", literal(field->name), field->offset, field->kind);
        fprintf(file, "%s, %zu, %s},\n", literal(field->type), field->n, literal(field->count));
    }
    fputs("};\n\n", file);
}

static void write_types(FILE *file, size_t n, const struct osht_descriptor *const *descriptors)
{
    for (size_t i = 0; i < n; i++)
        write_fields(file, descriptors[i], i);
    fputs("static const shmemx_type_desc_t types[] = {\n", file);
    for (size_t i = 0; i < n; i++) {
        fprintf(file, "    {%s, %zu, %zu, ", literal(descriptors[i]->name), descriptors[i]->size,
                descriptors[i]->n_fields);
        fprintf(file, descriptors[i]->n_fields ? "fields_%zu},\n" : "NULL},\n", i);
    }
    fputs("};\n\n", file);
}

/* ---- checks for a file that is out of date ---- */

static bool can_be_named(const struct osht_type *record)
{
    return record && record->name && !record->definition->is_private && record->language != OSHT_FORTRAN &&
           !strstr(record->name, "(anonymous)") && is_code(record->name);
}

static void write_member_checks(FILE *file, const struct osht_type *record, const char *name,
                                const struct osht_type *members_of, size_t base)
{
    for (size_t i = 0; i < members_of->n_members; i++) {
        const struct osht_member *member = &members_of->members[i];
        if (member->is_private)
            continue;
        if (!member->name && member->type->kind == OSHT_RECORD && !member->is_virtual_base)
            write_member_checks(file, record, name, member->type, base + member->offset);
        if (!member->name || member->is_vtable || member->is_bit_field || member->type->is_flexible ||
            member->type->is_reference || !member->type->size || !is_code(member->name))
            continue;
        fprintf(file, "CHECK_MEMBER(%s, %s, %zu, %zu);\n", name, member->name, base + member->offset,
                member->type->size);
    }
}

static void write_header_checks(FILE *file, size_t n, const struct osht_descriptor *const *descriptors)
{
    fputs("#ifdef __cplusplus\n#define _Static_assert static_assert\n"
          "#pragma GCC diagnostic ignored \"-Winvalid-offsetof\"\n#endif\n"
          "#define CHECK_SIZE(type, size) \\\n"
          "    _Static_assert(sizeof(type) == (size), #type \" has changed: run oshtypes\")\n"
          "#define CHECK_MEMBER(type, member, offset, size) \\\n"
          "    _Static_assert(offsetof(type, member) == (offset) && sizeof(((type *)0)->member) == (size), \\\n"
          "                   #type \".\" #member \" has changed: run oshtypes\")\n\n",
          file);
    for (size_t i = 0; i < n; i++) {
        const struct osht_type *record = descriptors[i]->record;
        if (!can_be_named(record))
            continue;
        const char *name =
            record->is_c_tag ? osht_text("%s %s", record->is_union ? "union" : "struct", record->name) : record->name;
        bool is_template = strchr(name, '<');
        if (is_template) {
            fprintf(file, "typedef %s checked_type_%zu;\n", name, i);
            name = osht_text("checked_type_%zu", i);
        }
        fprintf(file, "CHECK_SIZE(%s, %zu);\n", name, record->size);
        write_member_checks(file, record, name, record, 0);
    }
    fputs("\n", file);
}

/* Whether the mark belongs to one of the types that are described. */
static bool concerns(const struct shmemi_mark *mark, size_t n, const struct osht_descriptor *const *descriptors)
{
    const struct osht_definition *definition = osht_debug_find(mark->type, NULL);
    const struct osht_type *record = definition ? osht_model_record(definition) : NULL;
    for (size_t i = 0; record && i < n; i++)
        if (descriptors[i]->record == record)
            return true;
    return false;
}

static size_t write_marks(FILE *file, size_t n, const struct osht_descriptor *const *descriptors)
{
    const struct shmemi_mark *marks;
    size_t n_marks = osht_marks(&marks), n_written = 0;
    const char *lines = "";
    for (size_t i = 0; i < n_marks; i++) {
        if (!concerns(&marks[i], n, descriptors))
            continue;
        fprintf(file, "static const size_t places_%zu[] = {", n_written);
        for (uint32_t j = 0; j < marks[i].n; j++) {
            struct shmemi_mark_place place = shmemi_mark_place_at(&marks[i], j);
            fprintf(file, "%s%" PRIu64 ", %" PRIu64, j ? ", " : "", place.offset, place.size);
        }
        fputs("};\n", file);
        lines = osht_text("%s    {%s, %s, %s, %" PRIu64 ", %u, places_%zu},\n", lines, literal(marks[i].type),
                          literal(marks[i].members), literal(marks[i].meaning), marks[i].size, marks[i].n, n_written);
        n_written++;
    }
    if (n_written)
        fprintf(file,
                "\nstatic const shmemx_mark_t marks[] = {\n%s};\n\n"
                "/* What the program that runs has. */\n"
                "extern const char __start_shmemx_marks[] __attribute__((weak, visibility(\"hidden\")));\n"
                "extern const char __stop_shmemx_marks[] __attribute__((weak, visibility(\"hidden\")));\n\n",
                lines);
    return n_written;
}

/* Write the name and layout of each type, for oshtypes --check. */
static void write_stamps(FILE *file, size_t n, const struct osht_descriptor *const *descriptors)
{
    for (size_t i = 0; i < n; i++)
        if (descriptors[i]->record && descriptors[i]->record->name)
            fprintf(file, "SHMEMX_STAMP_(%zu, %s, 0x%016" PRIx64 "u)\n", i, literal(descriptors[i]->record->name),
                    osht_hash(osht_model_shape(descriptors[i]->record)));
    fputs("\n", file);
}

void osht_write(FILE *file, const struct osht_output *output, size_t n,
                const struct osht_descriptor *const *descriptors)
{
    fprintf(file,
            "/* Written by oshtypes from %s. Do not edit.\n *\n * int %s_register(void) makes these types "
            "known. It returns 0, or prints why it failed and returns a negative errno value.\n */\n"
            "#include <stddef.h>\n#include "
            "<stdint.h>\n#include <shmemx.h>\n#include <shmemx_annotate.h>\n",
            literal(output->source), output->name);
    for (size_t i = 0; i < output->n_headers; i++)
        fprintf(file, "#include %s%s%s\n", *output->headers[i] == '<' ? "" : "\"", output->headers[i],
                *output->headers[i] == '<' ? "" : "\"");
    fputs("\n", file);
    if (output->n_headers)
        write_header_checks(file, n, descriptors);
    write_types(file, n, descriptors);
    write_stamps(file, n, descriptors);
    bool has_marks = write_marks(file, n, descriptors) > 0;
    if (!has_marks && !output->n_headers)
        osht_warn("nothing in the program will tell when %s is out of date: give the header that has the types (-i), "
                  "put SHMEMX_LAYOUT beside them, or run oshtypes --check after linking",
                  output->path ? output->path : "the C file");
    fprintf(file, "#ifdef __cplusplus\nextern \"C\"\n#endif\nint %s_register(void);\nint %s_register(void)\n{\n",
            output->name, output->name);
    fprintf(file, "    return shmemx_types_register(sizeof types / sizeof *types, types, %s);\n}\n",
            has_marks ? "sizeof marks / sizeof *marks, marks,\n                                 __start_shmemx_marks, "
                        "(size_t)(__stop_shmemx_marks - __start_shmemx_marks)"
                      : "0, NULL, NULL, 0");
}
