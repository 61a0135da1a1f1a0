/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Graphs from files: PE 0 finds out which format a file has, and reads its header; then each PE reads its blocks of lines,
 * in as many threads as it has.
 */
#include "read.h"

#include <inttypes.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "collective.h"
#include "threads.h"

#define SAMPLE_BYTES ((size_t)1 << 20)
#define QUIT_BYTES 400

/* No edge takes fewer bytes of text ("1 2" and the end of the line; METIS has two numbers for each), so this many bytes
 * of memory are enough for a byte of text. */
#define BYTES_PER_BYTE (sizeof(struct labelled_edge) / 4 * 2)

/* What a thread does with its part of a block. */
struct part {
    struct text text;
    uint64_t lines, data_lines;
    uint64_t first_line, first_data_line; /* in the file */
    struct harvest harvest;
    uint64_t wrong_line; /* 0: none */
    char problem[PROBLEM_BYTES];
};

struct reading {
    const struct options *opt;
    const struct block_source *source;
    const struct format *format;
    struct header header;
    uint64_t lines, data_lines; /* of all earlier blocks, the header included in lines */
    struct part *parts;         /* one for each thread */
};

/* ---- What the file is -------------------------------------------------------------------------------------------- */

/* What PE 0 tells the others. */
struct introduction {
    bool packed;
    struct header header;
    char problem[QUIT_BYTES];
};

static int find_format(const char *name, struct text text, bool complete)
{
    int format = 0;

    while (format < FORMATS && strcmp(formats[format]->name, name) != 0)
        format++;
    if (format < FORMATS)
        return format;
    for (format = 0; !formats[format]->recognise(text, complete); format++)
        continue;
    return format;
}

static void introduce(const struct options *opt, char *bytes, struct introduction *intro)
{
    char problem[PROBLEM_BYTES] = "";
    long n = blocks_plain.sample(opt->file, bytes, SAMPLE_BYTES, problem);
    struct text text;

    intro->packed = n > 0 && blocks_gzip.recognise((const unsigned char *)bytes, (size_t)n);
    if (intro->packed)
        n = blocks_gzip.sample(opt->file, bytes, SAMPLE_BYTES, problem);
    if (n < 0) {
        snprintf(intro->problem, sizeof(intro->problem), "%.200s: %s", opt->file, problem);
        return;
    }
    text = (struct text){bytes, bytes + n};
    intro->header.format = find_format(opt->format, text, (size_t)n < SAMPLE_BYTES);
    if (!formats[intro->header.format]->read_header(text, &intro->header, problem))
        snprintf(intro->problem, sizeof(intro->problem), "%.200s:%" PRIu64 ": %s (read as %s)", opt->file,
                 intro->header.lines, problem, formats[intro->header.format]->name);
}

static void look_at_file(struct reading *reading)
{
    struct introduction intro = {.packed = false};

    if (shmem_my_pe() == 0) {
        char *bytes = host_alloc(SAMPLE_BYTES);

        introduce(reading->opt, bytes, &intro);
        free(bytes);
    }
    broadcast_from(0, &intro, sizeof(intro));
    quit_if_any(intro.problem);
    reading->source = intro.packed ? &blocks_gzip : &blocks_plain;
    reading->header = intro.header;
    reading->format = formats[intro.header.format];
    reading->lines = intro.header.lines;
}

/* ---- A block ----------------------------------------------------------------------------------------------------- */

/* Parts of about the same length, of whole lines. */
static void cut_block(struct reading *reading, struct text block)
{
    size_t n = (size_t)(block.end - block.at);
    const char *at = block.at;

    for (int thread = 0; thread < threads_count(); thread++) {
        const char *end = block.at + n / (size_t)threads_count() * (size_t)(thread + 1);

        if (end < at)
            end = at;
        if (thread == threads_count() - 1)
            end = block.end;
        else if (end > block.at && end[-1] != '\n') {
            const char *found = memchr(end, '\n', (size_t)(block.end - end));

            end = found ? found + 1 : block.end;
        }
        reading->parts[thread].text = (struct text){at, end};
        at = end;
    }
}

static void count_part(int thread, void *arg)
{
    const struct reading *reading = arg;
    struct part *part = &reading->parts[thread];
    struct text rest = part->text;
    struct text line;

    part->lines = part->data_lines = 0;
    while (text_line(&rest, &line)) {
        part->lines++;
        part->data_lines += !is_comment(reading->format, &line);
    }
}

/* Gives every part its line numbers in the file. Blocks of lower PEs come first. */
static void number_lines(struct reading *reading)
{
    uint64_t own[2] = {0, 0};
    uint64_t lines, data_lines;

    for (int thread = 0; thread < threads_count(); thread++) {
        own[0] += reading->parts[thread].lines;
        own[1] += reading->parts[thread].data_lines;
    }
    lines = reading->lines + sum_of_lower_pes(own[0]) + 1;
    data_lines = reading->data_lines + sum_of_lower_pes(own[1]);
    for (int thread = 0; thread < threads_count(); thread++) {
        reading->parts[thread].first_line = lines;
        reading->parts[thread].first_data_line = data_lines;
        lines += reading->parts[thread].lines;
        data_lines += reading->parts[thread].data_lines;
    }
    sum_over_pes(own, 2);
    reading->lines += own[0];
    reading->data_lines += own[1];
}

static void read_part(int thread, void *arg)
{
    const struct reading *reading = arg;
    struct part *part = &reading->parts[thread];
    struct text rest = part->text;
    struct text line;
    uint64_t line_number = part->first_line;
    uint64_t index = part->first_data_line;

    for (; text_line(&rest, &line); line_number++) {
        if (is_comment(reading->format, &line))
            continue;
        if (!reading->format->read_line(&reading->header, line, index++, &part->harvest, part->problem)) {
            part->wrong_line = line_number;
            return;
        }
    }
}

/* Reports the first wrong line of the file; PEs and threads have its parts in order. */
static void quit_if_wrong_line(const struct reading *reading)
{
    char text[QUIT_BYTES] = "";

    for (int thread = 0; thread < threads_count() && !text[0]; thread++) {
        const struct part *part = &reading->parts[thread];

        if (part->wrong_line > 0)
            snprintf(text, sizeof(text), "%.200s:%" PRIu64 ": %s (read as %s)", reading->opt->file, part->wrong_line,
                     part->problem, reading->format->name);
    }
    quit_if_any(text);
}

static void read_block(struct reading *reading, struct text block)
{
    memory_refuse_host(reading->opt->file, (uint64_t)(block.end - block.at) * BYTES_PER_BYTE);
    cut_block(reading, block);
    threads_run(count_part, reading);
    number_lines(reading);
    threads_run(read_part, reading);
    quit_if_wrong_line(reading);
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

/* Combines what this PE's threads have read; the sums are those of all PEs. */
static struct harvest gather(struct reading *reading)
{
    struct harvest all = reading->parts[0].harvest;
    uint64_t sums[3];

    for (int thread = 1; thread < threads_count(); thread++) {
        struct harvest *harvest = &reading->parts[thread].harvest;

        for (size_t i = 0; i < harvest->n; i++)
            harvest_add(&all, harvest->edges[i].a, harvest->edges[i].b);
        all.entries += harvest->entries;
        all.at_lower += harvest->at_lower;
        all.at_higher += harvest->at_higher;
        free(harvest->edges);
    }
    sums[0] = all.entries;
    sums[1] = all.at_lower;
    sums[2] = all.at_higher;
    sum_over_pes(sums, 3);
    all.entries = sums[0];
    all.at_lower = sums[1];
    all.at_higher = sums[2];
    return all;
}

static void check_all(const struct reading *reading, const struct harvest *all)
{
    char problem[PROBLEM_BYTES] = "";
    char text[QUIT_BYTES] = "";

    if (!reading->format->check_all(&reading->header, all, reading->data_lines, problem))
        snprintf(text, sizeof(text), "%.200s: %s (read as %s)", reading->opt->file, problem, reading->format->name);
    quit_if_any(text);
}

/* The header's numbers, if it has any, are checked before anything is read. */
static void refuse_by_header(const struct reading *reading, const struct place *place)
{
    const struct extent extent = {
        .n_vertices = reading->header.n_vertices,
        .n_edges = reading->header.n_entries,
    };

    if (!reading->header.has_extent)
        return;
    if (extent.n_vertices > MAX_VERTICES || extent.n_edges > UINT64_MAX / 64)
        quit_all("%s: %" PRIu64 " vertices and %" PRIu64 " edges are too many", reading->opt->file, extent.n_vertices,
                 extent.n_edges);
    memory_refuse(reading->opt, place, &extent);
}

struct edge_list edges_read(const struct options *opt, const struct place *place)
{
    struct reading reading = {.opt = opt};
    struct harvest all;
    struct text block;
    void *blocks;

    look_at_file(&reading);
    refuse_by_header(&reading, place);
    reading.parts = host_alloc((size_t)threads_count() * sizeof(*reading.parts));
    memset(reading.parts, 0, (size_t)threads_count() * sizeof(*reading.parts));
    blocks = reading.source->open(opt->file, reading.header.bytes);
    while (reading.source->next(blocks, &block))
        read_block(&reading, block);
    reading.source->close(blocks);
    all = gather(&reading);
    free(reading.parts);
    check_all(&reading, &all);
    return labels_to_vertices(opt, all.edges, all.n, reading.header.n_vertices);
}
