/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combines numbers and verdicts of all PEs.
 */
#include <shmemx.h>
#include <string.h>

#include "collective.h"
#include "support/util.h"

#define PROBLEM_BYTES 512

/* Temporary buffers are small beside what a search needs, so that both fit. */
#define HEAP_PARTS 4

enum reduction { SUM, MAX, MIN };

static void reduce(uint64_t *values, size_t n, enum reduction reduction)
{
    uint64_t *symmetric = symmetric_alloc(2 * n * sizeof(*symmetric));

    memcpy(symmetric, values, n * sizeof(*values));
    if (reduction == SUM)
        shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, symmetric + n, symmetric, n);
    else if (reduction == MAX)
        shmem_uint64_max_reduce(SHMEM_TEAM_WORLD, symmetric + n, symmetric, n);
    else
        shmem_uint64_min_reduce(SHMEM_TEAM_WORLD, symmetric + n, symmetric, n);
    memcpy(values, symmetric + n, n * sizeof(*values));
    shmem_free(symmetric);
}

void sum_over_pes(uint64_t *values, size_t n)
{
    reduce(values, n, SUM);
}

void max_over_pes(uint64_t *values, size_t n)
{
    reduce(values, n, MAX);
}

uint64_t sum_of_pes(uint64_t value)
{
    reduce(&value, 1, SUM);
    return value;
}

uint64_t max_of_pes(uint64_t value)
{
    reduce(&value, 1, MAX);
    return value;
}

uint64_t min_of_pes(uint64_t value)
{
    reduce(&value, 1, MIN);
    return value;
}

uint64_t sum_of_lower_pes(uint64_t value)
{
    uint64_t *symmetric = symmetric_alloc(2 * sizeof(*symmetric));
    uint64_t sum;

    symmetric[0] = value;
    shmem_uint64_sum_exscan(SHMEM_TEAM_WORLD, symmetric + 1, symmetric, 1);
    sum = symmetric[1];
    shmem_free(symmetric);
    return sum;
}

void broadcast_from(int root, void *data, size_t bytes)
{
    char *symmetric = symmetric_alloc(2 * bytes);

    memcpy(symmetric, data, bytes);
    shmem_broadcastmem(SHMEM_TEAM_WORLD, symmetric + bytes, symmetric, bytes, root);
    memcpy(data, symmetric + bytes, bytes);
    shmem_free(symmetric);
}

void quit_if_any(const char *problem)
{
    char text[PROBLEM_BYTES] = "";
    int n_pes = shmem_n_pes();
    uint64_t first = min_of_pes(problem[0] ? (uint64_t)shmem_my_pe() : (uint64_t)n_pes);

    if (first == (uint64_t)n_pes)
        return;
    memccpy(text, problem, '\0', sizeof(text) - 1);
    broadcast_from((int)first, text, sizeof(text));
    quit_all("%s", text);
}

size_t heap_share(size_t wanted)
{
    shmemx_heap_info_t info;
    size_t share;

    shmemx_heap_info(&info);
    share = (size_t)min_of_pes(info.largest_free / HEAP_PARTS);
    return share < wanted ? share : wanted;
}
