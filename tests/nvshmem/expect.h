/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the programs of nvshmem.test: they count what is not as it should be, and exit with 1 if there is anything.
 */
#ifndef TESTS_NVSHMEM_EXPECT_H
#define TESTS_NVSHMEM_EXPECT_H

#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdio.h>
#include <string.h>

static int wrong;

static void expect(bool condition, const char *what, int line)
{
    if (!condition && wrong++ < 20)
        fprintf(stderr, "PE %d, line %d: %s is not so\n", nvshmem_my_pe(), line, what);
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

/* The status of the program, the same on all PEs. */
static int finish()
{
    int *words = static_cast<int *>(nvshmem_malloc(2 * sizeof(int)));
    words[0] = wrong;
    nvshmem_int_max_reduce(NVSHMEM_TEAM_WORLD, words + 1, words, 1);
    const int status = words[1] != 0;
    nvshmem_free(words);
    nvshmem_finalize();
    return status;
}

#endif
