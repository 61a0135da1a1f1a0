/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of edges: a line for each, with two vertices, and perhaps a weight and a time.
 */
#include "formats.h"

#include <stdio.h>

#define MAX_VALUES 2

static bool recognise(struct text text, bool complete)
{
    (void)text;
    (void)complete;
    return true; /* this format is tried last */
}

/* Comments are skipped wherever they are. */
static bool read_header(struct text text, struct header *header, char *problem)
{
    (void)text;
    (void)header;
    (void)problem;
    return true;
}

static bool read_line(const struct header *header, struct text line, uint64_t index, struct harvest *harvest,
                      char *problem)
{
    size_t words = text_count_words(line);
    uint64_t a, b;

    (void)header;
    (void)index;
    if (words == 0)
        return true;
    if (!text_number(&line, "a vertex", &a, problem) || !text_number(&line, "the second vertex", &b, problem))
        return false;
    if (!text_values(&line, words > 2 + MAX_VALUES ? MAX_VALUES : (int)words - 2, problem))
        return false;
    harvest->entries++;
    harvest_add(harvest, a, b);
    return true;
}

static bool check_all(const struct header *header, const struct harvest *all, uint64_t data_lines, char *problem)
{
    (void)header;
    (void)data_lines;
    if (all->entries == 0)
        snprintf(problem, PROBLEM_BYTES, "there is no edge in it");
    return all->entries > 0;
}

const struct format format_edges = {
    .name = "edges",
    .comments = "#%",
    .recognise = recognise,
    .read_header = read_header,
    .read_line = read_line,
    .check_all = check_all,
};
