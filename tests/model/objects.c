/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The symmetric objects of a program and their models: blocks of the heap, a piece of static data, mapped buffers with
 * unmapped bytes around them. All bytes of all of them are compared after each epoch.
 */
#include "tester.h"

#include "mapped.h"

#include <stdlib.h>

enum { STATIC_BYTES = 192 << 10 };

static unsigned char static_object[STATIC_BYTES] __attribute__((aligned(4096)));

static size_t object_size(struct random_numbers *numbers)
{
    static const size_t least[] = {2 << 10, 24 << 10, 1 << 20}, more[] = {14 << 10, 136 << 10, 1536 << 10};
    return (least[program.scale] + below(numbers, more[program.scale])) / 8 * 8;
}

static void draw_one(struct random_numbers *numbers, struct drawn_object *object, enum object_kind kind)
{
    static const size_t around[] = {0, 8, 64, 192, 4096, 4104};
    const size_t n_around = sizeof around / sizeof around[0];
    *object = (struct drawn_object){.kind = kind, .way = (int)below(numbers, 1 << 20), .size = object_size(numbers)};
    size_t after = around[below(numbers, n_around)];
    if (kind == IN_STATIC) {
        object->whole = STATIC_BYTES;
        object->size = object->size < STATIC_BYTES / 2 ? object->size : STATIC_BYTES / 2;
        object->before = 8 * below(numbers, (STATIC_BYTES - object->size) / 8);
        return;
    }
    if (kind == IN_MAPPED)
        object->before = mapped_before(object->way);
    else
        object->before = around[below(numbers, n_around)];
    object->whole = object->before + object->size + after;
}

void objects_draw(struct random_numbers *numbers)
{
    const int n_heap = 2 + (int)below(numbers, 3), n_mapped = job.has_device ? (int)below(numbers, 3) : 0;
    program.n_objects = 0;
    for (int i = 0; i < n_heap; i++)
        draw_one(numbers, &program.objects[program.n_objects++], IN_HEAP);
    draw_one(numbers, &program.objects[program.n_objects++], IN_STATIC);
    for (int i = 0; i < n_mapped && program.scale < 2; i++)
        draw_one(numbers, &program.objects[program.n_objects++], IN_MAPPED);
}

/* ---- Memory ---------------------------------------------------------------------------------------------------------- */

static void *heap_memory(const struct drawn_object *object)
{
    switch (object->way % 5) {
    case 0:
        return shmem_align((size_t)8 << object->way / 5 % 13, object->whole);
    case 1:
        return shmem_calloc(object->whole, 1);
    case 2:
        return shmem_malloc_with_hints(object->whole, SHMEM_MALLOC_ATOMICS_REMOTE);
    case 3:
        return shmem_realloc(shmem_malloc(64), object->whole);
    default:
        return shmem_malloc(object->whole);
    }
}

static void make_memory(struct drawn_object *object)
{
    if (object->kind == IN_MAPPED) {
        mapped_make(object);
        return;
    }
    object->memory = object->kind == IN_STATIC ? static_object : heap_memory(object);
    if (!object->memory)
        wrong(-1, "no %zu bytes of the heap", object->whole);
    object->base = (char *)object->memory + object->before;
}

static void free_memory(struct drawn_object *object)
{
    if (object->kind == IN_HEAP)
        shmem_free(object->memory);
    else if (object->kind == IN_MAPPED)
        mapped_free(object);
}

void object_foresee_renewal(int number, uint64_t key)
{
    struct drawn_object *object = &program.objects[number];
    for (int pe = 0; pe < job.n; pe++)
        pattern_fill(object->model[pe], object->whole, key + (uint64_t)pe * 0x100000001b3);
}

/* What the model has. */
static void fill(int number)
{
    struct drawn_object *object = &program.objects[number];
    if (object_is_host(object))
        memcpy(object->memory, object->model[job.me], object->whole);
    else
        mapped_write(object, 0, object->model[job.me], object->whole);
}

void objects_make(void)
{
    for (int i = 0; i < program.n_objects; i++) {
        struct drawn_object *object = &program.objects[i];
        make_memory(object);
        for (int pe = 0; pe < job.n; pe++)
            object->model[pe] = model_malloc(object->whole + 8);
        object_foresee_renewal(i, mix(program.seed + (uint64_t)i));
        fill(i);
    }
    shmem_barrier_all();
}

void objects_free(void)
{
    for (int i = program.n_objects; i--;) {
        free_memory(&program.objects[i]);
        for (int pe = 0; pe < job.n; pe++)
            free(program.objects[i].model[pe]);
    }
}

/* The new memory is taken before the old one is given back, or after that. */
void object_renew(int number, uint64_t key)
{
    struct drawn_object *object = &program.objects[number], old = *object;
    if (object->kind == IN_HEAP && key % 2) {
        make_memory(object);
        free_memory(&old);
    } else {
        free_memory(&old);
        make_memory(object);
    }
    fill(number);
}

void object_realloc(int number)
{
    struct drawn_object *object = &program.objects[number];
    object->memory = shmem_realloc(shmem_realloc(object->memory, 2 * object->whole), object->whole);
    if (!object->memory)
        wrong(-1, "shmem_realloc of %zu bytes failed", 2 * object->whole);
    object->base = (char *)object->memory + object->before;
}

void object_store(int number, size_t offset, const void *source, size_t nbytes)
{
    struct drawn_object *object = &program.objects[number];
    if (!nbytes)
        return;
    if (object_is_host(object))
        memcpy(object->memory + object->before + offset, source, nbytes);
    else
        mapped_write(object, object->before + offset, source, nbytes);
}

void object_load(int number, size_t offset, void *dest, size_t nbytes)
{
    struct drawn_object *object = &program.objects[number];
    if (!nbytes)
        return;
    if (object_is_host(object))
        memcpy(dest, object->memory + object->before + offset, nbytes);
    else
        mapped_read(object, object->before + offset, dest, nbytes);
}

unsigned char *model_at(int object, int pe, size_t offset)
{
    return program.objects[object].model[pe] + program.objects[object].before + offset;
}

char *address_of(int object, size_t offset)
{
    return program.objects[object].base + offset;
}

/* ---- Comparison ------------------------------------------------------------------------------------------------------ */

const char *object_text(int number)
{
    static const char *const kinds[] = {"heap", "static data", "mapped"};
    static char texts[4][64];
    static int turn;
    const struct drawn_object *object = &program.objects[number];
    char *text = texts[turn++ % 4];
    snprintf(text, sizeof texts[0], "%s #%d", kinds[object->kind], number);
    return text;
}

static void report(int number, const unsigned char *found, int epoch)
{
    const struct drawn_object *object = &program.objects[number];
    const unsigned char *expected = object->model[job.me];
    size_t first = 0, last = object->whole - 1, n = 0;
    while (found[first] == expected[first])
        first++;
    while (found[last] == expected[last])
        last--;
    for (size_t i = first; i <= last; i++)
        n += found[i] != expected[i];
    wrong(-1,
          "epoch %d, %s: %zu wrong bytes between offsets %td and %td (of 0 to %zu): the first is %#x instead of %#x",
          epoch, object_text(number), n, (ptrdiff_t)(first - object->before), (ptrdiff_t)(last - object->before),
          object->size - 1, found[first], expected[first]);
}

void objects_compare(int epoch)
{
    for (int i = 0; i < program.n_objects; i++) {
        struct drawn_object *object = &program.objects[i];
        unsigned char *found = object->memory;
        if (!object_is_host(object)) {
            found = model_malloc(object->whole);
            mapped_read(object, 0, found, object->whole);
        }
        if (memcmp(found, object->model[job.me], object->whole) != 0)
            report(i, found, epoch);
        if (!object_is_host(object))
            free(found);
    }
}
