/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Walk, layout, images: random graphs arrive isomorphic, whatever the pieces; hostile images are refused.
 */
#include "deep/image.h"

#include "../deep/random_graph.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

enum { GRAPHS = 2000, OBJECTS = 40 };
static const uint64_t base = 0x7000000000;

struct fixture {
    struct random_graph *graph;
    const struct shmemi_type *type;
    struct shmemi_graph links;
    struct shmemi_image image;
    char *bytes;
};

static struct shmemi_graph walk(const struct random_graph *graph, const struct shmemi_type *type)
{
    const struct shmemi_walk_options options = {"test", SHMEMI_LIVE_MEMORY, NULL, SHMEMI_IMAGE_HEADER};
    struct shmemi_graph links;
    CHECK(!shmemi_graph_open(&links, &options, (uintptr_t)graph->root, type, graph->n_elems));
    return links;
}

static void fill_in_pieces(const struct fixture *fixture, uint64_t seed)
{
    size_t size = fixture->links.size;
    memset(fixture->bytes, 0xee, size);
    for (size_t at = 0, n; at < size; at += n) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        n = 1 + (seed >> 33) % (size / 3 + 1);
        n = n < size - at ? n : size - at;
        shmemi_image_fill(&fixture->image, at, fixture->bytes + at, n);
    }
}

static void open_fixture(struct fixture *fixture, uint64_t seed)
{
    fixture->graph = random_graph_open(seed, seed, OBJECTS);
    CHECK(!shmemi_types_create("test", fixture->graph->n_types, fixture->graph->types, NULL));
    fixture->type = shmemi_type_find(fixture->graph->root_type);
    CHECK(fixture->type);
    fixture->links = walk(fixture->graph, fixture->type);
    shmemi_image_describe(&fixture->image, &fixture->links, fixture->type, fixture->graph->n_elems, base, false);
    fixture->bytes = aligned_alloc(16, (fixture->links.size + 15) / 16 * 16);
    CHECK(fixture->bytes);
    fill_in_pieces(fixture, seed);
}

static void close_fixture(struct fixture *fixture)
{
    free(fixture->bytes);
    shmemi_graph_close(&fixture->links);
    random_graph_close(fixture->graph);
    shmemi_types_close();
}

static void check_isomorphic(const struct fixture *fixture, uint64_t image_base, uint64_t seed)
{
    struct random_copy copy = random_copy_in(fixture->bytes, image_base, fixture->links.size);
    const char *difference = random_graph_compare(fixture->graph, &copy, image_base + fixture->links.root);
    if (difference)
        fprintf(stderr, "graph %llu: %s\n", (unsigned long long)seed, difference);
    CHECK(!difference);
}

static void test_random(uint64_t seed)
{
    struct fixture fixture;
    open_fixture(&fixture, seed);
    check_isomorphic(&fixture, base, seed);
    close_fixture(&fixture);
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : GRAPHS, first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    for (uint64_t seed = first; seed < first + n; seed++)
        test_random(seed);
    return 0;
}
