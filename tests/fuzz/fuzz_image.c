/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hostile images: the input changes any bytes in the image of a small random graph, header included. The image is
 * refused, or it becomes objects whose walk does not leave them. Its bytes, whatever they are, are copied back into the
 * objects of the graph without changing a pointer.
 */
#include "fuzz.h"

#include "base/log.h"
#include "deep/image.h"
#include "../deep/random_graph.h"

enum { MOST_OBJECTS = 3, MOST_BYTES = 1 << 16, MOST_CHANGES = 24, TARGETS = 256 };
static const uint64_t base = 0x10000;

struct target {
    struct random_graph *random;
    const struct shmemi_type *type;
    struct shmemi_graph graph;
    char *good; /* the image as it should be */
    char *bytes;
};

static int open_walk(struct shmemi_graph *graph, uintptr_t root, const struct shmemi_type *type, size_t n)
{
    const struct shmemi_walk_options options = {"fuzz", SHMEMI_LIVE_MEMORY, NULL, SHMEMX_DEEP_HEADER};
    return shmemi_graph_open(graph, &options, root, type, n);
}

static void open_target(struct target *target, uint64_t seed)
{
    struct shmemi_image image;
    target->random = random_graph_open(seed, seed, MOST_OBJECTS);
    ALWAYS(!shmemi_types_create("fuzz", target->random->n_types, target->random->types, NULL));
    target->type = shmemi_type_find(target->random->root_type);
    ALWAYS(!open_walk(&target->graph, (uintptr_t)target->random->root, target->type, target->random->n_elems));
    target->good = fuzz_memory(target->graph.size);
    target->bytes = fuzz_memory(target->graph.size);
    shmemi_image_describe(&image, &target->graph, target->type, target->random->n_elems, base, false);
    shmemi_image_fill(&image, 0, target->good, target->graph.size);
}

/* An offset in the image; one time in 8 that of a pointer. */
static size_t choose_place(struct fuzz_input *input, const struct target *target)
{
    const struct shmemi_graph *graph = &target->graph;
    size_t place = fuzz_below(input, 1 << 16);
    return place % 8 == 0 && graph->n_links ? graph->links[place / 8 % graph->n_links].at : place % graph->size;
}

static void change(struct fuzz_input *input, const struct target *target)
{
    size_t size = target->graph.size, place = choose_place(input, target), nbytes = 8;
    uint8_t what = fuzz_byte(input);
    uint64_t word = what < 128 ? base + choose_place(input, target) + what % 3 : fuzz_number(input);
    if (what >= 192)
        nbytes = 1 + what % 4;
    memcpy(target->bytes + place, &word, nbytes < size - place ? nbytes : size - place);
}

/* An attacker who can forge an image can also forge its check. */
static void mend_header(struct fuzz_input *input, struct target *target)
{
    struct shmemi_image_header header, good;
    struct shmemi_image image;
    memcpy(&header, target->bytes, sizeof header);
    shmemi_image_describe(&image, &target->graph, target->type, target->random->n_elems, base, false);
    good = image.header;
    uint8_t keep = fuzz_byte(input);
    if (!(keep & 1))
        header = good;
    memcpy(header.magic, good.magic, sizeof good.magic);
    header.version = good.version;
    header.check = shmemi_image_header_check(&header);
    memcpy(target->bytes, &header, sizeof header);
}

static void check_objects(const struct target *target)
{
    struct shmemi_image_header header;
    struct shmemi_graph graph;
    memcpy(&header, target->bytes, sizeof header);
    ALWAYS(header.base == (uintptr_t)target->bytes);
    ALWAYS(!open_walk(&graph, (uintptr_t)(header.base + header.root), target->type, header.n_elems));
    for (size_t i = 0; i < graph.n_extents; i++) {
        size_t at = graph.extents[i].address - (uintptr_t)target->bytes;
        ALWAYS(at >= SHMEMX_DEEP_HEADER && at <= header.size && graph.extents[i].size <= header.size - at);
    }
    shmemi_graph_close(&graph);
}

static void scatter(struct fuzz_input *input, const struct target *target)
{
    const struct shmemi_graph *graph = &target->graph;
    uint64_t *pointers = fuzz_memory(graph->n_links * sizeof *pointers);
    size_t size = graph->size, cut = fuzz_below(input, 1 << 16) % (size + 1);
    for (int after = 0; after < 2; after++) {
        for (size_t i = 0; i < graph->n_links; i++) {
            const struct shmemi_extent *extent = shmemi_graph_extent_at(graph, graph->links[i].at);
            uint64_t pointer;
            memcpy(&pointer, (const char *)extent->address + (graph->links[i].at - extent->at), sizeof pointer);
            ALWAYS(!after || pointers[i] == pointer);
            pointers[i] = pointer;
        }
        if (!after) {
            shmemi_image_scatter(graph, 0, target->bytes, cut);
            shmemi_image_scatter(graph, cut, target->bytes + cut, size - cut);
        }
    }
    free(pointers);
}

/* The target of a seed, reset. Targets are kept, since making one takes longer than using it. */
static struct target *take_target(uint64_t seed)
{
    static struct target targets[TARGETS];
    static bool is_open;
    struct target *target = &targets[seed];
    if (!is_open)
        atexit(shmemi_types_close);
    is_open = true;
    if (!target->random)
        open_target(target, seed);
    shmemi_image_scatter(&target->graph, 0, target->good, target->graph.size);
    memcpy(target->bytes, target->good, target->graph.size);
    return target;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    const char *cause = NULL;
    shmemi_log_hold(true); /* one line is enough of what is refused */
    struct target *target = take_target(fuzz_below(&input, TARGETS));
    if (target->graph.size > MOST_BYTES)
        return 0;
    for (size_t n = fuzz_below(&input, MOST_CHANGES); n; n--)
        change(&input, target);
    mend_header(&input, target);
    scatter(&input, target);
    const struct shmemi_image_header *header = (const struct shmemi_image_header *)target->bytes;
    int rc = shmemi_image_check_header(header, target->graph.size, target->type, &cause);
    ALWAYS(!rc || cause);
    if (!rc && !shmemi_image_relocate("fuzz", target->bytes, target->type, (uintptr_t)target->bytes))
        check_objects(target);
    return 0;
}
