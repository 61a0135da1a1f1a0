/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deep copy: a random graph of private objects (tests/deep/random_graph.h) is put to an object of a PE, in all forms, with
 * room to spare, just enough, a byte too little or none; then copied back into objects with other data, and into new ones.
 * The PE that it was put to compares the image, pointer by pointer, with the same graph made by itself, and finds nothing
 * changed behind it; what the objects do not reach, and the guards between them, stays as it was. What an image looks
 * like is the library's, so its bytes are no part of the model: the owner writes a pattern over it at the epoch's end.
 */
#include "mapped.h"

#include "support/device.h"
#include "tests/deep/random_graph.h"

#include <stdlib.h>

enum { GRAPHS = 1 << 22, ALIGNMENT = 16, FORMS = 4 };
static const char *const form_names[FORMS] = {"put_deep", "put_deep_nbi", "put_deep_signal", "put_deep_signal_nbi"};

static bool has_signal(const struct drawn_deep *d)
{
    return d->form >= 2;
}
static bool is_nbi(const struct drawn_deep *d)
{
    return d->form % 2;
}
static bool fits(const struct drawn_deep *d)
{
    return d->size <= d->capacity;
}

/* The actor's graph, with its data. Links, and so the image's size, are the same on all PEs. */
static struct random_graph *make_graph(const struct drawn_step *step)
{
    const struct drawn_deep *d = &step->deep;
    return random_graph_open(d->graph, step_key(step, 0), d->n_objects);
}

/* Their names have the graph's number in them; shmem_finalize destroys them. */
static shmemx_type_t type_of(const struct drawn_step *step, const struct random_graph *graph)
{
    const int rc = shmemx_types_create(graph->n_types, (const shmemx_type_desc_t *)graph->types);
    EXPECT(step, rc == 0, "shmemx_types_create returned %d", rc);
    return shmemx_type_find(graph->root_type);
}

/* ---- Drawing --------------------------------------------------------------------------------------------------------- */

static size_t capacity_for(struct random_numbers *numbers, size_t size)
{
    switch (below(numbers, 8)) {
    case 0:
        return size - 1;
    case 1:
        return below(numbers, SHMEMX_DEEP_HEADER);
    case 2:
    case 3:
        return size;
    default:
        return size + below(numbers, 300);
    }
}

static bool draw_signal(struct random_numbers *numbers, struct drawn_deep *d)
{
    const struct byte_shape word = shape_of(8);
    if (!has_signal(d))
        return true;
    d->signal_object = (int)below(numbers, (size_t)program.n_objects);
    d->signal_op = one_in(numbers, 2) ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;
    return claim_anywhere(numbers, d->signal_object, &d->target, 1, &word, 8,
                          d->signal_op == SHMEM_SIGNAL_SET ? CLAIM_WRITE : CLAIM_ADD_64, &d->signal_at);
}

static bool draw(struct drawn_step *step, struct random_numbers *numbers)
{
    struct drawn_deep *d = &step->deep;
    d->form = (int)below(numbers, FORMS);
    d->target = (int)below(numbers, (size_t)job.n);
    d->object = (int)below(numbers, (size_t)program.n_objects);
    d->graph = below(numbers, GRAPHS);
    d->n_objects = 1 + below(numbers, one_in(numbers, 4) ? 30 : 5);
    d->makes_new = one_in(numbers, 2);
    struct random_graph *graph = make_graph(step);
    d->size = (size_t)shmemx_put_deep(NULL, 0, graph->root, type_of(step, graph), graph->n_elems, d->target);
    random_graph_close(graph);
    d->capacity = capacity_for(numbers, d->size);
    const struct byte_shape room = shape_of(d->capacity + ALIGNMENT);
    return claim_anywhere(numbers, d->object, &d->target, 1, &room, 1, CLAIM_WRITE, &d->at) && draw_signal(numbers, d);
}

/* ---- The model ------------------------------------------------------------------------------------------------------- */

static void foresee(const struct drawn_step *step)
{
    const struct drawn_deep *d = &step->deep;
    if (!has_signal(d) || !fits(d))
        return;
    unsigned char *word = model_at(d->signal_object, d->target, d->signal_at);
    uint64_t value = step_key(step, 1), old;
    memcpy(&old, word, 8);
    value += d->signal_op == SHMEM_SIGNAL_ADD ? old : 0;
    memcpy(word, &value, 8);
}

/* ---- The actor ------------------------------------------------------------------------------------------------------- */

/* The image begins at the first address that is a multiple of 16; symmetric addresses are so on all PEs alike. */
static size_t image_at(const struct drawn_deep *d)
{
    return d->at + (-(uintptr_t)address_of(d->object, d->at) & (ALIGNMENT - 1));
}

static ptrdiff_t put(const struct drawn_step *step, const struct random_graph *graph, shmemx_type_t type)
{
    const struct drawn_deep *d = &step->deep;
    char *dest = address_of(d->object, image_at(d));
    if (!has_signal(d))
        return (is_nbi(d) ? shmemx_put_deep_nbi : shmemx_put_deep)(dest, d->capacity, graph->root, type, graph->n_elems,
                                                                   d->target);
    uint64_t *signal = (uint64_t *)address_of(d->signal_object, d->signal_at);
    return (is_nbi(d) ? shmemx_put_deep_signal_nbi : shmemx_put_deep_signal)(
        dest, d->capacity, graph->root, type, graph->n_elems, signal, step_key(step, 1), d->signal_op, d->target);
}

/* The objects hold other data when they are given back theirs; what the root does not reach keeps the others. */
static void get_back(const struct drawn_step *step, struct random_graph *graph, shmemx_type_t type,
                     const unsigned char *before)
{
    const struct drawn_deep *d = &step->deep;
    const char *image = address_of(d->object, image_at(d));
    unsigned char *others = random_graph_bytes(graph);
    const ptrdiff_t size =
        (is_nbi(d) ? shmemx_get_deep_nbi : shmemx_get_deep)(graph->root, image, type, graph->n_elems, d->target);
    shmem_quiet();
    EXPECT(step, size == (ptrdiff_t)d->size, "get_deep returned %td instead of %zu", size, d->size);
    const char *difference = random_graph_differs(graph, before, others);
    EXPECT(step, !difference, "get_deep: %s", difference);
    free(others);
}

static void get_new(const struct drawn_step *step, const struct random_graph *graph, shmemx_type_t type)
{
    const struct drawn_deep *d = &step->deep;
    size_t n = 0;
    void *objects = shmemx_get_deep_new(address_of(d->object, image_at(d)), type, &n, d->target);
    struct random_copy copy = random_copy_here();
    const char *difference = objects ? random_graph_compare(graph, &copy, (uintptr_t)objects) : "returned NULL";
    EXPECT(step, !difference && n == graph->n_elems, "get_deep_new: %s, %zu elements",
           difference ? difference : "right", n);
    shmemx_deep_free(objects);
}

static void play(struct drawn_step *step)
{
    const struct drawn_deep *d = &step->deep;
    if (step->actor != job.me)
        return;
    struct random_graph *graph = make_graph(step);
    shmemx_type_t type = type_of(step, graph);
    unsigned char *before = random_graph_bytes(graph);
    const ptrdiff_t size = put(step, graph, type);
    EXPECT(step, size == (ptrdiff_t)d->size, "%s returned %td instead of %zu", form_names[d->form], size, d->size);
    if (is_nbi(d))
        shmem_quiet();
    const char *difference = random_graph_differs(graph, before, before);
    EXPECT(step, !difference, "the objects after %s: %s", form_names[d->form], difference);
    random_graph_scramble(graph, step_key(step, 2)); /* as soon as the call allows it */
    shmem_quiet();
    if (fits(d)) {
        get_back(step, graph, type, before);
        if (d->makes_new)
            get_new(step, graph, type);
    }
    free(before);
    random_graph_close(graph);
}

/* ---- The PE that has the image ----------------------------------------------------------------------------------------- */

/* What pointers in the image are: addresses of the owner, or offsets in an OpenCL buffer. */
static uint64_t base_of(const struct drawn_deep *d)
{
    struct drawn_object *object = &program.objects[d->object];
    const size_t at = image_at(d);
    if (object_is_host(object))
        return (uintptr_t)address_of(d->object, at);
    return mapped_device()->ops->memtype == OSHM_MEMTYPE_OPENCL ? at : (uintptr_t)mapped_argument(object) + at;
}

static void check_image(const struct drawn_step *step, const unsigned char *found)
{
    const struct drawn_deep *d = &step->deep;
    shmemx_deep_info_t info;
    struct random_graph *graph = make_graph(step);
    struct random_copy copy = random_copy_in(found, base_of(d), d->size);
    const int rc = shmemx_deep_info(address_of(d->object, image_at(d)), NULL, &info, job.me);
    EXPECT(step, rc == 0 && info.size == d->size && info.nelems == graph->n_elems,
           "deep_info returned %d, size %zu, %zu elements", rc, info.size, info.nelems);
    const char *difference = random_graph_compare(graph, &copy, info.root);
    EXPECT(step, !difference, "the image: %s", difference);
    random_graph_close(graph);
}

static void check_all(const struct drawn_step *step)
{
    const struct drawn_deep *d = &step->deep;
    const size_t all = d->capacity + ALIGNMENT, skip = image_at(d) - d->at, image = fits(d) ? d->size : 0;
    const unsigned char *old = model_at(d->object, job.me, d->at);
    unsigned char *found = model_malloc(all);
    object_load(d->object, d->at, found, all);
    for (size_t i = 0; i < all; i++)
        EXPECT(step, found[i] == old[i] || (i >= skip && i - skip < image),
               "byte %zu of the room for the image, of which %zu bytes were written, is %#x instead of %#x", i, image,
               found[i], old[i]);
    if (image)
        check_image(step, found + skip);
    free(found);
}

static void end(struct drawn_step *step)
{
    const struct drawn_deep *d = &step->deep;
    const size_t all = d->capacity + ALIGNMENT;
    unsigned char *model = model_at(d->object, d->target, d->at);
    if (d->target == job.me)
        check_all(step);
    pattern_fill(model, all, step_key(step, 3));
    if (d->target == job.me)
        object_store(d->object, d->at, model, all);
}

static void print(const struct drawn_step *step, FILE *out)
{
    const struct drawn_deep *d = &step->deep;
    fprintf(out, "PE %d: %s of graph %zu of up to %zu arrays, %zu bytes, to PE %d, room for %zu at %s + %zu%s",
            step->actor, form_names[d->form], d->graph, d->n_objects, d->size, d->target, d->capacity,
            object_text(d->object), d->at, d->makes_new ? "; also into new objects" : "");
    if (has_signal(d))
        fprintf(out, "; signal %s at %s + %zu", d->signal_op == SHMEM_SIGNAL_ADD ? "add" : "set",
                object_text(d->signal_object), d->signal_at);
}

const struct step_family deep_copies = {"deep", 2, draw, foresee, play, end, print};
