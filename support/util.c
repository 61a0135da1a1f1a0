/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clock, messages, memory.
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "util.h"

#include <errno.h>
#include <shmem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef MAPSHMEM_VERSION /* set by the makefile; other makers of these programs need not know it */
#define MAPSHMEM_VERSION "of an unknown version"
#endif

const char *program_name;

double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static const char *name(void)
{
    return program_name ? program_name : program_invocation_short_name;
}

void print_version(void)
{
    printf("%s (MapSHMEM) %s\n", name(), MAPSHMEM_VERSION);
}

void die(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "%s: PE %d: %s\n", name(), job_rank(), text);
    job_abort();
}

void quit_all(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (job_rank() == 0) /* in one call, so that no launcher breaks the line */
        fprintf(stderr, "%s: %s\n", name(), text);
    job_leave();
}

void *host_alloc(size_t bytes)
{
    void *p = malloc(bytes > 0 ? bytes : 1);

    if (!p)
        die("no host memory for %zu bytes", bytes);
    return p;
}

void *symmetric_alloc(size_t bytes)
{
    void *p = shmem_malloc(bytes > 0 ? bytes : 1);

    if (!p)
        die("no %zu bytes left in the symmetric heap: set SHMEM_SYMMETRIC_SIZE higher", bytes);
    return p;
}

void progress_line(double *last, const char *what, long done, long total)
{
    if (job_rank() != 0 || now() - *last < 2)
        return;
    *last = now();
    fprintf(stderr, "%s: %ld of %ld\n", what, done, total);
}
