/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Direct ranges of an image: all parts that are large and contain no pointer, and no others.
 */
#include "deep/pipeline.h"

#include "deep/image.h"
#include "unit.h"

#include <stdlib.h>

enum { LARGE = SHMEMI_PIPELINE_DIRECT };

struct object {
    char *small, *large;
    char first[LARGE + 100];
    struct object *next;
    char short_one[LARGE - 64];
    void *middle;
    char last[LARGE + 24];
};

static const struct shmemi_memory memory = {.name = "memory that needs no page-locking"};
static const struct shmemi_far_side far_side = {.place = {.memory = &memory}};

static const struct shmemi_type *make_type(void)
{
    const shmemx_field_t fields[] = {
        {"small", offsetof(struct object, small), SHMEMX_FIELD_POINTER, "char", 1000, NULL},
        {"large", offsetof(struct object, large), SHMEMX_FIELD_POINTER, "char", 2 * LARGE, NULL},
        {"next", offsetof(struct object, next), SHMEMX_FIELD_POINTER, "object", 0, NULL},
        {"middle", offsetof(struct object, middle), SHMEMX_FIELD_OPAQUE, NULL, 0, NULL},
    };
    const shmemx_type_desc_t text = {"object", sizeof(struct object), 4, fields};
    const struct shmemi_type *type;
    CHECK(shmemi_types_create("test", 1, &text, &type) == 0);
    return type;
}

static void check_range(const struct shmemi_direct_range *range, const void *bytes, size_t size,
                        const struct shmemi_graph *graph)
{
    const struct shmemi_extent *extent = shmemi_graph_extent_of(graph, (uintptr_t)bytes);
    CHECK(range->bytes == bytes && range->size == size);
    CHECK(extent && range->at == extent->at + ((uintptr_t)bytes - extent->address));
}

static void check_ranges(const struct shmemi_graph *graph, struct object *object)
{
    struct shmemi_direct_ranges ranges;
    shmemi_direct_ranges_open(&ranges, graph, 0, graph->size, &far_side);
    CHECK(ranges.n == 3);
    check_range(&ranges.range[0], object->first, offsetof(struct object, next) - offsetof(struct object, first), graph);
    check_range(&ranges.range[1], object->last, sizeof *object - offsetof(struct object, last), graph);
    check_range(&ranges.range[2], object->large, 2 * LARGE, graph);
    shmemi_direct_ranges_close(&ranges);
}

/* A part of the image: all but the first 64 bytes of the first range, and the first large part of the next. */
static void check_part(const struct shmemi_graph *graph, struct object *object)
{
    struct shmemi_direct_ranges whole, part;
    shmemi_direct_ranges_open(&whole, graph, 0, graph->size, &far_side);
    size_t begin = whole.range[0].at + 64, end = whole.range[2].at + LARGE;
    shmemi_direct_ranges_open(&part, graph, begin, end, &far_side);
    CHECK(part.n == 3 && part.range[0].at == 0 && part.range[0].bytes == object->first + 64);
    CHECK(part.range[0].size == whole.range[0].size - 64 && part.range[1].at == whole.range[1].at - begin);
    CHECK(part.range[1].size == whole.range[1].size && part.range[2].size == LARGE);
    shmemi_direct_ranges_close(&part);
    shmemi_direct_ranges_open(&part, graph, begin, begin + LARGE - 1, &far_side);
    CHECK(part.n == 0);
    shmemi_direct_ranges_close(&part);
    shmemi_direct_ranges_close(&whole);
}

static void check_host(const struct shmemi_graph *graph)
{
    struct shmemi_direct_ranges ranges;
    const struct shmemi_far_side host = shmemi_far_place(shmemi_place_host(&ranges));
    shmemi_direct_ranges_open(&ranges, graph, 0, graph->size, &host);
    CHECK(ranges.n == 0);
    shmemi_direct_ranges_close(&ranges);
}

int main(void)
{
    const struct shmemi_walk_options options = {
        .routine = "test", .space = SHMEMI_LIVE_MEMORY, .header = SHMEMX_DEEP_HEADER};
    struct shmemi_graph graph;
    struct object *object = calloc(1, sizeof *object);
    CHECK(object);
    object->next = object;
    object->small = malloc(1000);
    object->large = malloc(2 * LARGE);
    CHECK(!shmemi_graph_open(&graph, &options, (uintptr_t)object, make_type(), 1));
    check_ranges(&graph, object);
    check_part(&graph, object);
    check_host(&graph);
    shmemi_graph_close(&graph);
    free(object->large);
    free(object->small);
    free(object);
    shmemi_types_close();
    return 0;
}
