/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Objects of megabytes, and many smaller ones: put_deep and get_deep in pieces, by threads, from prepared memory and
 * from other memory; copies in a space, there and back. The owner checks what has arrived.
 */
#include "check.h"
#include "deep_check.h"

#include <stddef.h>
#include <stdint.h>

enum { INLINE = (1 << 20) + 5000, NODES = 2, CHUNK = 100001, CHUNKS = 40, AREA = 10 << 20 };

/* Too small to be transferred alone. */
struct chunk {
    unsigned char bytes[CHUNK];
    struct chunk *next;
};

/* Between its pointers there is more than a megabyte. */
struct node {
    char *data; /* size bytes */
    unsigned char bytes[INLINE];
    size_t size;
    struct node *next;
    struct chunk *chunks;
};

static shmemx_type_t type;

static void create_type(void)
{
    static const shmemx_field_t fields[] = {
        {"data", offsetof(struct node, data), SHMEMX_FIELD_POINTER, "char", 0, "size"},
        {"size", offsetof(struct node, size), SHMEMX_FIELD_VALUE, "size_t", 0, NULL},
        {"next", offsetof(struct node, next), SHMEMX_FIELD_POINTER, "node", 0, NULL},
        {"chunks", offsetof(struct node, chunks), SHMEMX_FIELD_POINTER, "chunk", 0, NULL},
    };
    static const shmemx_field_t of_chunk[] = {
        {"next", offsetof(struct chunk, next), SHMEMX_FIELD_POINTER, "chunk", 0, NULL}};
    CHECK(shmemx_type_create("chunk", sizeof(struct chunk), 1, of_chunk));
    type = shmemx_type_create("node", sizeof(struct node), 4, fields);
    CHECK(type);
}

static void fill(struct node *nodes, unsigned seed)
{
    for (int i = 0; i < NODES; i++) {
        check_fill(nodes[i].bytes, INLINE, seed + (unsigned)i);
        check_fill(nodes[i].data, nodes[i].size, seed + 40 + (unsigned)i);
    }
    for (struct chunk *chunk = nodes[0].chunks; chunk; chunk = chunk->next)
        check_fill(chunk->bytes, CHUNK, ++seed);
}

static struct node *make_nodes(void)
{
    struct node *nodes = check_malloc(NODES * sizeof *nodes);
    for (int i = 0; i < NODES; i++) {
        nodes[i].size = (1u << 20) + 4321 - 600000u * (unsigned)i;
        nodes[i].data = check_malloc(nodes[i].size);
        nodes[i].next = i + 1 < NODES ? &nodes[i + 1] : nodes;
        nodes[i].chunks = NULL;
    }
    for (int i = 0; i < CHUNKS; i++) {
        struct chunk *chunk = check_malloc(sizeof *chunk);
        chunk->next = nodes[0].chunks;
        nodes[0].chunks = chunk;
    }
    return nodes;
}

static void free_nodes(struct node *nodes)
{
    for (struct chunk *chunk = nodes[0].chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    for (int i = 0; i < NODES; i++)
        free(nodes[i].data);
    free(nodes);
}

static void check_chunks(const char *image, size_t size, uint64_t base, uint64_t at, unsigned seed)
{
    int n = 0;
    while (at) {
        CHECK(at - base <= size - sizeof(struct chunk));
        const struct chunk *chunk = (const void *)(image + (at - base));
        check_bytes("chunk", chunk->bytes, CHUNK, ++seed);
        at = (uintptr_t)chunk->next;
        n++;
    }
    CHECK(n == CHUNKS);
}

/* The nodes in the image, whose first byte has this address, or offset, by the values of its pointers. */
static void check_image(const char *image, size_t size, uint64_t base, unsigned seed)
{
    uint64_t at = base + SHMEMX_DEEP_HEADER, first = at;
    for (int i = 0; i < NODES; i++) {
        CHECK(at - base <= size - sizeof(struct node));
        const struct node *node = (const void *)(image + (at - base));
        uint64_t data = (uintptr_t)node->data;
        CHECK(data - base <= size - node->size);
        check_bytes("inside of the node", node->bytes, INLINE, seed + (unsigned)i);
        check_bytes("data", image + (data - base), node->size, seed + 40 + (unsigned)i);
        at = (uintptr_t)node->next;
        if (node->chunks)
            check_chunks(image, size, base, (uintptr_t)node->chunks, seed);
    }
    CHECK(at == first);
}

static void check_nodes(const struct node *nodes, unsigned seed)
{
    for (int i = 0; i < NODES; i++) {
        check_bytes("inside of the node", nodes[i].bytes, INLINE, seed + (unsigned)i);
        check_bytes("data", nodes[i].data, nodes[i].size, seed + 40 + (unsigned)i);
        CHECK(nodes[i].next == (i + 1 < NODES ? &nodes[i + 1] : nodes));
    }
    check_chunks(NULL, SIZE_MAX, 0, (uintptr_t)nodes[0].chunks, seed);
}

/* To the next PE, which changes it, and back. */
static void check_area(const struct deep_area *area, struct node *nodes, unsigned seed)
{
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n;
    char *image = check_malloc(AREA);
    fill(nodes, seed + (unsigned)me);
    ptrdiff_t size = seed % 2 ? shmemx_put_deep(area->address, area->size, nodes, type, 1, next)
                              : shmemx_put_deep_nbi(area->address, area->size, nodes, type, 1, next);
    CHECK_THAT(size > 0 && size < AREA, "%s: %zd", area->name, size);
    shmem_barrier_all();
    deep_read(area, 0, image, (size_t)size);
    check_image(image, (size_t)size, area->base, seed + (unsigned)before);
    fill(nodes, 0);
    CHECK(shmemx_get_deep(nodes, area->address, type, 1, next) == size);
    check_nodes(nodes, seed + (unsigned)me);
    shmem_barrier_all();
    free(image);
}

static void check_areas(struct node *nodes)
{
    struct deep_area areas[4];
    int n = deep_open_areas(areas, AREA);
    for (int i = 0; i < n; i++) {
        if (areas[i].size < AREA)
            continue;
        check_area(&areas[i], nodes, 2);
        CHECK(!shmemx_prepare(nodes, NODES * sizeof *nodes) && !shmemx_prepare(nodes[0].data, nodes[0].size));
        check_area(&areas[i], nodes, 3);
        CHECK(!shmemx_release(nodes) && !shmemx_release(nodes[0].data));
    }
    deep_close_areas(areas, n);
}

static void check_space(struct device *device, struct node *nodes)
{
    shmemx_deep_space_attr_t attr = {.memory_type = device->ops->memtype, .size = AREA};
    uint64_t copy;
    attr.buffer = device_alloc(device, AREA);
    shmemx_deep_space_t space = shmemx_deep_space_create(&attr);
    CHECK(space);
    fill(nodes, 5);
    CHECK(!shmemx_deep_map(space, nodes, type, 1, SHMEMX_DEEP_TO, NULL, &copy));
    fill(nodes, 6);
    CHECK(!shmemx_deep_unmap(space, nodes, SHMEMX_DEEP_FROM));
    check_nodes(nodes, 5);
    shmemx_deep_space_destroy(space);
    device_free(device, attr.buffer);
}

int main(void)
{
    static const struct device_ops *const kinds[] = {&device_opencl_ops, &device_cuda_ops};
    setenv("SHMEM_COPY_THREADS", "2", 0); /* even when this PE's share of the cores is too small for any */
    setenv("SHMEM_COPY_CHUNK", "256k", 0);
    shmem_init();
    create_type();
    struct node *nodes = make_nodes();
    check_areas(nodes);
    for (int i = 0; i < 2; i++) {
        struct device *device = map_open_device(kinds[i]);
        if (device)
            check_space(device, nodes);
    }
    free_nodes(nodes);
    return check_end();
}
