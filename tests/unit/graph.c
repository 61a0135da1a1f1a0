/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Walk, layout and images: random graphs are copied isomorphically, whatever the pieces, and back; then single cases.
 * Arguments: number of random graphs, and the seed of the first.
 */
#include "deep/image.h"

#include "../deep/random_graph.h"
#include "base/log.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

enum { GRAPHS = 600, OBJECTS = 40 };
static const uint64_t base = 0x7000000000;

/* ---- random graphs ---- */

struct fixture {
    uint64_t seed;
    struct random_graph *graph;
    const struct shmemi_type *type;
    struct shmemi_graph links;
    struct shmemi_image image;
    char *bytes;
};

static struct shmemi_graph walk(const struct random_graph *graph, const struct shmemi_type *type)
{
    const struct shmemi_walk_options options = {"test", SHMEMI_LIVE_MEMORY, NULL, SHMEMX_DEEP_HEADER};
    struct shmemi_graph links;
    CHECK(!shmemi_graph_open(&links, &options, (uintptr_t)graph->root, type, graph->n_elems));
    return links;
}

/* Length of a piece of an image of this size, at random. */
static size_t piece_length(uint64_t *random, size_t size)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    size_t most = *random >> 62 ? 40 : size / 3 + 1;
    return 1 + (*random >> 33) % most;
}

static void fill_in_pieces(const struct fixture *fixture)
{
    size_t size = fixture->links.size;
    uint64_t random = fixture->seed;
    memset(fixture->bytes, 0xee, size);
    for (size_t at = 0, n; at < size; at += n) {
        n = piece_length(&random, size);
        n = n < size - at ? n : size - at;
        shmemi_image_fill(&fixture->image, at, fixture->bytes + at, n);
    }
}

static void scatter_in_pieces(const struct fixture *fixture, const struct shmemi_graph *graph)
{
    uint64_t random = fixture->seed + 1;
    for (size_t at = 0, n; at < graph->size; at += n) {
        n = piece_length(&random, graph->size);
        n = n < graph->size - at ? n : graph->size - at;
        shmemi_image_scatter(graph, at, fixture->bytes + at, n);
    }
}

static void open_fixture(struct fixture *fixture, uint64_t seed)
{
    fixture->seed = seed;
    fixture->graph = random_graph_open(seed, seed, OBJECTS);
    CHECK(!shmemi_types_create("test", fixture->graph->n_types, fixture->graph->types, NULL));
    fixture->type = shmemi_type_find(fixture->graph->root_type);
    CHECK(fixture->type);
    fixture->links = walk(fixture->graph, fixture->type);
    shmemi_image_describe(&fixture->image, &fixture->links, fixture->type, fixture->graph->n_elems, base, seed & 1);
    fixture->image.streams = seed & 2;
    fixture->bytes = aligned_alloc(16, (fixture->links.size + 15) / 16 * 16);
    CHECK(fixture->bytes);
    fill_in_pieces(fixture);
}

static void close_fixture(struct fixture *fixture)
{
    free(fixture->bytes);
    shmemi_graph_close(&fixture->links);
    random_graph_close(fixture->graph);
    shmemi_types_close();
}

static const char *difference(const struct fixture *fixture, uint64_t image_base)
{
    struct random_copy copy = random_copy_in(fixture->bytes, image_base, fixture->links.size);
    return random_graph_compare(fixture->graph, &copy, image_base + fixture->links.root);
}

static void check_isomorphic(const struct fixture *fixture, uint64_t image_base)
{
    const char *text = difference(fixture, image_base);
    if (text)
        fprintf(stderr, "graph %llu: %s\n", (unsigned long long)fixture->seed, text);
    CHECK(!text);
}

/* The checker itself: it detects every changed pointer. */
static void check_checker(struct fixture *fixture)
{
    if (!fixture->links.n_links)
        return;
    const struct shmemi_graph_link *link = &fixture->links.links[fixture->seed % fixture->links.n_links];
    char saved[8], wrong[8] = "\x88\x77\x66\x55\x44\x33\x22\x11";
    memcpy(saved, fixture->bytes + link->at, sizeof saved);
    memcpy(fixture->bytes + link->at, wrong, sizeof wrong);
    if (link->to != link->at) /* an empty array may be anywhere */
        CHECK(difference(fixture, base));
    memcpy(fixture->bytes + link->at, saved, sizeof saved);
}

/* Into the objects that it came from, and into others of the same shape. */
static void check_back(struct fixture *fixture)
{
    struct random_graph *other = random_graph_open(fixture->seed, ~fixture->seed, OBJECTS);
    struct shmemi_graph other_links = walk(other, fixture->type);
    uint64_t digest = random_graph_digest(fixture->graph);
    CHECK(other_links.shape == fixture->links.shape && other_links.size == fixture->links.size);
    random_graph_scramble(fixture->graph, ~fixture->seed);
    scatter_in_pieces(fixture, &fixture->links);
    CHECK(random_graph_digest(fixture->graph) == digest);
    scatter_in_pieces(fixture, &other_links);
    CHECK(random_graph_digest(other) == digest);
    shmemi_graph_close(&other_links);
    struct shmemi_graph again = walk(other, fixture->type);
    CHECK(again.shape == fixture->links.shape); /* its pointers were left alone */
    shmemi_graph_close(&again);
    random_graph_close(other);
}

static void check_relocated(struct fixture *fixture)
{
    const char *cause;
    const struct shmemi_image_header *header = (const struct shmemi_image_header *)fixture->bytes;
    CHECK(!shmemi_image_check_header(header, fixture->links.size, fixture->type, &cause));
    CHECK(!shmemi_image_relocate("test", fixture->bytes, fixture->type, (uintptr_t)fixture->bytes));
    CHECK(header->base == (uintptr_t)fixture->bytes && !header->flags);
    CHECK(!shmemi_image_check_header(header, fixture->links.size, fixture->type, &cause));
    check_isomorphic(fixture, header->base);
}

static void test_random(uint64_t seed)
{
    struct fixture fixture;
    open_fixture(&fixture, seed);
    check_isomorphic(&fixture, base);
    check_checker(&fixture);
    check_back(&fixture);
    check_relocated(&fixture);
    close_fixture(&fixture);
}

/* A damaged image is refused, or it gives other objects, whose pointers stay inside it. */
static void test_damaged(uint64_t seed)
{
    struct fixture fixture;
    open_fixture(&fixture, seed);
    uint64_t random = seed;
    for (int i = 0; i < 8; i++) {
        fill_in_pieces(&fixture);
        for (int k = 0; k <= i; k++) {
            size_t at = SHMEMX_DEEP_HEADER + piece_length(&random, fixture.links.size - SHMEMX_DEEP_HEADER) * 3;
            if (at < fixture.links.size)
                fixture.bytes[at] ^= (char)(1 << (random >> 50) % 8);
        }
        int rc = shmemi_image_relocate("test", fixture.bytes, fixture.type, base + 64);
        CHECK(!rc || rc == -EBADMSG);
    }
    close_fixture(&fixture);
}

/* ---- threads ---- */

struct worker {
    const struct fixture *fixture;
    pthread_t thread;
    size_t number;
};
enum { WORKERS = 3, PIECE = 100 };

/* Each thread walks by itself and fills every third piece of the same image. */
static void *work(void *argument)
{
    const struct worker *worker = argument;
    const struct fixture *fixture = worker->fixture;
    struct shmemi_graph graph = walk(fixture->graph, fixture->type);
    struct shmemi_image image = fixture->image;
    image.graph = &graph;
    for (size_t at = worker->number * PIECE; at < graph.size; at += WORKERS * PIECE)
        shmemi_image_fill(&image, at, fixture->bytes + at, graph.size - at < PIECE ? graph.size - at : PIECE);
    shmemi_graph_close(&graph);
    return NULL;
}

static void test_threads(uint64_t seed)
{
    struct fixture fixture;
    struct worker workers[WORKERS];
    open_fixture(&fixture, seed);
    memset(fixture.bytes, 0xee, fixture.links.size);
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.fixture = &fixture, .number = i};
        CHECK(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
    }
    for (size_t i = 0; i < WORKERS; i++)
        CHECK(!pthread_join(workers[i].thread, NULL));
    check_isomorphic(&fixture, base);
    close_fixture(&fixture);
}

/* ---- by hand ---- */

struct item {
    struct item *next, *self;
    int32_t n;
    struct inner {
        double *middle;
        int16_t k;
    } inner[2];
    double values[4];
    char *name;
    struct inner *into;
};

static const shmemx_field_t inner_fields[] = {
    {"middle", offsetof(struct inner, middle), SHMEMX_FIELD_POINTER, "double", 0, "k"},
    {"k", offsetof(struct inner, k), SHMEMX_FIELD_VALUE, "int16_t", 1, NULL},
};
static const shmemx_field_t item_fields[] = {
    {"next", offsetof(struct item, next), SHMEMX_FIELD_POINTER, "item", 0, "n"},
    {"self", offsetof(struct item, self), SHMEMX_FIELD_POINTER, "item", 1, NULL},
    {"n", offsetof(struct item, n), SHMEMX_FIELD_VALUE, "int32_t", 1, NULL},
    {"inner", offsetof(struct item, inner), SHMEMX_FIELD_VALUE, "inner", 2, NULL},
    {"name", offsetof(struct item, name), SHMEMX_FIELD_STRING, "char", 1, NULL},
    {"into", offsetof(struct item, into), SHMEMX_FIELD_POINTER, "inner", 1, NULL},
};
static const shmemx_type_desc_t texts[] = {
    {"inner", sizeof(struct inner), 2, inner_fields},
    {"item", sizeof(struct item), 6, item_fields},
};

static int try_walk(struct shmemi_graph *graph, const void *root, const char *type, size_t nelems)
{
    const struct shmemi_walk_options options = {"test", SHMEMI_LIVE_MEMORY, NULL, SHMEMX_DEEP_HEADER};
    return shmemi_graph_open(graph, &options, (uintptr_t)root, shmemi_type_find(type), nelems);
}

static void test_by_hand(void)
{
    struct item items[3] = {{.n = 1}, {.n = 2}, {.n = -7}};
    char name[] = "shared";
    struct shmemi_graph graph;
    items[0].next = &items[1]; /* one item, which leads to itself and to the third, which overlaps */
    items[1].next = &items[1];
    items[2].next = (struct item *)1; /* no items */
    items[0].self = items[1].self = &items[0];
    items[0].inner[1] = (struct inner){&items[2].values[1], 3};
    items[0].name = name;
    items[1].name = name + 2;
    items[0].into = &items[0].inner[1];
    CHECK(!try_walk(&graph, items, "item", 1));
    CHECK(graph.n_extents == 3); /* the first item, items 1 and 2, the string */
    CHECK(graph.extents[0].size == sizeof *items && graph.extents[1].size == 2 * sizeof *items);
    CHECK(graph.extents[2].size == sizeof name);
    CHECK(graph.root == SHMEMX_DEEP_HEADER && graph.n_links == 3 * 6);
    CHECK(graph.links[0].to == graph.extents[1].at);
    CHECK(graph.links[1].to == graph.root);
    CHECK(graph.links[3].to == graph.extents[1].at + sizeof *items + offsetof(struct item, values[1]));
    CHECK(graph.links[5].to == graph.root + offsetof(struct item, inner[1]));
    CHECK(graph.links[10].to == graph.extents[2].at + 2);
    CHECK(graph.links[12].to == SHMEMI_LINK_NULL);
    CHECK(shmemi_graph_extent_of(&graph, (uintptr_t)&items[2]) == &graph.extents[1]);
    CHECK(shmemi_graph_extent_of(&graph, (uintptr_t)&items[3]) == NULL);
    CHECK(shmemi_graph_extent_of(&graph, (uintptr_t)items - 1) == NULL);
    CHECK(shmemi_graph_extent_at(&graph, graph.root + 1) == &graph.extents[0]);
    CHECK(shmemi_graph_extent_at(&graph, graph.root - 1) == NULL && shmemi_graph_extent_at(&graph, graph.size) == NULL);
    shmemi_graph_close(&graph);
}

static void test_empty(void)
{
    struct item item = {.n = 0};
    struct shmemi_graph graph;
    struct shmemi_image image;
    struct shmemi_image_header header;
    const char *cause;
    for (int i = 0; i < 2; i++) {
        CHECK(!try_walk(&graph, i ? &item : NULL, "item", i ? 0 : 1));
        CHECK(!graph.n_extents && graph.size == SHMEMX_DEEP_HEADER && graph.root == SHMEMX_DEEP_HEADER);
        shmemi_image_describe(&image, &graph, shmemi_type_find("item"), 1, base, false);
        shmemi_image_fill(&image, 0, (char *)&header, sizeof header);
        CHECK(!shmemi_image_check_header(&header, sizeof header, NULL, &cause) && !header.n_elems);
        CHECK(!shmemi_image_relocate("test", (char *)&header, shmemi_type_find("item"), base + 16));
        shmemi_graph_close(&graph);
    }
}

static void test_refused(void)
{
    struct item item = {.n = 1, .next = (struct item *)-16};
    struct shmemi_graph graph;
    struct shmemi_image image;
    struct shmemi_image_header header;
    const char *cause;
    CHECK(try_walk(&graph, &item, "item", 1) == -EOVERFLOW && !graph.extents && !graph.links);
    CHECK(try_walk(&graph, &item, "item", SIZE_MAX / 2) == -EOVERFLOW);
    CHECK(!try_walk(&graph, NULL, "item", 1));
    shmemi_image_describe(&image, &graph, shmemi_type_find("item"), 1, base, false);
    shmemi_graph_close(&graph);
    header = image.header;
    CHECK(shmemi_image_check_header(&header, sizeof header - 1, NULL, &cause) == -EBADMSG);
    CHECK(shmemi_image_check_header(&header, sizeof header, shmemi_type_find("inner"), &cause) == -EBADMSG);
    for (size_t i = 0; i < sizeof header; i++) {
        header = image.header;
        ((char *)&header)[i] ^= 1;
        CHECK(shmemi_image_check_header(&header, 1 << 20, NULL, &cause) == -EBADMSG && cause);
    }
}

/* A long list needs no stack, and overlapping arrays do not take quadratic time. */
static void test_long_list(void)
{
    enum { N = 200000 };
    struct item *items = calloc(N, sizeof *items);
    struct shmemi_graph graph;
    CHECK(items);
    for (size_t i = 0; i + 1 < N; i++) {
        items[i].self = &items[(i * 7919 + 1) % N];
        items[i].next = &items[i + 1];
        items[i].n = 1;
    }
    CHECK(!try_walk(&graph, items, "item", 1));
    CHECK(graph.n_extents == N && graph.n_links == 6 * N);
    shmemi_graph_close(&graph);
    for (size_t i = 0; i < N; i++)
        items[i].n = (int32_t)(N - i - 1); /* each points to all that follow */
    CHECK(!try_walk(&graph, items, "item", 1));
    CHECK(graph.n_extents == 2 && graph.extents[1].size == (N - 1) * sizeof *items);
    shmemi_graph_close(&graph);
    free(items);
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : GRAPHS, first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    for (uint64_t seed = first; seed < first + n; seed++)
        test_random(seed);
    for (uint64_t seed = first; seed < first + n / 20; seed++)
        test_threads(seed);
    CHECK(!shmemi_types_create("test", 2, texts, NULL));
    test_by_hand();
    test_empty();
    shmemi_log_hold(true); /* what follows is refused */
    test_refused();
    test_long_list();
    for (uint64_t seed = first; seed < first + n / 4; seed++)
        test_damaged(seed);
    return 0;
}
