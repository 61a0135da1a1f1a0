/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files packed by gzip: PE 0 unpacks them and hands a block to each PE in turn.
 */
#define _GNU_SOURCE /* memrchr */
#include <errno.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "blocks.h"
#include "collective.h"
#include "support/util.h"

#define BLOCK_BYTES ((size_t)8 << 20)
#define BUFFER_BYTES (1 << 20) /* of zlib's buffer */

struct packed {
    const char *path;
    gzFile file;      /* NULL on other PEs, and at the end of the file    */
    size_t room;      /* of a block                                       */
    size_t usual;     /* length of a block, when its lines are not longer */
    char *block;      /* symmetric: the block of this PE                  */
    uint64_t *length; /* symmetric: its length                           */
    char *unpacked;   /* on PE 0: text not yet handed out                 */
    size_t n;         /* bytes in unpacked                                */
    char problem[PROBLEM_BYTES];
};

static bool recognise(const unsigned char *bytes, size_t n)
{
    return n >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/* zlib's message without the path that it begins with. */
static const char *zlib_problem(gzFile file)
{
    int code;
    const char *text = gzerror(file, &code);
    const char *colon = strrchr(text, ':');

    return colon && colon[1] == ' ' ? colon + 2 : text;
}

/* Unpacks up to wanted bytes; fewer only at the end of the file. */
static size_t unpack(gzFile file, char *bytes, size_t wanted, char *problem)
{
    size_t n = 0;

    while (n < wanted) {
        size_t left = wanted - n;
        int more = gzread(file, bytes + n, left < BLOCK_BYTES ? (unsigned)left : (unsigned)BLOCK_BYTES);

        if (more < 0)
            snprintf(problem, PROBLEM_BYTES, "%s", zlib_problem(file));
        if (more <= 0)
            break;
        n += (size_t)more;
    }
    return n;
}

static gzFile open_file(const char *path, char *problem)
{
    gzFile file = gzopen(path, "rb");

    if (file)
        gzbuffer(file, BUFFER_BYTES);
    else
        snprintf(problem, PROBLEM_BYTES, "%s", errno ? strerror(errno) : "no host memory");
    return file;
}

/* A file that ends too early is noticed only here. */
static void close_file(gzFile file, char *problem)
{
    int code = gzclose(file);

    if (code != Z_OK && !problem[0])
        snprintf(problem, PROBLEM_BYTES, "%s", code == Z_BUF_ERROR ? "the packed file ends too early" : zError(code));
}

static long sample(const char *path, char *bytes, size_t room, char *problem)
{
    gzFile file;
    size_t n;

    problem[0] = '\0';
    file = open_file(path, problem);
    if (!file)
        return -1;
    n = unpack(file, bytes, room, problem);
    gzclose(file);
    return problem[0] ? -1 : (long)n;
}

static void quit_if_problem(const struct packed *packed)
{
    char text[PROBLEM_BYTES + 256] = "";

    if (packed->problem[0])
        snprintf(text, sizeof(text), "%.200s: %s", packed->path, packed->problem);
    quit_if_any(text);
}

/* Skips bytes by reading them, since the header is short. */
static void skip(struct packed *packed, uint64_t bytes)
{
    while (bytes > 0 && !packed->problem[0]) {
        size_t n = bytes < packed->room ? (size_t)bytes : packed->room;

        if (unpack(packed->file, packed->unpacked, n, packed->problem) < n)
            break;
        bytes -= n;
    }
}

static void *open_packed(const char *path, uint64_t skipped)
{
    struct packed *packed = host_alloc(sizeof(*packed));

    *packed = (struct packed){.path = path};
    packed->room = heap_share(8 * BLOCK_BYTES);
    packed->usual = packed->room < BLOCK_BYTES ? packed->room : BLOCK_BYTES;
    packed->block = symmetric_alloc(packed->room);
    packed->length = symmetric_alloc(sizeof(*packed->length));
    if (shmem_my_pe() == 0) {
        packed->unpacked = host_alloc(packed->room);
        packed->file = open_file(path, packed->problem);
        if (packed->file)
            skip(packed, skipped);
    }
    quit_if_problem(packed);
    return packed;
}

static const char *last_end(const struct packed *packed)
{
    return memrchr(packed->unpacked, '\n', packed->n);
}

/* Unpacks until a whole line is there, or the file ends. */
static void unpack_lines(struct packed *packed)
{
    while (packed->file && (packed->n < packed->usual || !last_end(packed))) {
        size_t room = packed->room - packed->n;
        size_t more = packed->n < packed->usual ? packed->usual - packed->n : packed->usual;
        size_t wanted = more < room ? more : room;
        size_t n = unpack(packed->file, packed->unpacked + packed->n, wanted, packed->problem);

        if (room == 0) {
            snprintf(packed->problem, PROBLEM_BYTES,
                     "a line has more than %zu bytes: unpack the file, or set SHMEM_SYMMETRIC_SIZE higher",
                     packed->room);
            return;
        }
        packed->n += n;
        if (n < wanted) {
            close_file(packed->file, packed->problem);
            packed->file = NULL;
        }
    }
}

/* Puts the whole lines unpacked so far to a PE, and keeps the rest. */
static void hand_out(struct packed *packed, int pe)
{
    const char *end = last_end(packed);
    size_t whole = packed->file && end ? (size_t)(end - packed->unpacked) + 1 : packed->n;

    shmem_putmem(packed->block, packed->unpacked, whole, pe);
    shmem_uint64_p(packed->length, whole, pe);
    packed->n -= whole;
    memmove(packed->unpacked, packed->unpacked + whole, packed->n);
}

static bool next(void *state, struct text *text)
{
    struct packed *packed = state;
    bool more = shmem_my_pe() == 0 && (packed->file || packed->n > 0);

    *packed->length = 0;
    shmem_barrier_all();
    for (int pe = 0; shmem_my_pe() == 0 && pe < shmem_n_pes() && !packed->problem[0]; pe++) {
        unpack_lines(packed);
        hand_out(packed, pe);
    }
    quit_if_problem(packed);
    shmem_barrier_all();
    *text = (struct text){packed->block, packed->block + *packed->length};
    return max_of_pes(more);
}

static void close_packed(void *state)
{
    struct packed *packed = state;

    free(packed->unpacked);
    shmem_free(packed->length);
    shmem_free(packed->block);
    free(packed);
}

const struct block_source blocks_gzip = {
    .recognise = recognise,
    .sample = sample,
    .open = open_packed,
    .next = next,
    .close = close_packed,
};
