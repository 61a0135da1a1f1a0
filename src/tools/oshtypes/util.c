/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: messages, and memory that lives as long as the program.
 */
#define _GNU_SOURCE
#include "tools/oshtypes/util.h"

#include "base/text/escape.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All memory ever allocated, in a list, so that it stays reachable for leak checkers. */
struct allocation {
    struct allocation *next;
    max_align_t bytes[];
};
static struct allocation *blocks;
static int errors;

void *osht_alloc(size_t size)
{
    struct allocation *block = calloc(1, sizeof *block + size);
    if (!block) {
        fprintf(stderr, "oshtypes: out of memory\n");
        exit(1);
    }
    block->next = blocks;
    blocks = block;
    return block->bytes;
}

char *osht_text(const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = osht_alloc(length < 0 ? 1 : (size_t)length + 1);
    vsnprintf(text, length < 0 ? 1 : (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

/* The array grows when n is a power of two. */
void *osht_room(void *array, size_t n, size_t element_size)
{
    if (n & (n - 1))
        return array;
    void *larger = osht_alloc((n ? 2 * n : 1) * element_size);
    if (n)
        memcpy(larger, array, n * element_size);
    return larger;
}

/* Names in files may have any characters. */
static void write_line(const char *kind, const char *format, va_list arguments)
{
    char *line = NULL;
    int length = vasprintf(&line, format, arguments);
    if (length < 0)
        exit(1);
    shmemi_escape_line(line, (size_t)length);
    fprintf(stderr, "oshtypes: %s%s\n", kind, line);
    free(line);
}

void osht_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line("", format, arguments);
    va_end(arguments);
    errors++;
}

void osht_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line("warning: ", format, arguments);
    va_end(arguments);
}

void osht_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_line("", format, arguments);
    va_end(arguments);
    exit(1);
}

int osht_errors(void)
{
    return errors;
}

const char *osht_did_you_mean(const struct shmemi_nearest *nearest)
{
    bool is_near = nearest->name && nearest->distance <= (strlen(nearest->unknown) + 2) / 3;
    return is_near ? osht_text("; did you mean %s?", nearest->name) : "";
}

/* The hash FNV-1a. */
uint64_t osht_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return hash;
}
