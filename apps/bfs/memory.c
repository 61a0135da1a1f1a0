/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much memory a graph needs on each PE, and whether that much is there. PEs of a machine share its host memory, and those that
 * use the same device its memory.
 */
#include "memory.h"

#include <inttypes.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective.h"
#include "edges.h"
#include "scramble.h"

#define PROBLEM_BYTES 400
#define MANY_PES 262144
#define MIB (UINT64_C(1) << 20)

/* Bytes of the symmetric heap beyond what the search takes; distributing and checking use a part of them. */
#define HEAP_MARGIN MIB

enum kind { HOST, HEAP, DEVICE, KINDS };

struct bytes {
    uint64_t of[KINDS];
};

static const char *const kind_names[KINDS] = {"host memory", "symmetric heap", "device memory"};

/* ---- What is needed ---------------------------------------------------------------------------------------------- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* While a graph is built, a PE holds its edges and both ends of them, or those and the rows; later the rows, the
 * parents and the levels. */
static uint64_t host_bytes(const struct partition *part, uint64_t edges, uint64_t adjacent)
{
    uint64_t vertex_bytes = sizeof(uint64_t) + sizeof(uint32_t); /* row, input_ends */
    uint64_t check_bytes = 2 * sizeof(vertex_t) + sizeof(uint64_t);
    uint64_t building = edges * 3 * sizeof(struct edge) + part->block * (vertex_bytes + sizeof(uint64_t));
    uint64_t searching = adjacent * sizeof(vertex_t) + part->block * (vertex_bytes + check_bytes);

    return larger(building, searching);
}

static struct bytes bytes_needed(const struct options *opt, const struct extent *extent, int n_pes)
{
    const struct partition part = partition_make(extent->n_vertices, n_pes);
    uint64_t edges = (extent->n_edges + (uint64_t)n_pes - 1) / (uint64_t)n_pes;
    uint64_t adjacent = extent->n_adjacent ? extent->n_adjacent : 2 * edges;
    struct bytes needed = {{[HOST] = host_bytes(&part, edges, adjacent)}};

    for (int kind = 0; kind < N_EXCHANGES; kind++) {
        const struct search_memory search = search_memory(opt, &part, adjacent, (enum exchange_kind)kind);

        if (!opt->exchanges[kind])
            continue;
        needed.of[HEAP] = larger(needed.of[HEAP], search.heap_bytes + HEAP_MARGIN);
        needed.of[DEVICE] = larger(needed.of[DEVICE], search.device_bytes);
    }
    return needed;
}

/* ---- What there is ----------------------------------------------------------------------------------------------- */

/* The number after a key in a file; 0 if there is none. */
static uint64_t number_after(const char *path, const char *key)
{
    FILE *file = fopen(path, "r");
    char line[128];
    uint64_t number = 0;

    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        number = strtoull(line + strlen(key), NULL, 10);
        break;
    }
    if (file)
        fclose(file);
    return number;
}

/* Free host memory of this machine, or of the container that this process is in. */
static uint64_t host_bytes_available(void)
{
    uint64_t available = number_after("/proc/meminfo", "MemAvailable:") * 1024;
    uint64_t limit = number_after("/sys/fs/cgroup/memory.max", "");
    uint64_t used = number_after("/sys/fs/cgroup/memory.current", "");

    if (limit > 0 && limit > used && limit - used < available)
        available = limit - used;
    return available;
}

static uint64_t hash_of_host(void)
{
    char host[65] = "";
    uint64_t hash = 0;

    gethostname(host, sizeof(host) - 1);
    for (const char *c = host; *c; c++)
        hash = mix64(hash ^ (uint64_t)(unsigned char)*c);
    return hash;
}

/* How many PEs have this number. Collective. */
static uint64_t count_same(uint64_t number)
{
    size_t n_pes = (size_t)shmem_n_pes();
    uint64_t *all = symmetric_alloc((n_pes + 1) * sizeof(*all));
    uint64_t same = 0;

    all[n_pes] = number;
    shmem_uint64_fcollect(SHMEM_TEAM_WORLD, all, all + n_pes, 1);
    for (size_t pe = 0; pe < n_pes; pe++)
        same += all[pe] == number;
    shmem_free(all);
    return same;
}

/* This PE's share of the free memory. Collective, after every PE has opened its device. */
static struct bytes bytes_available(const struct place *place)
{
    uint64_t host = hash_of_host();
    shmemx_heap_info_t heap;
    struct bytes available;

    shmem_barrier_all();
    available.of[HOST] = host_bytes_available() / count_same(host);
    available.of[DEVICE] = place->ops->gpu.free_bytes(place->dev) / count_same(mix64(host) + (uint64_t)place->index);
    shmemx_heap_info(&heap);
    available.of[HEAP] = heap.largest_free;
    return available;
}

/* ---- What would fit ---------------------------------------------------------------------------------------------- */

static bool fits(const struct bytes *needed, const struct bytes *available)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (needed->of[kind] > available->of[kind])
            return false;
    return true;
}

static bool fits_on(const struct options *opt, const struct extent *extent, int n_pes, const struct bytes *available)
{
    const struct bytes needed = bytes_needed(opt, extent, n_pes);

    return fits(&needed, available);
}

static void say_scale(const struct options *opt, const struct bytes *available, char *text, size_t bytes)
{
    int scale = opt->scale;
    struct extent extent;

    do {
        scale--;
        extent = (struct extent){.n_vertices = UINT64_C(1) << scale, .n_edges = (uint64_t)opt->edge_factor << scale};
    } while (scale > 0 && !fits_on(opt, &extent, shmem_n_pes(), available));
    if (scale > 0)
        snprintf(text, bytes, "--scale %d would fit", scale);
    else
        snprintf(text, bytes, "no scale would fit");
}

static void say_pes(const struct options *opt, const struct extent *extent, const struct bytes *available, char *text,
                    size_t bytes)
{
    struct extent spread = *extent;
    int n_pes = shmem_n_pes();

    spread.n_adjacent = 0;
    while (n_pes <= MANY_PES && !fits_on(opt, &spread, n_pes, available))
        n_pes += n_pes / 8 + 1;
    if (n_pes <= MANY_PES)
        snprintf(text, bytes, "it would fit on %d PEs with as much each", n_pes);
    else
        snprintf(text, bytes, "%d PEs with as much each would not be enough", MANY_PES);
}

/* Ways to have more of a kind; the heap's size is the user's choice. */
static void say_what_fits(const struct options *opt, const struct extent *extent, const struct bytes *needed,
                          const struct bytes *available, char *text, size_t bytes)
{
    struct bytes enough = *available;

    enough.of[HEAP] = UINT64_MAX;
    if (fits(needed, &enough))
        snprintf(text, bytes, "set SHMEM_SYMMETRIC_SIZE=%" PRIu64 "m", needed->of[HEAP] / MIB * 2 + 16);
    else if (!opt->file)
        say_scale(opt, &enough, text, bytes);
    else
        say_pes(opt, extent, &enough, text, bytes);
}

/* ---- Verdicts ---------------------------------------------------------------------------------------------------- */

static double mib(uint64_t bytes)
{
    return (double)bytes / (double)MIB;
}

static int first_short(const struct bytes *needed, const struct bytes *available)
{
    int kind = DEVICE;

    while (kind > HOST && (kind == HEAP || needed->of[kind] <= available->of[kind]))
        kind--;
    return needed->of[kind] > available->of[kind] ? kind : HEAP;
}

void memory_refuse(const struct options *opt, const struct place *place, const struct extent *extent)
{
    const struct bytes needed = bytes_needed(opt, extent, shmem_n_pes());
    const struct bytes available = bytes_available(place);
    char problem[PROBLEM_BYTES] = "";
    char remedy[160];
    int kind = first_short(&needed, &available);

    if (!fits(&needed, &available)) {
        say_what_fits(opt, extent, &needed, &available, remedy, sizeof(remedy));
        snprintf(problem, sizeof(problem), "the graph needs %.0f MiB of %s on each PE, and PE %d has %.0f MiB: %s",
                 mib(needed.of[kind]), kind_names[kind], shmem_my_pe(), mib(available.of[kind]), remedy);
    }
    quit_if_any(problem);
}

void memory_state(const struct options *opt, const struct place *place, const struct extent *extent)
{
    const struct bytes needed = bytes_needed(opt, extent, shmem_n_pes());
    struct bytes least = bytes_available(place);
    FILE *out = opt->csv ? stderr : stdout;

    for (int kind = 0; kind < KINDS; kind++)
        least.of[kind] = min_of_pes(least.of[kind]);
    if (shmem_my_pe() != 0)
        return;
    fputs("memory per PE:", out);
    for (int kind = 0; kind < KINDS; kind++)
        fprintf(out, "%s %.0f MiB of %.0f MiB %s", kind > 0 ? "," : "", mib(needed.of[kind]), mib(least.of[kind]),
                kind_names[kind]);
    fputc('\n', out);
    fflush(out);
}

void memory_refuse_host(const char *what, uint64_t n)
{
    uint64_t available = host_bytes_available() / count_same(hash_of_host());
    char problem[PROBLEM_BYTES] = "";

    if (n > available)
        snprintf(problem, sizeof(problem), "%s needs %.0f MiB more host memory on PE %d, which has %.0f MiB", what,
                 mib(n), shmem_my_pe(), mib(available));
    quit_if_any(problem);
}
