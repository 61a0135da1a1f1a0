/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers between all pairs of PEs at once, for machines with many GPUs: puts, gets, alltoall, and deep copies from
 * PE 0 to PE 1, to all others one by one, and to all PEs by a broadcast, beside one pair alone. Every transfer is checked once.
 *
 * all_pairs cuda|opencl|heap [MAX [REPETITIONS]]    MAX: bytes of a block (16 MiB)
 *
 * PE 0 prints "call,bytes,pes,microseconds,GB/s": the median time of the slowest PE, and the bytes that a PE sends (for
 * deep: that PE 0 sends) in that time.
 */
#include "shmem.h"
#include "shmemx.h"
#include "support/device.h"
#include "support/util.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS_MOST = 100, LIST_ARRAY = 1024, WARMUP = 2 };

struct side {
    struct buffer *object;
    char *address; /* symmetric: a block for each PE */
};

static struct {
    struct device *device;
    struct side source, dest;
    size_t room; /* bytes of a side */
    int n, me, repetitions;
    char *text; /* room bytes */
} test;

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static struct side make_side(void)
{
    struct side side = {.object = device_alloc(test.device, test.room)};
    const int type = test.device->ops->memtype;
    side.address = type == DEVICE_TYPE_HOST ? (char *)side.object : shmmap(side.object, test.room, type);
    if (!side.object || !side.address)
        die("no symmetric memory of %zu bytes: %s", test.room, shmemx_strerror());
    return side;
}

static void free_side(struct side *side)
{
    if (test.device->ops->memtype != DEVICE_TYPE_HOST)
        shmumap(side->address);
    device_free(test.device, side->object);
}

/* Returns false where there is no such device. */
static bool open_device(const char *kind)
{
    if (!strcmp(kind, "heap")) {
        test.device = &device_host;
        return true;
    }
    const struct device_ops *ops = device_find(kind);
    if (!ops)
        die("'%s' is none of cuda, opencl, heap", kind);
    const int index = ops->count() ? shmemx_my_device(ops->memtype) : -1;
    test.device = index >= 0 ? ops->open(index, NULL) : NULL;
    return test.device;
}

/* What is in a word of the block from one PE for another. */
static uint64_t word_of(int from, int to, size_t i)
{
    return ((uint64_t)from << 40) + ((uint64_t)to << 24) + i * 2654435761u;
}

static void fill(struct side *side, size_t bytes, bool clear)
{
    for (int pe = 0; pe < test.n; pe++)
        for (size_t i = 0; i < bytes / 8; i++)
            ((uint64_t *)test.text)[(size_t)pe * bytes / 8 + i] = clear ? 0 : word_of(test.me, pe, i);
    device_write(test.device, side->object, 0, test.text, bytes * (size_t)test.n);
}

/* Block i has to be what PE i had for this one. The own block of put and get is not written. */
static void check(const char *name, size_t bytes, bool own_too)
{
    device_read(test.device, test.text, test.dest.object, 0, bytes * (size_t)test.n);
    for (int pe = 0; pe < test.n; pe++)
        for (size_t i = 0; i < bytes / 8 && (own_too || pe != test.me); i++)
            if (((uint64_t *)test.text)[(size_t)pe * bytes / 8 + i] != word_of(pe, test.me, i))
                die("%s of %zu bytes: word %zu from PE %d is wrong", name, bytes, i, pe);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static int peer(int i)
{
    return (test.me + i) % test.n;
}

static void put(size_t bytes)
{
    for (int i = 1; i < test.n; i++)
        shmem_putmem_nbi(test.dest.address + (size_t)test.me * bytes, test.source.address + (size_t)peer(i) * bytes,
                         bytes, peer(i));
    shmem_quiet();
}

static void get(size_t bytes)
{
    for (int i = 1; i < test.n; i++)
        shmem_getmem_nbi(test.dest.address + (size_t)peer(i) * bytes, test.source.address + (size_t)test.me * bytes,
                         bytes, peer(i));
    shmem_quiet();
}

static void alltoall(size_t bytes)
{
    shmem_alltoallmem(SHMEM_TEAM_WORLD, test.dest.address, test.source.address, bytes);
}

static void one_pair(size_t bytes)
{
    if (test.me)
        return;
    shmem_putmem_nbi(test.dest.address, test.source.address + bytes, bytes, 1);
    shmem_quiet();
}

static const struct call {
    const char *name;
    void (*run)(size_t bytes);
    bool is_checked, has_own; /* by check(); whether it brings the own block, too */
} calls[] = {
    {"one pair", one_pair, false, false},
    {"put", put, true, false},
    {"get", get, true, false},
    {"alltoall", alltoall, true, true},
};

/* ---- Deep copies -------------------------------------------------------------------------------------------------- */

struct node {
    struct node *next;
    long length;
    char *array;
};

static struct {
    shmemx_type_t type;
    struct node *list;
} deep;

static void make_type(void)
{
    static const shmemx_field_t fields[] = {
        {"next", offsetof(struct node, next), SHMEMX_FIELD_POINTER, "struct node", 0, NULL},
        {"length", offsetof(struct node, length), SHMEMX_FIELD_VALUE, "long", 0, NULL},
        {"array", offsetof(struct node, array), SHMEMX_FIELD_POINTER, "char", 0, "length"},
    };
    deep.type = shmemx_type_create("struct node", sizeof(struct node), sizeof fields / sizeof fields[0], fields);
    if (!deep.type)
        die("the type of the list was refused: %s", shmemx_strerror());
}

static void free_list(void)
{
    for (struct node *next; deep.list; deep.list = next) {
        next = deep.list->next;
        free(deep.list->array);
        free(deep.list);
    }
}

static void make_list(size_t bytes)
{
    free_list();
    for (size_t at = 0; at < bytes; at += LIST_ARRAY) {
        struct node *node = host_alloc(sizeof *node);
        *node = (struct node){deep.list, LIST_ARRAY, host_alloc(LIST_ARRAY)};
        memset(node->array, (int)(at / LIST_ARRAY % 127), LIST_ARRAY);
        deep.list = node;
    }
}

/* To PEs 1 to end - 1. */
static void put_deep_before(int end)
{
    for (int pe = 1; pe < end && test.me == 0; pe++) {
        const ptrdiff_t image = shmemx_put_deep(test.dest.address, test.room, deep.list, deep.type, 1, pe);
        if (image < 0 || (size_t)image > test.room)
            die("shmemx_put_deep to PE %d: %td bytes", pe, image);
    }
    shmem_quiet();
}

static void put_deep(size_t bytes)
{
    (void)bytes;
    put_deep_before(test.n);
}

static void put_deep_to_one(size_t bytes)
{
    (void)bytes;
    put_deep_before(2);
}

/* To PE 0 itself, too. */
static void broadcast_deep(size_t bytes)
{
    const ptrdiff_t image =
        shmemx_broadcast_deep(SHMEM_TEAM_WORLD, test.dest.address, test.room, deep.list, deep.type, 1, 0);
    (void)bytes;
    if (image < 0 || (size_t)image > test.room)
        die("shmemx_broadcast_deep: %td bytes", image);
}

static void check_list(size_t bytes)
{
    size_t n, at = bytes;
    struct node *copy = shmemx_get_deep_new(test.dest.address, deep.type, &n, test.me);
    for (const struct node *node = copy; node; node = node->next) {
        at -= LIST_ARRAY;
        for (int i = 0; i < LIST_ARRAY; i++)
            if (node->array[i] != (char)(at / LIST_ARRAY % 127))
                die("a deep copy of %zu bytes is wrong %zu bytes from its end", bytes, at);
    }
    if (at)
        die("a deep copy of %zu bytes lacks %zu", bytes, at);
    shmemx_deep_free(copy);
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, void (*run)(size_t), size_t bytes, size_t sent)
{
    static double times[REPETITIONS_MOST];
    for (int i = -WARMUP; i < test.repetitions; i++) {
        shmem_barrier_all();
        const double start = now();
        run(bytes);
        const double taken = job_max(now() - start);
        if (i >= 0)
            times[i] = taken;
    }
    qsort(times, (size_t)test.repetitions, sizeof *times, by_size);
    const double median = times[test.repetitions / 2];
    if (test.me == 0)
        printf("%s,%zu,%d,%.2f,%.3f\n", name, bytes, test.n, 1e6 * median, 1e-9 * (double)sent / median);
    fflush(stdout);
}

static void run_size(size_t bytes)
{
    const size_t others = (size_t)test.n - 1;
    fill(&test.source, bytes, false);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const struct call *call = &calls[i];
        fill(&test.dest, bytes, true);
        measure(call->name, call->run, bytes, call->is_checked ? others * bytes : bytes);
        shmem_barrier_all();
        if (call->is_checked)
            check(call->name, bytes, call->has_own);
        shmem_barrier_all();
    }
}

static void run_deep(size_t bytes)
{
    if (test.me == 0)
        make_list(bytes);
    measure("deep to one", put_deep_to_one, bytes, bytes);
    measure("deep", put_deep, bytes, bytes * ((size_t)test.n - 1));
    shmem_barrier_all();
    if (test.me)
        check_list(bytes);
    fill(&test.dest, bytes, true);
    measure("deep to all", broadcast_deep, bytes, bytes * (size_t)test.n);
    shmem_barrier_all();
    check_list(bytes);
    shmem_barrier_all();
}

static size_t parse(int argc, char **argv)
{
    const size_t most = argc > 2 ? strtoull(argv[2], NULL, 10) : (size_t)16 << 20;
    test.repetitions = argc > 3 ? atoi(argv[3]) : 21;
    if (argc < 2 || most < 8 || test.repetitions < 1 || test.repetitions > REPETITIONS_MOST)
        quit_all("usage: all_pairs cuda|opencl|heap [MAX [REPETITIONS]]");
    return most;
}

int main(int argc, char **argv)
{
    shmem_init();
    test.n = shmem_n_pes();
    test.me = shmem_my_pe();
    const size_t most = parse(argc, argv);
    test.room = (most + (most >> 3)) * (size_t)test.n + 4096;
    if (test.n < 2)
        quit_all("two PEs at least");
    if (job_max(open_device(argv[1]) ? 0 : 1) > 0) {
        if (test.me == 0)
            fprintf(stderr, "all_pairs: no %s device\n", argv[1]);
        shmem_finalize();
        return 77;
    }
    test.text = host_alloc(test.room);
    test.source = make_side();
    test.dest = make_side();
    make_type();
    if (test.me == 0)
        puts("call,bytes,pes,microseconds,GB/s");
    for (size_t bytes = 8; bytes <= most; bytes *= 8)
        run_size(bytes);
    for (size_t bytes = LIST_ARRAY; bytes <= most; bytes *= 64)
        run_deep(bytes);
    free_list();
    free_side(&test.dest);
    free_side(&test.source);
    free(test.text);
    shmem_finalize();
    return 0;
}
