/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: reads annotations from files and from the marks of shmemx_annotate.h.
 */
#include "tools/oshtypes/plan.h"
#include "tools/oshtypes/util.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[OSHT_MEANINGS] = {"one", "count", "string", "weak", "opaque", "cfi"};

static struct shmemi_mark *marks;
static size_t n_marks;

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* The text without blanks at its ends. */
static const char *trimmed(const char *text, size_t length)
{
    const char *start = skip_blanks(text);
    length -= (size_t)(start - text) < length ? (size_t)(start - text) : length;
    while (length && isspace((unsigned char)start[length - 1]))
        length--;
    return osht_text("%.*s", (int)length, start);
}

/* The meaning that is the first word of a text. *rest_p is the text after it. */
static enum osht_meaning first_word(const char *text, const char **rest_p)
{
    for (int meaning = 0; meaning < OSHT_MEANINGS; meaning++) {
        size_t length = strlen(words[meaning]);
        if (strncmp(text, words[meaning], length) || (text[length] && !isspace((unsigned char)text[length])))
            continue;
        *rest_p = skip_blanks(text + length);
        return (enum osht_meaning)meaning;
    }
    return OSHT_MEANINGS;
}

static struct osht_note *parse(const char *text, const char *where)
{
    const char *rest, *of;
    struct osht_note *note = osht_alloc(sizeof *note);
    *note = (struct osht_note){.meaning = first_word(text, &rest), .text = trimmed(text, strlen(text)), .where = where};
    if (note->meaning == OSHT_MEANINGS)
        return osht_error("%s: \"%s\" is none of one, count, string, weak, opaque, cfi", where, text), NULL;
    if ((of = !strncmp(rest, "of ", 3) ? rest : strstr(rest, " of "))) {
        note->of = trimmed(strstr(of, "of ") + 3, strlen(strstr(of, "of ") + 3));
        rest = osht_text("%.*s", (int)(of - rest), rest);
    }
    bool has_number = note->meaning == OSHT_COUNT || note->meaning == OSHT_CFI;
    bool has_type = has_number || note->meaning == OSHT_ONE;
    note->count = trimmed(rest, strlen(rest));
    if (has_number != (*note->count != 0) || (note->of && !has_type) || (note->meaning == OSHT_CFI && !note->of))
        return osht_error("%s: \"%s\" is not of the form \"one [of TYPE]\", \"count EXPRESSION [of TYPE]\", "
                          "\"string\", \"weak\", \"opaque\" or \"cfi RANK of TYPE\"",
                          where, text),
               NULL;
    return note;
}

static void attach(struct osht_member *member, size_t level, struct osht_note *note, const char *name)
{
    while (member->n_notes <= level)
        OSHT_APPEND(member->notes, member->n_notes) = NULL;
    const struct osht_note *old = member->notes[level];
    if (old && strcmp(old->text, note->text))
        osht_error("%s: %s is \"%s\" here, and \"%s\" in %s", note->where, name, note->text, old->text, old->where);
    member->notes[level] = note;
}

static void offer_members(struct shmemi_nearest *nearest, const struct osht_type *record)
{
    for (size_t i = 0; i < record->n_members; i++)
        if (record->members[i].name)
            shmemi_nearest_offer(nearest, record->members[i].name);
        else if (record->members[i].type->kind == OSHT_RECORD)
            offer_members(nearest, record->members[i].type);
}

static const char *similar_member(const struct osht_type *record, const char *name)
{
    struct shmemi_nearest nearest = {.unknown = name};
    offer_members(&nearest, record);
    return osht_did_you_mean(&nearest);
}

/* path: "data", "shape.data", or "names[]" for what the elements of names point to. */
static void annotate(const char *type, const char *path, const char *text, const char *where, bool only_if_there)
{
    const struct osht_definition *definition = osht_debug_find(type, only_if_there ? NULL : osht_text("%s: ", where));
    struct osht_type *record = definition ? osht_model_record(definition) : NULL;
    size_t length = strcspn(path, "["), level = 0;
    if (!record) {
        if (definition && !only_if_there)
            osht_error("%s: %s is no struct", where, type);
        return;
    }
    struct osht_member *member = osht_model_member(record, path, length, NULL, NULL);
    if (!member) {
        osht_error("%s: %s has no member %.*s%s", where, type, (int)length, path,
                   similar_member(record, osht_text("%.*s", (int)length, path)));
        return;
    }
    for (const char *at = path + length; *at; at += 2, level++)
        if (strncmp(at, "[]", 2)) {
            osht_error("%s: \"%s\" is not understood: []", where, path);
            return;
        }
    struct osht_note *note = parse(text, where);
    if (note)
        attach(member, level, note, osht_text("%s.%s", type, path));
}

/* ---- files ---- */

/* Split "struct tree.data count n": the type ends at the first dot that is followed by members and then a meaning. */
static bool split(char *line, char **path_p, char **text_p)
{
    for (char *dot = strchr(line, '.'); dot; dot = strchr(dot + 1, '.')) {
        size_t length = strcspn(dot + 1, " \t");
        const char *rest;
        char *text = dot + 1 + length;
        text += strspn(text, " \t");
        if (!length || first_word(text, &rest) == OSHT_MEANINGS)
            continue;
        *dot = dot[1 + length] = 0;
        *path_p = dot + 1;
        *text_p = text;
        return true;
    }
    return false;
}

void osht_notes_read(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL, *member, *text;
    size_t capacity = 0;
    if (!file)
        osht_fail("%s: %m", path);
    for (int number = 1; getline(&line, &capacity, file) >= 0; number++) {
        const char *where = osht_text("%s:%d", path, number);
        line[strcspn(line, "#\r\n")] = 0;
        char *copy = (char *)trimmed(line, strlen(line));
        if (!*copy)
            continue;
        if (split(copy, &member, &text))
            annotate(trimmed(copy, strlen(copy)), member, text, where, false);
        else
            osht_error("%s: \"%s\" is not of the form TYPE.MEMBER one | count EXPRESSION | string | weak | opaque | "
                       "cfi RANK of TYPE",
                       where, copy);
    }
    free(line);
    fclose(file);
}

/* ---- marks ---- */

static bool is_known(const struct shmemi_mark *mark)
{
    for (size_t i = 0; i < n_marks; i++)
        if (!strcmp(marks[i].type, mark->type) && !strcmp(marks[i].members, mark->members) &&
            !strcmp(marks[i].meaning, mark->meaning) && marks[i].size == mark->size && marks[i].n == mark->n &&
            !memcmp(marks[i].places, mark->places, mark->n * sizeof(struct shmemi_mark_place)))
            return true;
    return false;
}

void osht_notes_from_marks(void)
{
    const char *bytes;
    size_t size;
    struct shmemi_mark mark;
    for (size_t i = 0; osht_debug_section(SHMEMI_MARKS_SECTION, i, &bytes, &size); i++)
        for (size_t at = 0; shmemi_marks_next(bytes, size, &at, &mark);)
            if (!is_known(&mark))
                OSHT_APPEND(marks, n_marks) = mark;
    for (size_t i = 0; i < n_marks; i++)
        if (strcmp(marks[i].meaning, "layout"))
            annotate(marks[i].type, marks[i].members, marks[i].meaning,
                     osht_text("the mark of %s, %s", marks[i].type, marks[i].members), true);
}

size_t osht_marks(const struct shmemi_mark **marks_p)
{
    *marks_p = marks;
    return n_marks;
}

const struct osht_note *osht_note_of(const struct osht_member *member, size_t level)
{
    return level < member->n_notes ? member->notes[level] : NULL;
}
