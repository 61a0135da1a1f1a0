/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which objects are mapped, how long, and the pointers of their copies meanwhile: counts, nesting, release, objects
 * inside others, skipped fields, refusals that change nothing. Each test uses a list whose nodes have data.
 */
#include "check.h"
#include "../deep/space_device.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

enum { N = 5, M = 3, BUFFER = 64 << 10, GUARD = 256 };

struct node {
    int64_t value;
    int n;
    double *data; /* n */
    struct node *next;
    void *tag; /* opaque */
};

static struct space_under_test test;
static shmemx_type_t type;
static struct node list[N];
static double data[N][M];

/* ---- The list ---------------------------------------------------------------------------------------------------- */

static void make_type(void)
{
    static const shmemx_field_t fields[] = {
        {"n", offsetof(struct node, n), SHMEMX_FIELD_VALUE, "int", 0, NULL},
        {"data", offsetof(struct node, data), SHMEMX_FIELD_POINTER, "double", 0, "n"},
        {"next", offsetof(struct node, next), SHMEMX_FIELD_POINTER, "node", 0, NULL},
        {"tag", offsetof(struct node, tag), SHMEMX_FIELD_OPAQUE, NULL, 0, NULL},
    };
    type = shmemx_type_create("node", sizeof(struct node), sizeof fields / sizeof fields[0], fields);
    CHECK(type);
}

static void fill(int seed)
{
    for (int i = 0; i < N; i++) {
        list[i] = (struct node){100 * seed + i, M, data[i], i + 1 < N ? &list[i + 1] : NULL, &list[(i * 3) % N]};
        for (int k = 0; k < M; k++)
            data[i][k] = seed + i + k / 8.;
    }
}

static void begin(struct device *device, int lifetime)
{
    fill(1);
    space_begin(&test, device, BUFFER, &(shmemx_deep_space_attr_t){.lifetime = lifetime});
}

static void end(void)
{
    space_end(&test);
}

static uint64_t on_device(const void *address)
{
    return shmemx_deep_device(test.space, address);
}

static struct node device_node(int i)
{
    struct node node;
    CHECK(on_device(&list[i]));
    space_read(&test, &node, on_device(&list[i]), sizeof node);
    return node;
}

static uint64_t pointer(const void *value)
{
    return (uint64_t)(uintptr_t)value;
}

/* A node on the device equals that of the host except for its pointers, which lead to copies on the device. */
static void check_node(int i, bool has_data)
{
    struct node node = device_node(i);
    CHECK(node.value == list[i].value && node.n == M && node.tag == list[i].tag);
    CHECK(pointer(node.data) == (has_data ? on_device(data[i]) : 0));
    CHECK(pointer(node.next) == (list[i].next ? on_device(list[i].next) : 0));
    if (!has_data)
        return;
    double found[M];
    space_read(&test, found, pointer(node.data), sizeof found);
    CHECK(!memcmp(found, data[i], sizeof found));
}

static void check_list(bool has_data)
{
    for (int i = 0; i < N; i++)
        check_node(i, has_data);
}

/* Change the copy as a kernel might. */
static void set_on_device(int i, int64_t value)
{
    space_write(&test, on_device(&list[i].value), &value, sizeof value);
}

static int map(const struct node *root, int flags, const char *const *skip)
{
    uint64_t device = 0;
    int rc = shmemx_deep_map(test.space, root, type, 1, flags, skip, &device);
    CHECK(rc || device == on_device(root));
    return rc;
}

static int unmap(const struct node *root, int flags)
{
    return shmemx_deep_unmap(test.space, root, flags);
}

static const char *const without_data[] = {"node.data", NULL};

/* ---- Counted ----------------------------------------------------------------------------------------------------- */

static void check_counts(struct device *device)
{
    begin(device, SHMEMX_DEEP_COUNTED);
    CHECK(!map(&list[0], SHMEMX_DEEP_TO, NULL));
    check_list(true);
    CHECK(on_device(&data[1][2]) == on_device(&data[1][0]) + 2 * sizeof(double));
    CHECK(!map(&list[2], SHMEMX_DEEP_TO, NULL));
    set_on_device(1, -1);
    set_on_device(3, -3);
    CHECK(!unmap(&list[0], SHMEMX_DEEP_FROM)); /* the tail stays */
    CHECK(list[1].value == -1 && list[3].value == 103);
    CHECK(list[1].next == &list[2] && list[1].data == data[1] && list[1].tag == &list[3]);
    CHECK(!on_device(&list[1]) && !on_device(data[1]) && on_device(&list[2]) && on_device(data[2]));
    CHECK(unmap(&list[0], 0) == -ENOENT);
    CHECK(!unmap(&list[2], SHMEMX_DEEP_FROM));
    CHECK(list[3].value == -3 && !on_device(&list[4]));
    end();
}

/* Pointers to copies that another map has made; the flag ALWAYS. */
static void check_always(struct device *device)
{
    begin(device, SHMEMX_DEEP_COUNTED);
    CHECK(!map(&list[2], SHMEMX_DEEP_TO, NULL));
    list[3].value = 5;
    CHECK(!map(&list[0], SHMEMX_DEEP_TO, NULL));
    CHECK(device_node(3).value == 103 && device_node(0).value == 100);
    CHECK(pointer(device_node(1).next) == on_device(&list[2]));
    CHECK(!map(&list[1], SHMEMX_DEEP_TO | SHMEMX_DEEP_ALWAYS, NULL));
    check_list(true);
    set_on_device(0, -1);
    set_on_device(3, -4);
    CHECK(!unmap(&list[1], SHMEMX_DEEP_FROM | SHMEMX_DEEP_ALWAYS));
    CHECK(list[3].value == -4 && list[0].value == 100 && on_device(&list[3]));
    CHECK(!unmap(&list[2], 0) && on_device(&list[2]));
    CHECK(!unmap(&list[0], SHMEMX_DEEP_FROM));
    CHECK(list[0].value == -1 && !on_device(&list[2]));
    end();
}

static void check_update(struct device *device)
{
    begin(device, SHMEMX_DEEP_COUNTED);
    CHECK(!map(&list[1], SHMEMX_DEEP_TO, NULL));
    fill(2);
    CHECK(!shmemx_deep_update(test.space, &list[1], SHMEMX_DEEP_TO));
    for (int i = 1; i < N; i++)
        check_node(i, true);
    set_on_device(4, 77);
    CHECK(!shmemx_deep_update(test.space, &list[1], SHMEMX_DEEP_FROM));
    CHECK(list[4].value == 77 && list[1].value == 201 && list[3].next == &list[4]);
    CHECK(shmemx_deep_update(test.space, &list[0], SHMEMX_DEEP_TO) == -ENOENT);
    CHECK(shmemx_deep_update(test.space, &list[1], SHMEMX_DEEP_TO | SHMEMX_DEEP_FROM) == -EINVAL);
    end();
}

/* ---- Structured and explicit ------------------------------------------------------------------------------------- */

static void check_structured(struct device *device)
{
    begin(device, SHMEMX_DEEP_STRUCTURED);
    CHECK(!map(&list[2], SHMEMX_DEEP_TO, NULL));
    CHECK(!map(&list[0], SHMEMX_DEEP_TO, NULL));
    CHECK(!map(&list[0], SHMEMX_DEEP_TO, NULL));
    check_list(true);
    CHECK(unmap(&list[2], SHMEMX_DEEP_FROM) == -EBUSY);
    CHECK(unmap(&list[3], SHMEMX_DEEP_FROM) == -ENOENT);
    set_on_device(0, -1);
    set_on_device(4, -5);
    CHECK(!unmap(&list[0], SHMEMX_DEEP_FROM));
    CHECK(list[0].value == 100 && on_device(&list[0]));
    CHECK(!unmap(&list[0], SHMEMX_DEEP_FROM));
    CHECK(list[0].value == -1 && list[4].value == 104 && !on_device(&list[1]) && on_device(&list[2]));
    CHECK(!unmap(&list[2], SHMEMX_DEEP_FROM));
    CHECK(list[4].value == -5 && !on_device(&list[2]));
    end();
}

static void check_explicit(struct device *device)
{
    begin(device, SHMEMX_DEEP_EXPLICIT);
    CHECK(!map(&list[0], SHMEMX_DEEP_TO, NULL));
    CHECK(!map(&list[3], SHMEMX_DEEP_TO, NULL));
    set_on_device(0, -1);
    CHECK(!unmap(&list[0], SHMEMX_DEEP_FROM) && list[0].value == 100);
    CHECK(!unmap(&list[0], SHMEMX_DEEP_FROM | SHMEMX_DEEP_ALWAYS) && list[0].value == -1);
    CHECK(on_device(&list[0]) && on_device(&list[4]));
    CHECK(!map(&list[0], SHMEMX_DEEP_TO, NULL));
    set_on_device(2, -2);
    CHECK(!shmemx_deep_release(test.space, &list[0], SHMEMX_DEEP_FROM));
    CHECK(list[2].value == -2 && !on_device(&list[0]) && !on_device(&list[4]));
    CHECK(shmemx_deep_release(test.space, &list[0], 0) == -ENOENT);
    CHECK(unmap(&list[0], 0) == -ENOENT);
    CHECK(!map(&list[3], SHMEMX_DEEP_TO, NULL)); /* anew */
    check_node(4, true);
    CHECK(!shmemx_deep_release(test.space, &list[3], 0) && !on_device(&list[3]));
    end();
}

/* In a counted space, too, other maps of the same objects then have nothing to unmap. */
static void check_release(struct device *device)
{
    begin(device, SHMEMX_DEEP_COUNTED);
    CHECK(!map(&list[0], SHMEMX_DEEP_TO, NULL) && !map(&list[0], SHMEMX_DEEP_TO, NULL));
    CHECK(!map(&list[2], SHMEMX_DEEP_TO, NULL));
    CHECK(!shmemx_deep_release(test.space, &list[0], 0));
    CHECK(!on_device(&list[2]));
    CHECK(unmap(&list[0], 0) == -ENOENT && !unmap(&list[2], SHMEMX_DEEP_FROM));
    CHECK(!map(&list[0], SHMEMX_DEEP_TO, NULL));
    check_list(true);
    end();
}

/* ---- Pointers ---------------------------------------------------------------------------------------------------- */

/* A pointer is set as long as its target is mapped. */
static void check_selection(struct device *device)
{
    static const char *const wrong[] = {"node.date", NULL};
    begin(device, SHMEMX_DEEP_COUNTED);
    CHECK(map(&list[0], SHMEMX_DEEP_TO, wrong) == -EINVAL && !on_device(&list[0]));
    CHECK(!map(&list[0], SHMEMX_DEEP_TO, without_data));
    check_list(false);
    CHECK(!map(&list[0], 0, NULL));
    CHECK(!shmemx_deep_update(test.space, &list[0], SHMEMX_DEEP_TO));
    check_list(true);
    CHECK(!map(&list[3], 0, NULL));
    CHECK(!unmap(&list[0], 0)); /* the newest */
    for (int i = 0; i < N; i++)
        CHECK(pointer(device_node(i).data) == (i < 3 ? 0 : on_device(data[i])) && !on_device(data[i]) == (i < 3));
    CHECK(!unmap(&list[3], 0));
    check_list(false);
    CHECK(!unmap(&list[0], 0) && !on_device(&list[0]));
    CHECK(list[0].data == data[0]);
    end();
}

/* Only the pointers need to be right. */
static void check_pointers_only(struct device *device)
{
    begin(device, SHMEMX_DEEP_COUNTED);
    CHECK(!map(&list[0], 0, NULL));
    for (int i = 0; i < N; i++)
        CHECK(pointer(device_node(i).data) == on_device(data[i]) && device_node(i).tag == list[i].tag);
    CHECK(!unmap(&list[0], 0) && list[0].value == 100);
    end();
}

/* Objects inside one that is mapped as bytes: their pointers are set, and never copied back. */
static void check_arena(struct device *device)
{
    begin(device, SHMEMX_DEEP_COUNTED);
    uint64_t arena = 0;
    CHECK(!shmemx_deep_map(test.space, list, shmemx_type_find("char"), sizeof list, SHMEMX_DEEP_TO, NULL, &arena));
    CHECK(on_device(&list[2]) == arena + 2 * sizeof list[0]);
    CHECK(device_node(1).next == &list[2]);
    CHECK(!map(&list[1], SHMEMX_DEEP_TO, NULL));
    for (int i = 1; i < N; i++)
        check_node(i, true);
    CHECK(device_node(0).next == &list[1]);
    set_on_device(2, -2);
    CHECK(!unmap(&list[1], SHMEMX_DEEP_FROM) && list[2].value == 102);
    CHECK(!device_node(3).next && !device_node(3).data && !on_device(data[2]));
    CHECK(!unmap((struct node *)list, SHMEMX_DEEP_FROM));
    CHECK(list[2].value == -2 && list[2].next == &list[3] && list[2].data == data[2] && list[0].next == &list[1]);
    end();
}

/* ---- Large objects: stretches without pointers travel from where they are ---------------------------------------- */

enum { LARGE = 3 << 19, N_LARGE = 3, LARGE_BUFFER = N_LARGE * (LARGE + 4096) * 2 };

struct large {
    char before[LARGE];
    struct large *next;
    char behind[LARGE];
};

static shmemx_type_t make_large(struct large **nodes_p)
{
    static const shmemx_field_t fields[] = {
        {"next", offsetof(struct large, next), SHMEMX_FIELD_POINTER, "large", 0, NULL},
    };
    struct large *nodes = check_malloc(N_LARGE * sizeof *nodes);
    for (int i = 0; i < N_LARGE; i++) {
        check_fill(nodes[i].before, LARGE, (unsigned)i);
        check_fill(nodes[i].behind, LARGE, (unsigned)i + 10);
        nodes[i].next = &nodes[(i + 1) % N_LARGE];
    }
    *nodes_p = nodes;
    shmemx_type_t large = shmemx_type_create("large", sizeof(struct large), 1, fields);
    CHECK(large);
    return large;
}

static void check_large_copy(const struct large *nodes, int i, struct large *copy)
{
    space_read(&test, copy, on_device(&nodes[i]), sizeof *copy);
    CHECK(pointer(copy->next) == on_device(nodes[i].next));
    check_bytes("map", copy->before, LARGE, (unsigned)i);
    check_bytes("map", copy->behind, LARGE, (unsigned)i + 10);
}

static void check_large(struct device *device)
{
    struct large *nodes, *copy = check_malloc(sizeof *copy);
    shmemx_type_t large = make_large(&nodes);
    space_begin(&test, device, LARGE_BUFFER, &(shmemx_deep_space_attr_t){0});
    CHECK(!shmemx_deep_map(test.space, nodes, large, 1, SHMEMX_DEEP_TO, NULL, NULL));
    for (int i = 0; i < N_LARGE; i++)
        check_large_copy(nodes, i, copy);
    check_fill(copy->behind, LARGE, 77);
    space_write(&test, on_device(nodes[1].behind), copy->behind, LARGE);
    CHECK(!shmemx_deep_unmap(test.space, nodes, SHMEMX_DEEP_FROM));
    check_bytes("unmap", nodes[1].behind, LARGE, 77);
    check_bytes("unmap", nodes[1].before, LARGE, 1);
    CHECK(nodes[1].next == &nodes[2] && nodes[2].next == &nodes[0]);
    end();
    CHECK(!shmemx_type_destroy(large));
    free(nodes);
    free(copy);
}

/* ---- Refusals: nothing has changed ------------------------------------------------------------------------------- */

static void check_overlap(struct device *device)
{
    begin(device, SHMEMX_DEEP_COUNTED);
    shmemx_type_t byte = shmemx_type_find("char");
    CHECK(!shmemx_deep_map(test.space, (char *)&data[2][1], byte, 8, SHMEMX_DEEP_TO, NULL, NULL));
    CHECK(map(&list[0], SHMEMX_DEEP_TO, NULL) == -EINVAL);
    CHECK(!on_device(&list[0]) && !on_device(data[0]) && on_device(&data[2][1]));
    CHECK(unmap(&list[0], 0) == -ENOENT && !shmemx_deep_unmap(test.space, &data[2][1], 0));
    CHECK(!map(&list[0], SHMEMX_DEEP_TO, NULL));
    check_list(true);
    end();
}

static void check_full(struct device *device)
{
    static char bytes[BUFFER];
    size_t room = BUFFER - (device->ops->memtype == OSHM_MEMTYPE_OPENCL ? GUARD : 0);
    shmemx_type_t byte = shmemx_type_find("char");
    begin(device, SHMEMX_DEEP_COUNTED);
    CHECK(shmemx_deep_map(test.space, bytes, byte, room + 1, SHMEMX_DEEP_TO, NULL, NULL) == -ENOSPC);
    CHECK(!map(&list[2], SHMEMX_DEEP_TO, NULL));
    CHECK(shmemx_deep_map(test.space, bytes, byte, room, SHMEMX_DEEP_TO, NULL, NULL) == -ENOSPC);
    CHECK(!shmemx_deep_map(test.space, bytes, byte, room - 1024, SHMEMX_DEEP_TO, NULL, NULL));
    CHECK(map(&list[0], SHMEMX_DEEP_TO, NULL) == 0 || !on_device(&list[0]));
    CHECK(!shmemx_deep_unmap(test.space, bytes, 0));
    CHECK(!shmemx_deep_release(test.space, &list[2], 0));
    end();
    space_begin(&test, device, 1024, &(shmemx_deep_space_attr_t){0});
    CHECK(!map(&list[4], SHMEMX_DEEP_TO, NULL));
    CHECK(shmemx_deep_map(test.space, bytes, byte, 1000, SHMEMX_DEEP_TO, NULL, NULL) == -ENOSPC);
    CHECK(!unmap(&list[4], 0) && !on_device(&list[4]));
    end();
}

static void check_refusals(struct device *device)
{
    void *buffer = device_alloc(device, BUFFER);
    shmemx_deep_space_attr_t attr = {.memory_type = device->ops->memtype, .buffer = buffer, .size = BUFFER};
    shmemx_deep_space_attr_t wrong[7];
    for (int i = 0; i < 7; i++)
        wrong[i] = attr;
    wrong[0].technique = SHMEMX_DEEP_BASE; /* not in a buffer */
    wrong[1].technique = SHMEMX_DEEP_PCPY + 1;
    wrong[2].lifetime = -1;
    wrong[3].memory_type = 77;
    wrong[4].size = 2 * BUFFER;
    wrong[5].buffer = device->ops->memtype == OSHM_MEMTYPE_OPENCL ? NULL : wrong;
    wrong[6].buffer = NULL; /* no such device */
    wrong[6].device = 4711;
    for (int i = 0; i < 7; i++)
        CHECK_THAT(!shmemx_deep_space_create(&wrong[i]), "space %d was not refused", i);
    device_free(device, buffer);
    shmemx_deep_space_destroy(NULL);

    begin(device, SHMEMX_DEEP_COUNTED);
    CHECK(map(&list[0], SHMEMX_DEEP_FROM, NULL) == -EINVAL);
    CHECK(!map(&list[0], SHMEMX_DEEP_TO, NULL) && unmap(&list[0], SHMEMX_DEEP_TO) == -EINVAL);
    CHECK(shmemx_type_destroy(type) == -EBUSY);
    CHECK(shmemx_deep_map(test.space, &list[0], NULL, 1, 0, NULL, NULL) == -EINVAL);
    CHECK(!map(NULL, SHMEMX_DEEP_TO, NULL) && !unmap(NULL, SHMEMX_DEEP_FROM) && !on_device(NULL));
    end();
    CHECK(!shmemx_type_destroy(type));
    make_type();
}

int main(void)
{
    static void (*const checks[])(struct device *) = {
        check_counts,  check_always,    check_update,        check_structured, check_explicit,
        check_release, check_selection, check_pointers_only, check_arena,      check_overlap,
        check_full,    check_refusals,  check_large,
    };
    struct device *device = NULL;
    bool is_any = false;
    shmem_init();
    make_type();
    while ((device = space_next_device(device))) {
        is_any = true;
        for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
            checks[i](device);
    }
    if (is_any)
        return check_end();
    if (!shmem_my_pe())
        puts("no OpenCL and no CUDA device on this machine");
    shmem_finalize();
    return CHECK_SKIP;
}
