/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies store each byte once, and the bytes of an aligned word all at once. A child does the copies; this process lets
 * it go on by one instruction at a time (ptrace), takes away what it has stored, and notes at which instruction each
 * byte came.
 */
#include "base/copy_bytes.h"
#include "unit.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 1024, ENDS = 64 };

static struct shared {
    _Alignas(64) char dest[ROOM], source[ROOM];
    volatile size_t nbytes; /* of the copy that is being made; 0: none */
    volatile size_t at;     /* where in dest it goes */
    volatile size_t copies; /* begun so far */
} * shared;

/* The bytes of a copy: when each has come; 0: not yet. */
static unsigned came[ROOM];

static void copy(size_t at, size_t from, size_t nbytes)
{
    shared->at = at;
    shared->copies++;
    shared->nbytes = nbytes;
    shmemi_copy_bytes(shared->dest + at, shared->source + from, nbytes);
    shared->nbytes = 0;
}

/* The child: all sizes up to a few words, some around the limits, at all places in a line. */
static void make_copies(void)
{
    static const size_t sizes[] = {48, 63, 64, 65, 96, 127, 128, 136, 191, 192, 193, 200, 256, 300, 512};
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        _exit(77);
    raise(SIGSTOP);
    for (size_t at = 0; at < 16; at++)
        for (size_t nbytes = 1; nbytes <= 40; nbytes++)
            copy(at, at % 3 ? at : at + 1, nbytes);
    for (size_t at = 0; at < 64; at += 7)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            copy(at, at % 2 ? at : 0, sizes[i]);
    _exit(0);
}

/* Take away what has come in this step. */
static void take(unsigned step, size_t nbytes)
{
    char *dest = shared->dest + shared->at;
    for (size_t i = 0; i < nbytes; i++) {
        bool is_watched = nbytes <= SHMEMI_WHOLE_WORDS_MAX || i < ENDS || i >= nbytes - ENDS;
        if (!dest[i])
            continue;
        if (is_watched && came[i])
            fprintf(stderr, "a copy of %zu bytes to byte %zu of a line stores byte %zu twice\n", nbytes, shared->at, i);
        CHECK(!is_watched || !came[i]);
        came[i] = step;
        dest[i] = 0;
    }
}

/* Every byte has come, and aligned words have come whole. */
static void check_words(size_t at, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        CHECK(came[i]);
    for (size_t size = 2; size <= 8; size *= 2)
        for (size_t i = -at & (size - 1); i + size <= nbytes; i += size)
            for (size_t k = 1; k < size; k++) {
                bool is_watched = nbytes <= SHMEMI_WHOLE_WORDS_MAX || i + size <= ENDS || i >= nbytes - ENDS;
                if (is_watched && came[i + k] != came[i])
                    fprintf(stderr, "a copy of %zu bytes to byte %zu of a line stores the word at %zu in parts\n",
                            nbytes, at, i);
                CHECK(!is_watched || came[i + k] == came[i]);
            }
}

/* Let the child take a step. False at its end. */
static bool step_on(pid_t child)
{
    int status = 0;
    CHECK(!ptrace(PTRACE_SINGLESTEP, child, NULL, NULL));
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSTOPPED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return WIFSTOPPED(status);
}

static void watch(pid_t child)
{
    size_t copies = 0, nbytes = 0;
    for (unsigned step = 1; step_on(child); step++) {
        if (!nbytes && shared->nbytes) {
            nbytes = shared->nbytes;
            memset(came, 0, sizeof came);
        }
        if (nbytes)
            take(step, nbytes);
        if (nbytes && !shared->nbytes) {
            check_words(shared->at, nbytes);
            copies++;
            nbytes = 0;
        }
    }
    CHECK(copies == shared->copies && copies > 600);
}

int main(void)
{
    int status = 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    memset(shared->source, 0xff, sizeof shared->source);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        make_copies();
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        puts("ptrace is not permitted here");
        return 77;
    }
    CHECK(WIFSTOPPED(status));
    watch(child);
    puts("ok");
    return 0;
}
