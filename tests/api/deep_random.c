/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random graphs (tests/deep/random_graph.h) are put to every kind of memory of another PE, which compares them, pointer
 * by pointer, with the same graph made by itself. Then they are copied back into objects whose data have been changed
 * meanwhile, and into new objects.
 *
 *     deep_random [GRAPHS]      of all PEs together; DEEP_RANDOM_GRAPHS in the environment means the same
 */
#include "check.h"
#include "../deep/random_graph.h"
#include "deep_check.h"

enum { SLOTS = 12, SLOT = 256 << 10, FEW = 240, OBJECTS_MAX = 40, OTHER_DATA = 1 };

/* A graph is put by each PE at the same time, into the slot of its target. */
struct round {
    uint64_t seed[SLOTS];
    struct random_graph *graph[SLOTS];
    ptrdiff_t size[SLOTS];
};

static ptrdiff_t *sizes; /* symmetric: size of the image in each slot */
static long n_compared, n_too_large;

/* The graph of a PE; every PE has different data. */
static struct random_graph *make_graph(uint64_t seed, int pe)
{
    return random_graph_open(seed, seed * 1000 + (uint64_t)pe, 1 + seed % OBJECTS_MAX);
}

/* Their names have the seed in them; shmem_finalize destroys them. */
static shmemx_type_t create_types(const struct random_graph *graph)
{
    CHECK_THAT(!shmemx_types_create(graph->n_types, (const shmemx_type_desc_t *)graph->types), "types of %s",
               graph->root_type);
    return shmemx_type_find(graph->root_type);
}

static char *slot_of(const struct deep_area *area, int slot)
{
    return area->address + (size_t)slot * SLOT;
}

static int slots_of(const struct deep_area *area)
{
    return area->size / SLOT < SLOTS ? (int)(area->size / SLOT) : SLOTS;
}

static void put_graph(const struct deep_area *area, struct round *round, int slot, int pe)
{
    const struct random_graph *graph = round->graph[slot];
    shmemx_type_t type = create_types(graph);
    ptrdiff_t size = slot % 2 ? shmemx_put_deep(slot_of(area, slot), SLOT, graph->root, type, graph->n_elems, pe)
                              : shmemx_put_deep_nbi(slot_of(area, slot), SLOT, graph->root, type, graph->n_elems, pe);
    CHECK_THAT(size >= SHMEMX_DEEP_HEADER, "put_deep of graph %llu to %s: %td", (unsigned long long)round->seed[slot],
               area->name, size);
    n_too_large += size > SLOT;
    round->size[slot] = size > SLOT ? 0 : size;
    shmem_ptrdiff_p(&sizes[slot], round->size[slot], pe);
}

static void put_all(const struct deep_area *area, struct round *round, uint64_t seed, int pe)
{
    for (int slot = 0; slot < slots_of(area); slot++) {
        round->seed[slot] = seed + (uint64_t)slot;
        round->graph[slot] = make_graph(round->seed[slot], shmem_my_pe());
        put_graph(area, round, slot, pe);
    }
}

/* Check what the owner finds; its own graph has other addresses and, until now, other data. */
static void compare(const struct deep_area *area, const struct round *round, int slot, int origin)
{
    const uint64_t seed = round->seed[slot];
    const size_t size = (size_t)sizes[slot];
    if (!size)
        return;
    char *bytes = check_malloc(size);
    struct random_graph *expected = make_graph(seed, origin);
    uint64_t base = area->base + (uint64_t)slot * SLOT;
    shmemx_deep_info_t info;
    deep_read(area, (size_t)slot * SLOT, bytes, size);
    CHECK(!shmemx_deep_info(slot_of(area, slot), NULL, &info, shmem_my_pe()));
    struct random_copy copy = random_copy_in(bytes, base, size);
    const char *difference = random_graph_compare(expected, &copy, info.root);
    CHECK_THAT(!difference && info.size == size, "graph %llu of PE %d in %s: %s", (unsigned long long)seed, origin,
               area->name, difference ? difference : "size");
    n_compared++;
    random_graph_close(expected);
    free(bytes);
}

static void get_back(const struct deep_area *area, const struct round *round, int slot, int pe)
{
    struct random_graph *graph = round->graph[slot];
    shmemx_type_t type = shmemx_type_find(graph->root_type);
    const unsigned long long seed = round->seed[slot];
    if (round->size[slot]) {
        uint64_t digest = random_graph_digest(graph);
        random_graph_scramble(graph, OTHER_DATA + seed);
        ptrdiff_t size = shmemx_get_deep(graph->root, slot_of(area, slot), type, graph->n_elems, pe);
        CHECK_THAT(size == round->size[slot], "get_deep of graph %llu from %s: %td", seed, area->name, size);
        CHECK_THAT(random_graph_digest(graph) == digest, "get_deep of graph %llu from %s: other data", seed,
                   area->name);
        size_t n_elems;
        void *objects = shmemx_get_deep_new(slot_of(area, slot), type, &n_elems, pe);
        struct random_copy copy = random_copy_here();
        const char *difference = objects ? random_graph_compare(graph, &copy, (uintptr_t)objects) : "NULL";
        CHECK_THAT(!difference && n_elems == graph->n_elems, "get_deep_new of graph %llu from %s: %s", seed, area->name,
                   difference);
        shmemx_deep_free(objects);
    }
    random_graph_close(graph);
}

static void run_round(const struct deep_area *area, uint64_t seed, int distance)
{
    struct round round;
    const int pe = check_target(distance), origin = check_origin(distance);
    put_all(area, &round, seed, pe);
    shmem_barrier_all();
    for (int slot = 0; slot < slots_of(area); slot++)
        compare(area, &round, slot, origin);
    for (int slot = 0; slot < slots_of(area); slot++)
        get_back(area, &round, slot, pe);
    shmem_barrier_all();
}

static long graphs_asked_for(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : getenv("DEEP_RANDOM_GRAPHS");
    return text ? atol(text) : FEW;
}

int main(int argc, char **argv)
{
    struct deep_area areas[4];
    shmem_init();
    const long per_pe = (graphs_asked_for(argc, argv) + shmem_n_pes() - 1) / shmem_n_pes();
    sizes = check_shmem_malloc(SLOTS * sizeof *sizes);
    int n = deep_open_areas(areas, (size_t)SLOTS * SLOT), round = 0;
    for (long done = 0; done < per_pe; round++) {
        const struct deep_area *area = &areas[round % n];
        run_round(area, 1 + (uint64_t)done, round / n % 3 == 2 ? 0 : 1 + round / n % shmem_n_pes());
        done += slots_of(area);
    }
    if (argc > 1 && shmem_my_pe() == 0)
        printf("%ld graphs on PE 0, %d kinds of memory; %ld did not fit\n", n_compared, n, n_too_large);
    CHECK(n_compared > per_pe / 2);
    deep_close_areas(areas, n);
    shmem_free(sizes);
    return check_end();
}
