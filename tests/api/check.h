/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the test programs share. A failure prints one line with the PE and ends the job; success prints "ok".
 */
#ifndef CHECK_H
#define CHECK_H

#include <shmem.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_SKIP = 77, CHECK_GUARD = 64 };

/* Print one line about the failure and end the job with status 1. */
__attribute__((format(printf, 3, 4), noreturn, unused)) static void check_fail(const char *file, int line,
                                                                               const char *format, ...)
{
    int initialized;
    char text[1024];
    va_list args;
    shmem_query_initialized(&initialized);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "PE %d: %s:%d: %s\n", initialized ? shmem_my_pe() : -1, file, line, text);
    shmem_global_exit(1);
    abort();
}

#define FAIL(...) check_fail(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(_condition)                                                                                              \
    do {                                                                                                               \
        if (!(_condition))                                                                                             \
            FAIL("%s", #_condition);                                                                                   \
    } while (0)

/* The same with a text: routine, type, size, expected and found. */
#define CHECK_THAT(_condition, ...)                                                                                    \
    do {                                                                                                               \
        if (!(_condition))                                                                                             \
            FAIL(__VA_ARGS__);                                                                                         \
    } while (0)

/* Byte number `position` of the pattern of `seed`. */
static inline unsigned char check_pattern(size_t position, unsigned seed)
{
    return (unsigned char)(position + (position >> 8) * 7 + (position >> 16) * 13 + seed * 31 + 1);
}

/* 256 bytes of the pattern count up, so they are a part of this array. The C library copies and compares them, which
 * takes little time. */
#define CHECK_4(n) (n), (n) + 1, (n) + 2, (n) + 3
#define CHECK_16(n) CHECK_4(n), CHECK_4((n) + 4), CHECK_4((n) + 8), CHECK_4((n) + 12)
#define CHECK_64(n) CHECK_16(n), CHECK_16((n) + 16), CHECK_16((n) + 32), CHECK_16((n) + 48)
#define CHECK_256 CHECK_64(0), CHECK_64(64), CHECK_64(128), CHECK_64(192)
static const unsigned char check_ramp[512] = {CHECK_256, CHECK_256};

/* The pattern from a multiple of 256 on. */
static inline const unsigned char *check_row(size_t position, unsigned seed)
{
    return &check_ramp[check_pattern(position, seed)];
}

static inline size_t check_row_bytes(size_t position, size_t nbytes)
{
    return nbytes - position < 256 ? nbytes - position : 256;
}

static inline void check_fill(void *memory, size_t nbytes, unsigned seed)
{
    for (size_t at = 0; at < nbytes; at += 256)
        memcpy((char *)memory + at, check_row(at, seed), check_row_bytes(at, nbytes));
}

/* Check that memory holds the pattern of seed. A failure names the routine and the first byte that differs. */
static inline void check_bytes(const char *routine, const void *memory, size_t nbytes, unsigned seed)
{
    const unsigned char *bytes = (const unsigned char *)memory;
    size_t i = 0;
    while (i < nbytes && !memcmp(bytes + i, check_row(i, seed), check_row_bytes(i, nbytes)))
        i += 256;
    for (; i < nbytes; i++)
        CHECK_THAT(bytes[i] == check_pattern(i, seed), "%s of %zu bytes: byte %zu is %#x, expected %#x", routine,
                   nbytes, i, bytes[i], check_pattern(i, seed));
}

/* Check nbytes that no PE should have written. */
static inline void check_untouched(const char *routine, const void *memory, size_t nbytes, unsigned char value)
{
    const unsigned char *bytes = (const unsigned char *)memory;
    for (size_t i = 0; i < nbytes; i++)
        CHECK_THAT(bytes[i] == value, "%s: a byte beside the destination (%zu of %zu) is %#x, expected %#x", routine, i,
                   nbytes, bytes[i], value);
}

static inline void *check_malloc(size_t nbytes)
{
    void *memory = malloc(nbytes ? nbytes : 1);
    CHECK_THAT(memory, "malloc of %zu bytes failed", nbytes);
    return memory;
}

static inline void *check_shmem_malloc(size_t nbytes)
{
    void *memory = shmem_malloc(nbytes);
    CHECK_THAT(memory, "shmem_malloc of %zu bytes failed", nbytes);
    return memory;
}

/* In round r, PE p talks to p + r: every PE is the target of exactly one other, itself included. */
static inline int check_target(int round)
{
    return (shmem_my_pe() + round) % shmem_n_pes();
}

static inline int check_origin(int round)
{
    return (shmem_my_pe() - round + shmem_n_pes()) % shmem_n_pes();
}

/* Called by all PEs if nothing has failed. Returns the program's exit status. */
static inline int check_end(void)
{
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        puts("ok");
    fflush(stdout);
    shmem_finalize();
    return 0;
}

#endif
