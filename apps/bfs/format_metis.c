/* SPDX-License-Identifier: BSD-3-Clause
 *
 * METIS, which is also what SHOC's BFS reads: a line with the numbers of vertices and edges, then a line for each
 * vertex with its neighbours. Every edge is listed at both ends; it is read at the lower one.
 */
#include "formats.h"

#include <inttypes.h>
#include <stdio.h>

#include "edges.h"

/* ---- Header ------------------------------------------------------------------------------------------------------ */

/* The third number: three digits, each 0 or 1, for sizes of vertices, weights of vertices and weights of edges. */
static bool read_kinds(struct text *line, struct header *header, char *problem)
{
    uint64_t kinds = 0;
    uint64_t weights = 1;

    if (text_has_word(line) && !text_number(line, "the format", &kinds, problem))
        return false;
    if (kinds > 111 || kinds % 10 > 1 || kinds / 10 % 10 > 1) {
        snprintf(problem, PROBLEM_BYTES, "format %" PRIu64 " is none of 0, 1, 10, 11, 100, 101, 110 and 111", kinds);
        return false;
    }
    if (text_has_word(line) && !text_number(line, "the number of weights", &weights, problem))
        return false;
    if (weights > 1000) {
        snprintf(problem, PROBLEM_BYTES, "%" PRIu64 " weights for each vertex are too many", weights);
        return false;
    }
    header->values = (int)(kinds % 10);
    header->skipped = (int)(kinds / 100 + kinds / 10 % 10 * weights);
    return text_ends(line, problem);
}

static bool read_sizes(struct text line, struct header *header, char *problem)
{
    header->has_extent = true;
    return text_number(&line, "the number of vertices", &header->n_vertices, problem) &&
           text_number(&line, "the number of edges", &header->n_entries, problem) && read_kinds(&line, header, problem);
}

static bool read_header(struct text text, struct header *header, char *problem)
{
    struct text line;

    if (header_line(&format_metis, &text, header, &line))
        return read_sizes(line, header, problem);
    snprintf(problem, PROBLEM_BYTES, "the line with the numbers of vertices and edges is missing");
    return false;
}

/* ---- Recognition ------------------------------------------------------------------------------------------------- */

/* What was seen after the header. */
struct sample {
    uint64_t lines;      /* all but comments                                        */
    uint64_t used_lines; /* without empty ones at the end                           */
    uint64_t words;      /* of every line; 0 if lines differ                        */
    bool in_range;       /* all numbers but weights can be vertices */
};

static bool words_in_range(struct text line, const struct header *header)
{
    char problem[PROBLEM_BYTES];
    uint64_t number;

    while (text_has_word(&line))
        if (!text_number(&line, "", &number, problem) || number < 1 || number > header->n_vertices)
            return false;
    return true;
}

static struct sample take_sample(struct text text, const struct header *header, bool complete)
{
    struct sample sample = {.in_range = true};
    struct text line;

    while (text_line(&text, &line) && sample.in_range) {
        size_t words = text_count_words(line);

        if (!complete && text_is_empty(&text))
            break; /* the line may be incomplete */
        if (is_comment(&format_metis, &line))
            continue;
        if (sample.lines++ == 0)
            sample.words = words;
        else if (words != sample.words)
            sample.words = 0;
        if (words > 0)
            sample.used_lines = sample.lines;
        if (header->values == 0 && header->skipped == 0)
            sample.in_range = words_in_range(line, header);
    }
    return sample;
}

/* Whether the lines are those of METIS. In a list of edges all lines, even the one taken for the header, have the same
 * number of words. If all vertices of a METIS graph have that many neighbours, the header's numbers tell. */
static bool has_rows(const struct sample *sample, const struct header *header, size_t header_words)
{
    uint64_t words =
        2 * header->n_entries * (uint64_t)(1 + header->values) + header->n_vertices * (uint64_t)header->skipped;

    return sample->words != header_words || words == sample->words * header->n_vertices;
}

static bool recognise(struct text text, bool complete)
{
    struct header header = {0};
    char problem[PROBLEM_BYTES];
    struct sample sample;
    struct text rest = text;
    struct text first = {text.at, text.at};
    struct header passed = {0};

    if (!read_header(text, &header, problem) || header.n_vertices == 0)
        return false;
    header_line(&format_metis, &rest, &passed, &first);
    sample = take_sample(rest, &header, complete);
    if (!sample.in_range || sample.used_lines > header.n_vertices)
        return false;
    return complete ? sample.lines >= header.n_vertices : has_rows(&sample, &header, text_count_words(first));
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

static uint64_t hash_of(uint64_t low, uint64_t high)
{
    return mix64(mix64(low) + high);
}

static void take_neighbour(struct harvest *harvest, uint64_t v, uint64_t neighbour)
{
    harvest->entries++;
    if (v < neighbour)
        harvest->at_lower += hash_of(v, neighbour);
    else if (v > neighbour)
        harvest->at_higher += hash_of(neighbour, v);
    if (v <= neighbour)
        harvest_add(harvest, v, neighbour);
}

static bool read_neighbour(const struct header *header, struct text *line, uint64_t v, struct harvest *harvest,
                           char *problem)
{
    uint64_t neighbour, weight;

    if (!text_number(line, "a neighbour", &neighbour, problem))
        return false;
    if (neighbour < 1 || neighbour > header->n_vertices) {
        snprintf(problem, PROBLEM_BYTES, "neighbour %" PRIu64 " of vertex %" PRIu64 " is not from 1 to %" PRIu64,
                 neighbour, v, header->n_vertices);
        return false;
    }
    for (int i = 0; i < header->values; i++)
        if (!text_number(line, "the weight of an edge", &weight, problem))
            return false;
    take_neighbour(harvest, v, neighbour);
    return true;
}

static bool read_line(const struct header *header, struct text line, uint64_t index, struct harvest *harvest,
                      char *problem)
{
    bool has_word = text_has_word(&line);
    uint64_t weight;

    if (index >= header->n_vertices && has_word) {
        snprintf(problem, PROBLEM_BYTES, "there are more lines than the %" PRIu64 " vertices of the header",
                 header->n_vertices);
        return false;
    }
    for (int i = 0; i < header->skipped && has_word; i++)
        if (!text_number(&line, "the weight of a vertex", &weight, problem))
            return false;
    while (text_has_word(&line))
        if (!read_neighbour(header, &line, index + 1, harvest, problem))
            return false;
    return true;
}

static bool check_all(const struct header *header, const struct harvest *all, uint64_t data_lines, char *problem)
{
    if (data_lines < header->n_vertices)
        snprintf(problem, PROBLEM_BYTES, "there are lines for %" PRIu64 " vertices, and its header says %" PRIu64,
                 data_lines, header->n_vertices);
    else if (all->entries != 2 * header->n_entries)
        snprintf(problem, PROBLEM_BYTES, "there are %" PRIu64 " neighbours, and its header says %" PRIu64 " edges",
                 all->entries, header->n_entries);
    else if (all->at_lower != all->at_higher)
        snprintf(problem, PROBLEM_BYTES, "an edge is named at one of its ends only");
    else
        return true;
    return false;
}

const struct format format_metis = {
    .name = "metis",
    .comments = "%",
    .counts_lines = true,
    .recognise = recognise,
    .read_header = read_header,
    .read_line = read_line,
    .check_all = check_all,
};
