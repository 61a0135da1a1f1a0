/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plain files: each PE reads ranges of its own. A line belongs to the range in which it begins.
 */
#include <errno.h>
#include <fcntl.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blocks.h"
#include "collective.h"
#include "support/util.h"

#define RANGE_BYTES ((uint64_t)64 << 20)
#define MORE_BYTES ((size_t)1 << 16) /* read at a time of a line that ends after the range */

struct plain {
    const char *path;
    int file;
    uint64_t size;
    uint64_t first; /* offset of the first line */
    uint64_t round; /* offset of this round  */
    uint64_t range; /* bytes for each PE in a round */
    char *bytes;
    size_t room;
    char problem[PROBLEM_BYTES];
};

static bool recognise(const unsigned char *bytes, size_t n)
{
    (void)bytes;
    (void)n;
    return true;
}

/* Reads until `wanted` bytes are there or the file ends. -1 and errno if it cannot be read. */
static ssize_t read_at(int file, char *bytes, size_t wanted, uint64_t offset)
{
    size_t n = 0;

    while (n < wanted) {
        ssize_t more = pread(file, bytes + n, wanted - n, (off_t)(offset + n));

        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return -1;
        if (more == 0)
            break;
        n += (size_t)more;
    }
    return (ssize_t)n;
}

static long sample(const char *path, char *bytes, size_t room, char *problem)
{
    int file = open(path, O_RDONLY);
    ssize_t n = file < 0 ? -1 : read_at(file, bytes, room, 0);

    if (n < 0)
        snprintf(problem, PROBLEM_BYTES, "%s", strerror(errno));
    if (file >= 0)
        close(file);
    return n;
}

static uint64_t size_of(struct plain *plain)
{
    struct stat status;

    plain->file = open(plain->path, O_RDONLY);
    if (plain->file < 0 || fstat(plain->file, &status) != 0) {
        snprintf(plain->problem, sizeof(plain->problem), "%s", strerror(errno));
        return 0;
    }
    return (uint64_t)status.st_size;
}

static void quit_if_problem(const struct plain *plain)
{
    char text[PROBLEM_BYTES + 256] = "";

    if (plain->problem[0])
        snprintf(text, sizeof(text), "%.200s: PE %d: %s", plain->path, shmem_my_pe(), plain->problem);
    quit_if_any(text);
}

static void *open_plain(const char *path, uint64_t skipped)
{
    struct plain *plain = host_alloc(sizeof(*plain));
    uint64_t n_pes = (uint64_t)shmem_n_pes();
    uint64_t share;

    *plain = (struct plain){.path = path, .first = skipped, .round = skipped};
    plain->size = size_of(plain);
    if (plain->size != max_of_pes(plain->size) && !plain->problem[0])
        snprintf(plain->problem, sizeof(plain->problem), "the file is not the same on all PEs");
    quit_if_problem(plain);
    share = plain->size / n_pes + 1;
    plain->range = share < RANGE_BYTES ? share : RANGE_BYTES;
    plain->room = plain->range + MORE_BYTES;
    plain->bytes = host_alloc(plain->room);
    return plain;
}

static bool has_room(struct plain *plain, size_t bytes)
{
    char *larger;

    if (bytes <= plain->room)
        return true;
    larger = realloc(plain->bytes, 2 * bytes);
    if (!larger) {
        snprintf(plain->problem, sizeof(plain->problem), "no host memory for a line of %zu bytes", bytes);
        return false;
    }
    plain->bytes = larger;
    plain->room = 2 * bytes;
    return true;
}

/* Sets *n to the number of bytes that are there from offset on, at most wanted. */
static bool read_range(struct plain *plain, size_t have, size_t wanted, uint64_t offset, size_t *n)
{
    ssize_t more = 0;

    if (has_room(plain, wanted))
        more = read_at(plain->file, plain->bytes + have, wanted - have, offset + have);
    if (more < 0)
        snprintf(plain->problem, sizeof(plain->problem), "%s", strerror(errno));
    *n = have + (more > 0 ? (size_t)more : 0);
    return !plain->problem[0];
}

/* The index after the first end of line at `seen` or later. Reads on until there is one, or the file ends. */
static size_t find_end(struct plain *plain, uint64_t from, size_t n, size_t seen)
{
    for (;;) {
        const char *end = memchr(plain->bytes + seen, '\n', n - seen);

        if (end)
            return (size_t)(end - plain->bytes) + 1;
        seen = n;
        if (!read_range(plain, seen, seen + MORE_BYTES, from, &n) || n == seen)
            return seen;
    }
}

/* Sets text to the lines that begin at bytes begin to end - 1 of the file. */
static void take_lines(struct plain *plain, uint64_t begin, uint64_t end, struct text *text)
{
    uint64_t from = begin > plain->first ? begin - 1 : begin; /* to see whether a line begins there */
    size_t inside = (size_t)(end - from);
    size_t skipped = 0;
    size_t n;

    if (!read_range(plain, 0, inside, from, &n))
        return;
    if (n < inside) {
        snprintf(plain->problem, sizeof(plain->problem), "the file has become shorter");
        return;
    }
    if (from < begin) {
        const char *previous = memchr(plain->bytes, '\n', inside - 1);

        if (!previous)
            return;
        skipped = (size_t)(previous - plain->bytes) + 1;
    }
    n = find_end(plain, from, n, inside - 1);
    *text = (struct text){plain->bytes + skipped, plain->bytes + n};
}

static bool next(void *state, struct text *text)
{
    struct plain *plain = state;
    uint64_t n_pes = (uint64_t)shmem_n_pes();
    uint64_t begin = plain->round + (uint64_t)shmem_my_pe() * plain->range;
    bool more = plain->round < plain->size;

    *text = (struct text){plain->bytes, plain->bytes};
    if (begin < plain->size)
        take_lines(plain, begin, plain->size - begin < plain->range ? plain->size : begin + plain->range, text);
    quit_if_problem(plain);
    plain->round += n_pes * plain->range;
    return more;
}

static void close_plain(void *state)
{
    struct plain *plain = state;

    close(plain->file);
    free(plain->bytes);
    free(plain);
}

const struct block_source blocks_plain = {
    .recognise = recognise,
    .sample = sample,
    .open = open_plain,
    .next = next,
    .close = close_plain,
};
