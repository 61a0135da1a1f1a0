/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spaces without a device: the index and the memory are compared with plain models. Every technique runs on a kind of
 * memory that is host memory but fails on demand: whichever call of the driver fails, nothing has changed afterwards.
 */
#include "deep/space/technique.h"
#include "deep/pipeline.h"

#include "../deep/random_graph.h"
#include "failing_device.h"
#include "unit.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 1;

static uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % n;
}

/* ---- The index --------------------------------------------------------------------------------------------------- */

enum { CELLS = 512, BATCHES = 40, COPIES_MAX = 30 };

/* Copies of 1 to 8 cells in a strip of memory; owner[cell] is the live copy there. */
static struct shmemi_space_copy *owner[CELLS];
static struct shmemi_space_copy *batches[BATCHES];
static size_t batch_size[BATCHES], n_batches;

static void add_batch(struct shmemi_index *index)
{
    struct shmemi_space_copy *copies = calloc(COPIES_MAX, sizeof *copies);
    size_t wanted = 1 + random_below(COPIES_MAX), n = 0;
    CHECK(copies && !shmemi_index_reserve(index, wanted));
    for (size_t i = 0; i < wanted; i++) {
        size_t start = random_below(CELLS - 8), size = 1 + random_below(8), free_cells = 0;
        while (free_cells < size && !owner[start + free_cells])
            free_cells++;
        if (free_cells < size)
            continue;
        copies[n] = (struct shmemi_space_copy){.address = 1000 + start, .size = size, .is_live = true};
        for (size_t k = 0; k < size; k++)
            owner[start + k] = &copies[n];
        n++;
    }
    shmemi_index_add(index, copies, n);
    batches[n_batches] = copies;
    batch_size[n_batches++] = n;
}

static size_t end_some(size_t one_in)
{
    size_t n = 0;
    for (size_t b = 0; b < n_batches; b++)
        for (size_t i = 0; i < batch_size[b]; i++) {
            struct shmemi_space_copy *copy = &batches[b][i];
            if (!copy->is_live || random_below(one_in))
                continue;
            copy->is_live = false;
            for (size_t k = 0; k < copy->size; k++)
                owner[copy->address - 1000 + k] = NULL;
            n++;
        }
    return n;
}

static void check_index(struct shmemi_index *index)
{
    for (size_t start = 0; start < CELLS; start += 1 + random_below(3)) {
        size_t size = 1 + random_below(20), cell = start;
        while (cell < CELLS && cell < start + size && !owner[cell])
            cell++;
        struct shmemi_space_copy *expected = cell < CELLS && cell < start + size ? owner[cell] : NULL;
        CHECK(shmemi_index_find(index, 1000 + start, size) == expected);
    }
}

static void test_index(void)
{
    for (int round = 0; round < 20; round++) {
        struct shmemi_index index = {0};
        memset(owner, 0, sizeof owner);
        n_batches = 0;
        CHECK(!shmemi_index_find(&index, 1, SIZE_MAX - 1));
        while (n_batches < BATCHES) {
            add_batch(&index);
            if (random_below(2))
                shmemi_index_end(&index, end_some(1 + random_below(4)));
            if (random_below(2))
                check_index(&index);
        }
        check_index(&index);
        CHECK(shmemi_index_end(&index, end_some(1)));
        check_index(&index);
        shmemi_index_close(&index);
        for (size_t b = 0; b < n_batches; b++)
            free(batches[b]);
    }
}

/* ---- Device memory ----------------------------------------------------------------------------------------------- */

enum { BLOCKS = 200 };

static struct {
    uint64_t address;
    size_t size;
} blocks[BLOCKS];

static void allocate_block(struct shmemi_space_memory *memory, int i)
{
    size_t alignment = (size_t)16 << random_below(5);
    blocks[i].size = 1 + random_below(random_below(8) ? 300 : 5 << 20);
    CHECK(!shmemi_space_memory_allocate(memory, blocks[i].size, alignment, &blocks[i].address));
    CHECK(blocks[i].address % alignment == 0);
    for (int k = 0; k < BLOCKS; k++)
        CHECK(k == i || !blocks[k].size || blocks[k].address >= blocks[i].address + blocks[i].size ||
              blocks[i].address >= blocks[k].address + blocks[k].size);
}

/* The front of a block, or all of it. */
static void release_block(struct shmemi_space_memory *memory, int i)
{
    size_t part = random_below(2) ? blocks[i].size : 1 + random_below(blocks[i].size);
    shmemi_space_memory_release(memory, blocks[i].address, part);
    blocks[i].address += part;
    blocks[i].size -= part;
}

static void test_memory(void)
{
    struct shmemi_space_memory memory;
    size_t free_bytes, largest;
    CHECK(!shmemi_space_memory_open(&memory, &kind, NULL, 0, 0, false));
    for (int step = 0; step < 20000; step++) {
        int i = (int)random_below(BLOCKS);
        if (blocks[i].size)
            release_block(&memory, i);
        else
            allocate_block(&memory, i);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].size)
            shmemi_space_memory_release(&memory, blocks[i].address, blocks[i].size);
    shmemi_space_memory_state(&memory, &free_bytes, &largest);
    CHECK(free_bytes >= largest && largest >= 64 << 20);
    CHECK(free_bytes == (size_t)device.n_allocations * largest); /* arenas of one size, each in one piece */
    shmemi_space_memory_close(&memory);
    CHECK(!device.n_allocations);
}

static void test_users_buffer(void)
{
    static _Alignas(256) char buffer[4096];
    struct shmemi_space_memory memory;
    uint64_t address;
    CHECK(!shmemi_space_memory_open(&memory, &kind, buffer + 16, 4000, 0, false));
    CHECK(!shmemi_space_memory_allocate(&memory, 100, 256, &address) && address == (uintptr_t)buffer + 256);
    CHECK(!shmemi_space_memory_allocate(&memory, 240, 16, &address) && address == (uintptr_t)buffer + 16);
    CHECK(shmemi_space_memory_allocate(&memory, 4000 - 340 + 1, 1, &address) == -ENOSPC);
    CHECK(!shmemi_space_memory_allocate(&memory, 4000 - 340, 1, &address));
    CHECK(shmemi_space_memory_allocate(&memory, 1, 1, &address) == -ENOSPC);
    shmemi_space_memory_close(&memory);
    CHECK(!device.n_allocations);
}

/* ---- Techniques, and their failures ------------------------------------------------------------------------------ */

static const struct shmemi_technique *const techniques[] = {
    &shmemi_technique_image, &shmemi_technique_base, &shmemi_technique_base_plus,
    &shmemi_technique_tcpy,  &shmemi_technique_pcpy,
};
enum { N_TECHNIQUES = sizeof techniques / sizeof techniques[0] };

static struct shmemi_space_root root_of(const struct random_graph *graph)
{
    return (struct shmemi_space_root){(uintptr_t)graph->root, shmemi_type_find(graph->root_type), graph->n_elems};
}

/* Hash of the links between objects in live memory; changes with any pointer that is followed. */
static uint64_t shape_of(const struct random_graph *graph)
{
    struct shmemi_space_root root = root_of(graph);
    struct shmemi_walk_options options = {.routine = "test", .space = SHMEMI_LIVE_MEMORY};
    struct shmemi_graph walked;
    CHECK(!shmemi_graph_open(&walked, &options, root.address, root.type, root.nelems));
    uint64_t shape = walked.shape;
    shmemi_graph_close(&walked);
    return shape;
}

static size_t free_bytes_of(const struct shmemi_space *space)
{
    size_t free_bytes, largest;
    shmemi_space_memory_state(&space->memory, &free_bytes, &largest);
    return free_bytes;
}

static void check_nothing_changed(struct shmemi_space *space, const struct random_graph *graph, uint64_t shape,
                                  uint64_t digest)
{
    CHECK(!device.n_under_way && !device.n_channels);
    CHECK(!space->n_live && !space->n_mappings && !space->sets);
    CHECK(!space->technique->is_per_object || !device.n_allocations);
    CHECK(!shmemi_space_device(space, (uintptr_t)graph->root));
    CHECK(shape_of(graph) == shape && random_graph_digest(graph) == digest);
}

static void check_same(const char *difference, const struct shmemi_space *space, uint64_t seed)
{
    if (difference)
        fprintf(stderr, "%s, seed %llu: %s\n", space->technique->name, (unsigned long long)seed, difference);
    CHECK(!difference);
}

/* Let the first, second, ... call of the driver fail until a map succeeds; the same for copying back. */
static void fail_everywhere(struct shmemi_space *space, struct random_graph *graph, uint64_t seed)
{
    struct shmemi_space_root root = root_of(graph);
    uint64_t shape = shape_of(graph), digest = random_graph_digest(graph), address;
    int rc = -1, step = 1;
    for (int n = 0; rc; n += step, step += n > 8) {
        device.calls_left = n;
        rc = shmemi_space_map(space, &root, SHMEMX_DEEP_TO, NULL, &address);
        device.calls_left = -1;
        if (rc)
            check_nothing_changed(space, graph, shape, digest);
    }
    struct random_copy copy = random_copy_here();
    check_same(random_graph_compare(graph, &copy, address), space, seed);
    random_graph_scramble(graph, seed + 1);
    rc = -1;
    step = 1;
    for (int n = 0; rc; n += step, step += n > 8) {
        device.calls_left = n;
        rc = shmemi_space_unmap(space, root.address, SHMEMX_DEEP_FROM);
        device.calls_left = -1;
        CHECK(shape_of(graph) == shape && !device.n_under_way && !device.n_channels);
        CHECK(!rc || shmemi_space_device(space, root.address) == address);
    }
    check_nothing_changed(space, graph, shape, digest);
}

static void test_technique(const struct shmemi_technique *technique, bool is_asynchronous, uint64_t seed)
{
    struct shmemi_space *space = open_space(technique, SHMEMX_DEEP_COUNTED, is_asynchronous);
    struct random_graph *graph = random_graph_open(seed, seed, 12);
    CHECK(!shmemi_types_create("test", graph->n_types, graph->types, NULL));
    fail_everywhere(space, graph, seed);
    size_t free_bytes = free_bytes_of(space);
    fail_everywhere(space, graph, seed + 7);
    CHECK(free_bytes_of(space) == free_bytes);
    shmemi_space_close(space);
    CHECK(!device.n_allocations);
    random_graph_close(graph);
}

/* A second map that fails leaves the first as it is: what it has followed is undone. */
static void test_second_map(const struct shmemi_technique *technique, uint64_t seed)
{
    struct shmemi_space *space = open_space(technique, SHMEMX_DEEP_COUNTED, false);
    struct random_graph *graph = random_graph_open(seed, seed, 12);
    CHECK(!shmemi_types_create("test", graph->n_types, graph->types, NULL));
    struct shmemi_space_root root = root_of(graph);
    struct shmemi_space_root bytes = {root.address, shmemi_type_find("char"), root.type->size * root.nelems};
    uint64_t address, again;
    if (!shmemi_space_map(space, &bytes, SHMEMX_DEEP_TO, NULL, &address)) {
        size_t n_live = space->n_live;
        int rc = -1, step = 1;
        for (int n = 0; rc && rc != -EINVAL; n += step, step += n > 8) {
            device.calls_left = n;
            rc = shmemi_space_map(space, &root, SHMEMX_DEEP_TO, NULL, &again);
            device.calls_left = -1;
            CHECK(!rc || (space->n_live == n_live && space->n_mappings == 1));
        }
        if (!rc) {
            struct random_copy copy = random_copy_here();
            check_same(random_graph_compare(graph, &copy, again), space, seed);
            CHECK(again == address);
            CHECK(!shmemi_space_unmap(space, root.address, 0) && space->n_live == n_live);
        }
        CHECK(!shmemi_space_unmap(space, root.address, 0) && !space->n_live);
    }
    shmemi_space_close(space);
    random_graph_close(graph);
    CHECK(!device.n_allocations);
}

/* The argument is the number of seeds. */
int main(int argc, char **argv)
{
    uint64_t n_seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 6;
    shmemi_log_hold(true); /* failures are expected */
    test_index();
    test_memory();
    test_users_buffer();
    for (uint64_t seed = 1; seed <= n_seeds; seed++)
        for (int i = 0; i < N_TECHNIQUES; i++) {
            use_channels(seed % 2 == 0);
            test_technique(techniques[i], false, 100 * seed + (uint64_t)i);
            test_technique(techniques[i], true, 100 * seed + (uint64_t)i + 50);
            test_second_map(techniques[i], 100 * seed + (uint64_t)i + 20);
        }
    shmemi_pipeline_close();
    shmemi_types_close();
    puts("ok");
    return 0;
}
