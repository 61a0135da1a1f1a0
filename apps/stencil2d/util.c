/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clock, messages, symmetric memory.
 */
#include <shmem.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stencil2d.h"

double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void die(const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fprintf(stderr, "stencil2d: PE %d: %s\n", shmem_my_pe(), text);
    shmem_global_exit(EXIT_FAILURE);
    _Exit(EXIT_FAILURE);
}

void quit_all(const char *format, ...)
{
    va_list args;

    if (shmem_my_pe() == 0) {
        fputs("stencil2d: ", stderr);
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fputc('\n', stderr);
    }
    shmem_finalize();
    exit(EXIT_FAILURE);
}

void *symmetric_alloc(size_t bytes)
{
    void *p = shmem_malloc(bytes);

    if (!p)
        die("no %zu bytes left in the symmetric heap: set SHMEM_SYMMETRIC_SIZE higher", bytes);
    return p;
}

void progress_line(double *last, const char *what, long done, long total)
{
    if (shmem_my_pe() != 0 || now() - *last < 2)
        return;
    *last = now();
    fprintf(stderr, "%s: iteration %ld of %ld\n", what, done, total);
}
