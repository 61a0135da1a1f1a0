/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Graphs from files: a line for each edge, which begins with the numbers of two vertices. Each PE, and each of its
 * threads, takes the lines that begin in a part of the file of its own, first to count and then to read them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collective.h"
#include "edges.h"
#include "memory.h"
#include "threads.h"

#define PROBLEM_BYTES 400

/* What a thread does with its part of the file. */
struct part {
    size_t n;     /* edges                                                       */
    size_t first; /* where they begin among those of this PE                     */
    uint64_t end; /* one more than its largest vertex                            */
    size_t wrong; /* 0, or which of two numbers is wrong: 1 or 2                 */
    size_t at;    /* offset of the wrong line                                    */
};

struct reading {
    const char *name;
    const char *bytes; /* the file, mapped */
    size_t size;
    struct edge *edges; /* NULL while they are counted */
    struct part *parts; /* one for each thread         */
    char problem[PROBLEM_BYTES];
};

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == ',' || c == '\r';
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

/* The first line that begins at this offset or behind it. */
static const char *line_from(const struct reading *reading, size_t offset)
{
    const char *end = offset > 0 ? memchr(reading->bytes + offset - 1, '\n', reading->size - offset + 1) : NULL;

    if (offset == 0)
        return reading->bytes;
    return end ? end + 1 : reading->bytes + reading->size;
}

/* Reads the number of a vertex, which a blank follows. */
static bool read_vertex(const char **at, const char *end, uint64_t *vertex)
{
    const char *c = skip_blanks(*at, end);
    bool is_number = c < end && *c >= '0' && *c <= '9';

    for (*vertex = 0; c < end && *c >= '0' && *c <= '9' && *vertex < MAX_VERTICES; c++)
        *vertex = 10 * *vertex + (uint64_t)(*c - '0');
    *at = c;
    return is_number && *vertex < MAX_VERTICES && (c == end || is_blank(*c));
}

/* Whatever follows the two vertices, as a weight, is ignored. Returns 0, or which vertex is wrong. */
static size_t read_line(const char *at, const char *end, struct part *part, struct edge *edge)
{
    uint64_t vertex[2];

    for (size_t i = 0; i < 2; i++) {
        if (!read_vertex(&at, end, &vertex[i]))
            return i + 1;
        part->end = vertex[i] >= part->end ? vertex[i] + 1 : part->end;
    }
    *edge = (struct edge){(vertex_t)vertex[0], (vertex_t)vertex[1]};
    return 0;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

/* The lines that begin in the bytes from first to end - 1. */
static void take_lines(const struct reading *reading, struct part *part, size_t first, size_t end)
{
    const char *stop = reading->bytes + end, *file_end = reading->bytes + reading->size, *line_end;
    size_t n = 0;

    for (const char *line = line_from(reading, first); line < stop;
         line = line_end < file_end ? line_end + 1 : file_end) {
        const char *word;

        line_end = memchr(line, '\n', (size_t)(file_end - line));
        line_end = line_end ? line_end : file_end;
        word = skip_blanks(line, line_end);
        if (word == line_end || *word == '#' || *word == '%')
            continue;
        if (reading->edges)
            part->wrong = read_line(word, line_end, part, &reading->edges[part->first + n]);
        part->at = (size_t)(line - reading->bytes);
        if (part->wrong)
            return;
        n++;
    }
    part->n = n;
}

static void take_part(int thread, void *arg)
{
    const struct reading *reading = arg;
    size_t pe = (size_t)shmem_my_pe(), n_pes = (size_t)shmem_n_pes();
    size_t each = reading->size / n_pes, rest = reading->size % n_pes;
    size_t begin = pe * each + (pe < rest ? pe : rest), first, end;

    threads_share(each + (pe < rest), thread, &first, &end);
    take_lines(reading, &reading->parts[thread], begin + first, begin + end);
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

/* An empty file is not mapped, and has size 0. */
static void open_file(struct reading *reading)
{
    int file = open(reading->name, O_RDONLY);
    struct stat status = {.st_size = 0};
    void *bytes = NULL;

    if (file < 0 || fstat(file, &status) != 0)
        snprintf(reading->problem, PROBLEM_BYTES, "%.200s: %s", reading->name, strerror(errno));
    else if (status.st_size > 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED)
        snprintf(reading->problem, PROBLEM_BYTES, "%.200s: %s", reading->name, strerror(errno));
    if (file >= 0)
        close(file);
    reading->bytes = bytes ? bytes : "";
    reading->size = bytes == MAP_FAILED ? 0 : (size_t)status.st_size;
    if (!reading->problem[0] && max_of_pes(reading->size) != reading->size)
        snprintf(reading->problem, PROBLEM_BYTES, "%.200s is not the same on all PEs", reading->name);
    quit_if_any(reading->problem);
}

/* Makes room for the edges that have been counted. Returns their number. */
static size_t make_room(struct reading *reading)
{
    size_t n = 0;

    for (int thread = 0; thread < threads_count(); thread++) {
        reading->parts[thread].first = n;
        n += reading->parts[thread].n;
    }
    memory_refuse_host(reading->name, n * sizeof(*reading->edges));
    reading->edges = host_alloc(n * sizeof(*reading->edges));
    return n;
}

/* Names the first wrong line of the file: PEs and threads have its parts in order. */
static void quit_if_wrong(struct reading *reading)
{
    for (int thread = 0; thread < threads_count() && !reading->problem[0]; thread++) {
        const struct part *part = &reading->parts[thread];
        size_t line = 1;

        if (!part->wrong)
            continue;
        for (size_t i = 0; i < part->at; i++)
            line += reading->bytes[i] == '\n';
        snprintf(reading->problem, PROBLEM_BYTES, "%.200s:%zu: its %s word is no vertex: a whole number below %" PRIu64,
                 reading->name, line, part->wrong == 1 ? "first" : "second", MAX_VERTICES);
    }
    quit_if_any(reading->problem);
}

struct edge_list edges_read(const char *name)
{
    struct reading reading = {.name = name};
    struct edge_list list = {.n_vertices = 0};

    open_file(&reading);
    reading.parts = host_alloc((size_t)threads_count() * sizeof(*reading.parts));
    memset(reading.parts, 0, (size_t)threads_count() * sizeof(*reading.parts));
    threads_run(take_part, &reading);
    list.n = make_room(&reading);
    list.n_all = sum_of_pes(list.n);
    if (list.n_all == 0)
        quit_all("%s: there is no edge in it", name);
    threads_run(take_part, &reading);
    quit_if_wrong(&reading);
    for (int thread = 0; thread < threads_count(); thread++)
        if (reading.parts[thread].end > list.n_vertices)
            list.n_vertices = reading.parts[thread].end;
    list.n_vertices = max_of_pes(list.n_vertices);
    list.edges = reading.edges;
    free(reading.parts);
    munmap((void *)reading.bytes, reading.size);
    return list;
}
