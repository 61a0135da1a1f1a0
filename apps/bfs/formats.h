/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The formats of graphs in files.
 */
#ifndef BFS_FORMATS_H
#define BFS_FORMATS_H

#include "text.h"

/* An edge, its vertices as the file calls them. */
struct labelled_edge {
    uint64_t a, b;
};

/* What one thread has read. */
struct harvest {
    struct labelled_edge *edges;
    size_t n, room;
    uint64_t entries; /* as the header counts them */
    /* For formats that list an edge at both ends: sums over the edges listed at the lower and at the higher end. */
    uint64_t at_lower, at_higher;
};

void harvest_add(struct harvest *harvest, uint64_t a, uint64_t b);

/* What precedes the edges. */
struct header {
    int format;          /* index in formats                                         */
    uint64_t lines;      /* of the header, comments included                         */
    uint64_t bytes;      /* of these lines                                           */
    bool has_extent;     /* the file says how large the graph is                     */
    uint64_t n_vertices; /* labels are 1 to n_vertices                               */
    uint64_t n_entries;  /* lines of edges, or edges                                 */
    int values;          /* numbers behind the two vertices of an edge               */
    int skipped;         /* numbers in front of the neighbours of a vertex           */
};

struct format {
    const char *name;
    const char *comments; /* lines that begin with one of these are left out          */
    bool counts_lines;    /* what a line means depends on how many are in front of it */

    /* Whether the beginning of a file looks like this format; complete: text is the whole file. */
    bool (*recognise)(struct text text, bool complete);
    /* These return false on an error, with the cause in problem. header->lines is the number of the wrong line. */
    bool (*read_header)(struct text text, struct header *header, char *problem);
    /* index: data lines in front of this one */
    bool (*read_line)(const struct header *header, struct text line, uint64_t index, struct harvest *harvest,
                      char *problem);
    /* all: the sums of all PEs' harvests; data_lines: how many there were. */
    bool (*check_all)(const struct header *header, const struct harvest *all, uint64_t data_lines, char *problem);
};

enum { MATRIX_MARKET, METIS, EDGES, FORMATS };
extern const struct format *const formats[FORMATS]; /* in the order in which a file is tried */
extern const struct format format_matrix_market, format_metis, format_edges;

bool is_comment(const struct format *format, const struct text *line);
/* Reads the next line that is neither empty nor a comment, and counts what it passes. */
bool header_line(const struct format *format, struct text *text, struct header *header, struct text *line);

#endif
