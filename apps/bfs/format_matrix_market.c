/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Matrix Market: a banner, comments, the size, and a line for each entry. An entry joins its row and its column.
 */
#include "formats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BANNER "%%MatrixMarket"

static bool recognise(struct text text, bool complete)
{
    (void)complete;
    return text_begins(&text, BANNER);
}

static bool is_word(const struct text *word, const char *expected)
{
    return (size_t)(word->end - word->at) == strlen(expected) && text_begins(word, expected);
}

/* Sets *values to how many numbers follow row and column. */
static bool read_field(const struct text *word, int *values)
{
    if (is_word(word, "pattern"))
        *values = 0;
    else if (is_word(word, "real") || is_word(word, "integer") || is_word(word, "double"))
        *values = 1;
    else if (is_word(word, "complex"))
        *values = 2;
    else
        return false;
    return true;
}

static bool read_banner(struct text line, struct header *header, char *problem)
{
    struct text banner = text_word(&line);
    struct text object = text_word(&line);
    struct text layout = text_word(&line);
    struct text field = text_word(&line);
    struct text symmetry = text_word(&line);
    const char *wrong = NULL;

    if (!is_word(&banner, BANNER) || !is_word(&object, "matrix"))
        wrong = "this is no '" BANNER " matrix'";
    else if (!is_word(&layout, "coordinate"))
        wrong = "only matrices in coordinates can be read, no arrays";
    else if (!read_field(&field, &header->values))
        wrong = "the entries are not pattern, real, integer or complex";
    else if (!is_word(&symmetry, "general") && !is_word(&symmetry, "symmetric") &&
             !is_word(&symmetry, "skew-symmetric") && !is_word(&symmetry, "hermitian"))
        wrong = "the matrix is not general, symmetric, skew-symmetric or hermitian";
    if (wrong)
        snprintf(problem, PROBLEM_BYTES, "%s", wrong);
    return !wrong;
}

static bool read_size(struct text line, struct header *header, char *problem)
{
    uint64_t columns;

    if (!text_number(&line, "the number of rows", &header->n_vertices, problem) ||
        !text_number(&line, "the number of columns", &columns, problem) ||
        !text_number(&line, "the number of entries", &header->n_entries, problem) || !text_ends(&line, problem))
        return false;
    header->has_extent = true;
    if (columns == header->n_vertices)
        return true;
    snprintf(problem, PROBLEM_BYTES, "a matrix of %" PRIu64 " rows and %" PRIu64 " columns is no graph",
             header->n_vertices, columns);
    return false;
}

static bool read_header(struct text text, struct header *header, char *problem)
{
    struct text line = {text.at, text.at};

    header->lines = 1;
    text_line(&text, &line);
    header->bytes = (uint64_t)(line.end - line.at) + 1;
    if (!read_banner(line, header, problem))
        return false;
    if (header_line(&format_matrix_market, &text, header, &line))
        return read_size(line, header, problem);
    snprintf(problem, PROBLEM_BYTES, "the line with the size is missing");
    return false;
}

static bool read_vertex(const struct header *header, struct text *line, const char *what, uint64_t *v, char *problem)
{
    if (!text_number(line, what, v, problem))
        return false;
    if (*v >= 1 && *v <= header->n_vertices)
        return true;
    snprintf(problem, PROBLEM_BYTES, "%s %" PRIu64 " is not from 1 to %" PRIu64, what, *v, header->n_vertices);
    return false;
}

static bool read_line(const struct header *header, struct text line, uint64_t index, struct harvest *harvest,
                      char *problem)
{
    uint64_t row, column;

    (void)index;
    if (!text_has_word(&line))
        return true;
    if (!read_vertex(header, &line, "row", &row, problem) || !read_vertex(header, &line, "column", &column, problem) ||
        !text_values(&line, header->values, problem))
        return false;
    harvest->entries++;
    harvest_add(harvest, row, column);
    return true;
}

static bool check_all(const struct header *header, const struct harvest *all, uint64_t data_lines, char *problem)
{
    (void)data_lines;
    if (all->entries == header->n_entries)
        return true;
    snprintf(problem, PROBLEM_BYTES, "there are %" PRIu64 " entries, and its header says %" PRIu64, all->entries,
             header->n_entries);
    return false;
}

const struct format format_matrix_market = {
    .name = "matrix-market",
    .comments = "%",
    .recognise = recognise,
    .read_header = read_header,
    .read_line = read_line,
    .check_all = check_all,
};
