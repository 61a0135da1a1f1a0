/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random graphs on this PE's device: every technique and lifetime, synchronous and asynchronous, in a buffer of the
 * program and in memory of the library. The copy is isomorphic; exactly the device's data are copied back; all memory
 * is free in the end. The argument, or DEEP_GRAPHS, is the number of graphs for each.
 */
#include "check.h"
#include "../deep/random_graph.h"
#include "../deep/space_device.h"

#include <inttypes.h>

enum { BUFFER = 8 << 20, GUARD = 256, OBJECTS = 24, ONE_BY_ONE_MAX = 64 << 10 };

static const char *const technique_names[] = {"image", "BASE", "BASE+", "TCPY", "PCPY"};
static const char *const lifetime_names[] = {"counted", "structured", "explicit"};

static struct space_under_test test;
static shmemx_deep_space_attr_t attr;
static uint64_t seed;

static const char *where(void)
{
    static char text[160];
    snprintf(text, sizeof text, "%s, %s, %s, %s, %s, seed %" PRIu64, test.device->ops->name,
             technique_names[attr.technique], lifetime_names[attr.lifetime],
             attr.asynchronous ? "asynchronous" : "synchronous", test.buffer ? "buffer" : "no buffer", seed);
    return text;
}

#define HOLDS(_condition) CHECK_THAT(_condition, "%s: %s", where(), #_condition)

/* ---- The copy, as its owner would read it ------------------------------------------------------------------------ */

/* Memory that has been read, until the comparison ends. */
struct held {
    struct held *next;
    char bytes[];
};
static struct held *held;

static const char *device_bytes(const struct random_copy *copy, uint64_t address, size_t nbytes)
{
    struct held *mine = check_malloc(sizeof *mine + nbytes);
    (void)copy;
    if (!address || (test.buffer && test.device->ops->memtype == OSHM_MEMTYPE_OPENCL && address + nbytes > test.size)) {
        free(mine);
        return NULL;
    }
    mine->next = held;
    held = mine;
    if (nbytes)
        space_read(&test, mine->bytes, address, nbytes);
    return mine->bytes;
}

static void check_device(const struct random_graph *graph, uint64_t root)
{
    struct random_copy copy = {.bytes = device_bytes};
    const char *difference = random_graph_compare(graph, &copy, root);
    while (held) {
        struct held *next = held->next;
        free(held);
        held = next;
    }
    CHECK_THAT(!difference, "%s: %s", where(), difference);
}

/* ---- One graph --------------------------------------------------------------------------------------------------- */

static uint64_t map(const struct random_graph *graph, int flags)
{
    uint64_t device = 0;
    shmemx_type_t type = shmemx_type_find(graph->root_type);
    HOLDS(type);
    HOLDS(!shmemx_deep_map(test.space, graph->root, type, graph->n_elems, flags, NULL, &device));
    HOLDS(device == shmemx_deep_device(test.space, graph->root));
    return device;
}

/* End the copies, whatever the lifetime; nested maps are undone. */
static void unmap(const struct random_graph *graph, int flags)
{
    if (attr.lifetime == SHMEMX_DEEP_EXPLICIT)
        HOLDS(!shmemx_deep_release(test.space, graph->root, flags));
    else
        HOLDS(!shmemx_deep_unmap(test.space, graph->root, flags));
}

/* Follow the current data. The host gets other data each time before the device's are copied back. */
static void check_graph(struct random_graph *graph)
{
    uint64_t root = map(graph, SHMEMX_DEEP_TO);
    check_device(graph, root);

    random_graph_scramble(graph, seed + 1);
    uint64_t second = random_graph_digest(graph);
    HOLDS(map(graph, SHMEMX_DEEP_TO) == root); /* copies nothing */
    HOLDS(!shmemx_deep_update(test.space, graph->root, SHMEMX_DEEP_TO));
    check_device(graph, root);

    random_graph_scramble(graph, seed + 2);
    uint64_t third = random_graph_digest(graph);
    HOLDS(!shmemx_deep_unmap(test.space, graph->root, SHMEMX_DEEP_FROM)); /* the first map holds the copies */
    HOLDS(shmemx_deep_device(test.space, graph->root) == root);
    HOLDS(random_graph_digest(graph) == third);
    HOLDS(!shmemx_deep_update(test.space, graph->root, SHMEMX_DEEP_FROM));
    HOLDS(random_graph_digest(graph) == second);

    random_graph_scramble(graph, seed + 3);
    unmap(graph, SHMEMX_DEEP_FROM);
    HOLDS(random_graph_digest(graph) == second);
    HOLDS(!shmemx_deep_device(test.space, graph->root));
}

/* Nothing goes to the device with flags 0 but pointers, and nothing comes back with 0. */
static void check_pointers_only(struct random_graph *graph)
{
    uint64_t before = random_graph_digest(graph);
    uint64_t root = map(graph, 0);
    HOLDS(!shmemx_deep_update(test.space, graph->root, SHMEMX_DEEP_TO));
    check_device(graph, root);
    unmap(graph, 0);
    HOLDS(random_graph_digest(graph) == before);
}

/* In a buffer of the program, nothing has leaked if an object of the buffer's size fits. */
static void check_all_free(void)
{
    shmemx_type_t type = shmemx_type_find("char");
    size_t room = BUFFER - (test.device->ops->memtype == OSHM_MEMTYPE_OPENCL ? GUARD : 0);
    if (!test.buffer)
        return;
    char *bytes = check_malloc(room);
    HOLDS(!shmemx_deep_map(test.space, bytes, type, room, 0, NULL, NULL));
    HOLDS(!shmemx_deep_release(test.space, bytes, 0));
    free(bytes);
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

/* The next graph that is not too large: a hundred thousand pointers, sent one by one, take a minute. */
static struct random_graph *next_graph(void)
{
    for (;;) {
        seed += 5;
        struct random_graph *graph = random_graph_open(seed, seed, OBJECTS);
        HOLDS(!shmemx_types_create(graph->n_types, (const shmemx_type_desc_t *)graph->types));
        shmemx_type_t type = shmemx_type_find(graph->root_type);
        ptrdiff_t size = shmemx_put_deep(NULL, 0, graph->root, type, graph->n_elems, shmem_my_pe());
        HOLDS(size > 0);
        if (attr.technique == SHMEMX_DEEP_IMAGE || size <= ONE_BY_ONE_MAX)
            return graph;
        random_graph_close(graph);
    }
}

static void check_space(struct device *device, size_t size, int n_graphs)
{
    space_begin(&test, device, size, &attr);
    for (int i = 0; i < n_graphs; i++) {
        struct random_graph *graph = next_graph();
        check_graph(graph);
        check_pointers_only(graph); /* walks again: no pointer of the host has changed */
        random_graph_close(graph);
    }
    check_all_free();
    space_end(&test);
}

static void check_kind(struct device *device, int n_graphs)
{
    bool is_cuda = device->ops->memtype == OSHM_MEMTYPE_CUDA;
    for (attr.technique = SHMEMX_DEEP_IMAGE; attr.technique <= SHMEMX_DEEP_PCPY; attr.technique++)
        for (attr.lifetime = SHMEMX_DEEP_COUNTED; attr.lifetime <= SHMEMX_DEEP_EXPLICIT; attr.lifetime++)
            for (attr.asynchronous = 0; attr.asynchronous < 2; attr.asynchronous++) {
                if (attr.technique != SHMEMX_DEEP_BASE)
                    check_space(device, BUFFER, n_graphs);
                if (is_cuda)
                    check_space(device, 0, n_graphs);
            }
}

int main(int argc, char **argv)
{
    struct device *device = NULL;
    const char *wanted = getenv("DEEP_GRAPHS");
    int n_graphs = argc > 1 ? atoi(argv[1]) : wanted ? atoi(wanted) : 1;
    bool is_any = false;
    shmem_init();
    seed = (uint64_t)shmem_my_pe() * 1000000007;
    while ((device = space_next_device(device))) {
        is_any = true;
        check_kind(device, n_graphs);
    }
    if (is_any)
        return check_end();
    if (!shmem_my_pe())
        puts("no OpenCL and no CUDA device on this machine");
    shmem_finalize();
    return CHECK_SKIP;
}
