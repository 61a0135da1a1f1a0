/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hostile images in a peer's memory: false headers, changed bytes, pointers that lead anywhere. get_deep, get_deep_new
 * and deep_info must write nothing outside the objects that they are given, and objects that they return can be walked.
 * Sanitizers detect what the checks here do not.
 *
 *     deep_bad [IMAGES]      of each PE, for each kind of memory
 */
#include "check.h"
#include "deep/image.h"
#include "../deep/random_graph.h"
#include "deep_check.h"

#include "base/log.h"

#include <errno.h>

enum { AREA = 512 << 10, IMAGES = 60, CHANGES = 8, OBJECTS_MAX = 30 };

static uint64_t state = 88172645463325252u;
static long n_new, n_into;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static size_t below(size_t n)
{
    return (size_t)(next_random() % n);
}

/* An image as put_deep has made it, and how to make its objects. */
struct original {
    uint64_t seed;
    shmemx_type_t type;
    size_t size, n_elems;
    char *bytes;
};

static struct random_graph *make_objects(const struct original *original)
{
    return random_graph_open(original->seed, original->seed, 1 + original->seed % OBJECTS_MAX);
}

static struct original make_original(const struct deep_area *area, uint64_t seed, int pe)
{
    struct original original = {.seed = seed};
    struct random_graph *graph = make_objects(&original);
    CHECK(!shmemx_types_create(graph->n_types, (const shmemx_type_desc_t *)graph->types));
    original.type = shmemx_type_find(graph->root_type);
    original.n_elems = graph->n_elems;
    ptrdiff_t size = shmemx_put_deep(area->address, area->size, graph->root, original.type, graph->n_elems, pe);
    CHECK(size > 0);
    original.size = (size_t)size;
    shmem_quiet();
    if (original.size <= area->size) {
        original.bytes = check_malloc(original.size);
        shmem_getmem(original.bytes, area->address, original.size, pe);
    }
    random_graph_close(graph);
    return original;
}

/* ---- Damage ------------------------------------------------------------------------------------------------------ */

static uint64_t hostile_number(const struct original *original, const struct shmemi_image_header *header)
{
    const uint64_t numbers[] = {
        0,
        1,
        8,
        127,
        128,
        129,
        original->size - 1,
        original->size,
        original->size + 1,
        original->size + 16,
        AREA,
        AREA + 1,
        UINT32_MAX,
        (uint64_t)1 << 40,
        INT64_MAX,
        (uint64_t)1 << 63,
        UINT64_MAX - 15,
        UINT64_MAX,
        header->base,
        header->base + below(original->size),
        header->base + original->size - 1,
        header->base - 8,
        (uintptr_t)original,
        next_random(),
    };
    return numbers[below(sizeof numbers / sizeof numbers[0])];
}

static void lie_in_header(const struct original *original, char *bytes)
{
    struct shmemi_image_header header;
    memcpy(&header, bytes, sizeof header);
    uint64_t number = hostile_number(original, &header);
    switch (below(10)) {
    case 0:
        header.size = number;
        break;
    case 1:
        header.n_extents = number;
        break;
    case 2:
        header.n_links = number;
        break;
    case 3:
        header.n_elems = number;
        break;
    case 4:
        header.root = number;
        break;
    case 5:
        header.base = number;
        break;
    case 6:
        header.shape = number;
        break;
    case 7:
        header.layout = number;
        break;
    case 8:
        header.flags = (uint32_t)number;
        break;
    default:
        bytes[below(sizeof header)] ^= (char)(1 << below(8));
        return;
    }
    header.check = shmemi_image_header_check(&header);
    memcpy(bytes, &header, sizeof header);
}

static void change_word(const struct original *original, char *bytes)
{
    size_t words = (original->size - SHMEMX_DEEP_HEADER) / 8;
    struct shmemi_image_header header;
    memcpy(&header, bytes, sizeof header);
    uint64_t number = hostile_number(original, &header);
    if (words)
        memcpy(bytes + SHMEMX_DEEP_HEADER + 8 * below(words), &number, sizeof number);
}

static void damage(const struct original *original, char *bytes)
{
    for (size_t n = 1 + below(3); n--;)
        switch (below(4)) {
        case 0:
            lie_in_header(original, bytes);
            break;
        case 1:
            bytes[below(original->size)] ^= (char)(1 << below(8));
            break;
        default:
            change_word(original, bytes);
            break;
        }
}

/* ---- What is made of it ------------------------------------------------------------------------------------------ */

static void try_info(const struct original *original, const struct deep_area *area, int pe)
{
    shmemx_deep_info_t info;
    int rc = shmemx_deep_info(area->address, original->type, &info, pe);
    bool fits = rc || area->device == &device_host || info.size <= area->size;
    CHECK_THAT((rc == -EBADMSG || !rc) && fits, "deep_info: %d", rc);
}

/* Objects made from it do not lead to other memory. */
static void try_new(const struct original *original, const struct deep_area *area, int pe)
{
    size_t n_elems;
    void *objects = shmemx_get_deep_new(area->address, original->type, &n_elems, pe);
    if (!objects)
        return;
    n_new++;
    ptrdiff_t size = shmemx_put_deep(NULL, 0, objects, original->type, n_elems, pe);
    CHECK_THAT(size > 0, "objects made of a damaged image cannot be walked: %td", size);
    shmemx_deep_free(objects);
}

static void try_into(const struct original *original, const struct deep_area *area, int pe)
{
    struct random_graph *graph = make_objects(original);
    uint64_t digest = random_graph_digest(graph);
    ptrdiff_t size = shmemx_get_deep(graph->root, area->address, original->type, graph->n_elems, pe);
    CHECK_THAT(size == (ptrdiff_t)original->size || size == -EBADMSG || size == -ESTALE, "get_deep: %td", size);
    CHECK_THAT(size > 0 || random_graph_digest(graph) == digest, "get_deep was refused and has changed something");
    n_into += size > 0;
    random_graph_close(graph);
}

static void try_image(const struct original *original, const struct deep_area *area, int pe)
{
    char *bytes = check_malloc(original->size);
    for (int i = 0; i < CHANGES; i++) {
        memcpy(bytes, original->bytes, original->size);
        damage(original, bytes);
        shmem_putmem(area->address, bytes, original->size, pe);
        shmem_quiet();
        try_info(original, area, pe);
        try_new(original, area, pe);
        try_into(original, area, pe);
    }
    free(bytes);
}

/* The header of this image claims a size past the end of the object that holds it. */
static void try_last(const struct deep_area *area, int pe)
{
    const struct {
        double value;
    } object = {1.5};
    shmemx_type_t type = shmemx_type_find("double");
    struct shmemi_image_header header;
    char *end = area->address + area->size - SHMEMX_DEEP_HEADER;
    CHECK(shmemx_put_deep(area->address, area->size, &object, type, 1, pe) > 0);
    shmem_quiet();
    shmem_getmem(&header, area->address, sizeof header, pe);
    if (area->device == &device_host)
        return; /* is followed by other data of the same region */
    shmem_putmem(end, &header, sizeof header, pe);
    shmem_quiet();
    double value = 7;
    shmemx_deep_info_t info;
    CHECK(shmemx_deep_info(end, type, &info, pe) == -EBADMSG);
    CHECK(shmemx_get_deep(&value, end, type, 1, pe) == -EBADMSG && value == 7);
    CHECK(!shmemx_get_deep_new(end, type, NULL, pe));
}

static void check_area(const struct deep_area *area, int n_images)
{
    for (int i = 0; i < n_images; i++) {
        struct original original = make_original(area, 100000 + (uint64_t)i, check_target(1));
        if (original.bytes)
            try_image(&original, area, check_target(1));
        free(original.bytes);
    }
    try_last(area, check_target(1));
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    struct deep_area areas[4];
    shmem_init();
    const int n_images = argc > 1 ? atoi(argv[1]) : IMAGES / shmem_n_pes() + 1;
    state += (uint64_t)shmem_my_pe();
    int n = deep_open_areas(areas, AREA);
    shmemi_log_hold(true); /* each refusal is a line */
    for (int i = 0; i < n; i++)
        check_area(&areas[i], n_images);
    shmemi_log_hold(false);
    CHECK_THAT(n_new && n_into, "no damaged image was good enough: %ld, %ld", n_new, n_into);
    deep_close_areas(areas, n);
    return check_end();
}
