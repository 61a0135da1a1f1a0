/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The formats of graphs in files: what they share.
 */
#include "formats.h"

#include <stdlib.h>
#include <string.h>

#include "support/util.h"

#define FIRST_ROOM 4096

const struct format *const formats[FORMATS] = {
    [MATRIX_MARKET] = &format_matrix_market,
    [METIS] = &format_metis,
    [EDGES] = &format_edges,
};

bool is_comment(const struct format *format, const struct text *line)
{
    return !text_is_empty(line) && line->at[0] != '\0' && strchr(format->comments, line->at[0]);
}

bool header_line(const struct format *format, struct text *text, struct header *header, struct text *line)
{
    const char *begin = text->at;

    while (text_line(text, line)) {
        header->lines++;
        header->bytes += (uint64_t)(text->at - begin);
        begin = text->at;
        if (!is_comment(format, line) && text_has_word(line))
            return true;
    }
    return false;
}

void harvest_add(struct harvest *harvest, uint64_t a, uint64_t b)
{
    if (harvest->n == harvest->room) {
        harvest->room = harvest->room ? 2 * harvest->room : FIRST_ROOM;
        harvest->edges = realloc(harvest->edges, harvest->room * sizeof(*harvest->edges));
        if (!harvest->edges)
            die("no host memory for %zu edges", harvest->room);
    }
    harvest->edges[harvest->n++] = (struct labelled_edge){a, b};
}
