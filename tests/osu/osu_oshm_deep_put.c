/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of a deep put: shmemx_put_deep of a linked list from PE 0's private memory to PE 1, and shmem_quiet. Each
 * node of the list points to an array; sizes are the bytes of all arrays together.
 *
 * --raw: the plain copy of as many bytes as the image has, which lie in one piece.
 */
#include "latency.h"
#include "osu_report.h"

#include <shmemx.h>
#include <stddef.h>
#include <stdlib.h>

enum { ARRAY };

static const struct osu_number_option numbers[] = {
    [ARRAY] = {"array", "bytes of the array that a node points to", 1, 1 << 30, 256},
    {NULL, NULL, 0, 0, 0},
};

struct node {
    struct node *next;
    long length;
    unsigned char *array;
};

/* At most: the image's header, and what aligning a node and its array may take. */
enum { NODE_ROOM = sizeof(struct node) + 64 };

static shmemx_type_t type;
static size_t array_bytes;
static struct node *list;  /* PE 0 */
static size_t image_bytes; /* of the last put */
static size_t capacity;    /* of the destination */

static size_t nodes_of(size_t size)
{
    return size > 0 ? (size + array_bytes - 1) / array_bytes : 1;
}

static void repeat(void *dest, const void *source, size_t size, long count)
{
    (void)source;
    (void)size;
    for (long i = 0; i < count; i++) {
        ptrdiff_t image = shmemx_put_deep(dest, capacity, list, type, 1, 1);
        if (image < 0 || (size_t)image > capacity)
            die("shmemx_put_deep: %td, where there is room for %zu bytes", image, capacity);
        shmem_quiet();
        image_bytes = (size_t)image;
    }
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

static void free_list(void)
{
    while (list) {
        struct node *next = list->next;
        free(list->array);
        free(list);
        list = next;
    }
}

/* A node in front of the list whose array has the bytes of the pattern from `from` on. */
static void add_node(size_t from, size_t length, unsigned seed)
{
    struct node *node = malloc(sizeof *node);
    unsigned char *array = malloc(length + 1); /* which may be empty */
    if (!node || !array)
        die("malloc: no room for a node of %zu bytes", length);
    for (size_t i = 0; i < length; i++)
        array[i] = osu_pattern(from + i, seed);
    *node = (struct node){list, (long)length, array};
    list = node;
}

static bool is_list(const struct node *node, size_t size, unsigned seed)
{
    bool same = true;
    size_t at = 0;
    for (size_t nodes = nodes_of(size); nodes > 0 && same && node; nodes--, node = node->next) {
        size_t length = size - at < array_bytes ? size - at : array_bytes;
        same = node->length == (long)length;
        for (size_t i = 0; same && i < length; i++)
            same = node->array[i] == osu_pattern(at + i, seed);
        at += length;
    }
    return same && !node && at == size;
}

/* ---- Layout ------------------------------------------------------------------------------------------------------ */

static size_t bytes(size_t size)
{
    return size;
}

static size_t span(size_t size)
{
    return SHMEMX_DEEP_HEADER + size + nodes_of(size) * NODE_ROOM;
}

static void fill(struct osu_memory *memory, size_t size, unsigned seed)
{
    (void)memory;
    free_list();
    for (size_t i = nodes_of(size); i > 0; i--) {
        size_t from = (i - 1) * array_bytes;
        add_node(from, size - from < array_bytes ? size - from : array_bytes, seed);
    }
}

static void clear(struct osu_memory *memory, size_t size, unsigned seed)
{
    osu_memory_clear(memory, span(size), seed);
}

/* The library makes the list anew from the image, which it checks; after the image nothing has changed. */
static bool check(struct osu_memory *memory, size_t size, unsigned seed)
{
    shmemx_deep_info_t info;
    size_t n;
    if (shmemx_deep_info(memory->address, type, &info, shmem_my_pe()))
        return false;
    struct node *copy = shmemx_get_deep_new(memory->address, type, &n, shmem_my_pe());
    bool same = copy && n == 1 && is_list(copy, size, seed);
    shmemx_deep_free(copy);
    return same && osu_memory_holds(memory, info.size, info.size + OSU_GUARD, seed, NULL);
}

static bool copy(struct device *device, const struct device_copy *ends, size_t size, long count)
{
    (void)size;
    return plain_copy(device, ends, image_bytes, count);
}

static const struct latency_layout layout = {
    .bytes = bytes,
    .span = span,
    .fill = fill,
    .clear = clear,
    .check = check,
    .copy = copy,
};

/* ---- Program ----------------------------------------------------------------------------------------------------- */

static bool set_up(const struct osu_session *session)
{
    static const shmemx_field_t fields[] = {
        {"next", offsetof(struct node, next), SHMEMX_FIELD_POINTER, "struct node", 0, NULL},
        {"length", offsetof(struct node, length), SHMEMX_FIELD_VALUE, "long", 0, NULL},
        {"array", offsetof(struct node, array), SHMEMX_FIELD_POINTER, "unsigned char", 0, "length"},
    };
    type = shmemx_type_create("struct node", sizeof(struct node), sizeof fields / sizeof fields[0], fields);
    if (!type)
        die("shmemx_type_create: the type of the nodes was refused");
    array_bytes = session->options.number[ARRAY];
    capacity = span(session->options.max_size);
    return true;
}

static const struct latency_test test = {
    .program =
        {
            .name = "osu_oshm_deep_put",
            .title = "OSU OpenSHMEM Deep Put Test",
            .summary = "Latency of shmemx_put_deep of a list in PE 0's private memory to PE 1, and shmem_quiet.",
            .columns = OSU_SHOW_LATENCY | OSU_SHOW_BANDWIDTH,
            .full_columns = OSU_SHOW_TAILS | OSU_SHOW_ITERATIONS,
            .raw_columns = OSU_SHOW_RAW,
            .two_pes = true,
            .placement = OSU_PRIVATE_OBJECTS,
            .max_size = 1 << 20,
            .large_from = 8193,
            .iterations = 1000,
            .iterations_large = 100,
            .warmup = 100,
            .warmup_large = 10,
            .numbers = numbers,
        },
    .source_pe = OSU_PUT_SOURCE,
    .repeat = repeat,
    .layout = &layout,
    .set_up = set_up,
};

int main(int argc, char **argv)
{
    int status = latency_main(&test, argc, argv);
    free_list();
    return status;
}
