/* SPDX-License-Identifier: BSD-3-Clause
 *
 * To another PE and back: shmemx_put_deep and get_deep beside packing by hand and a put, in turns. PE 0 alone is busy.
 */
#include "deepcopy.h"

#include <stdlib.h>
#include <string.h>

enum { OTHER_PE = 1, PAGE = 4096, HEAP_MIN = 1 << 20 };

/* As much of the heap as there is, up to capacity. */
static void open_heap(struct peer *peer, size_t capacity)
{
    for (size_t size = capacity; !peer->heap && (size == capacity || size >= HEAP_MIN); size /= 2) {
        peer->heap = shmem_align(PAGE, size);
        peer->heap_size = size;
    }
}

void peer_open(struct peer *peer, const struct run *run, size_t capacity)
{
    *peer = (struct peer){0};
    open_heap(peer, capacity);
    peer->object = device_alloc(run->device, capacity);
    peer->mapped = shmmap(peer->object, capacity, run->device->ops->memtype);
    peer->mapped_size = capacity;
    if (!peer->mapped)
        die("shmmap: %s", shmemx_strerror());
}

void peer_close(struct peer *peer, const struct run *run)
{
    shmumap(peer->mapped);
    device_free(run->device, peer->object);
    shmem_free(peer->heap);
}

/* One place of the other PE. */
struct target {
    char *dest;
    size_t capacity;
    const char *name;
    uint64_t base; /* of the image, as its pointers have it */
};

static void read_copy(void *context, uint64_t address, void *bytes, size_t size)
{
    const struct target *target = context;
    shmem_getmem(bytes, target->dest + (address - target->base), size, OTHER_PE);
}

static void write_copy(void *context, uint64_t address, const void *bytes, size_t size)
{
    const struct target *target = context;
    shmem_putmem(target->dest + (address - target->base), bytes, size, OTHER_PE);
    shmem_quiet();
}

static ptrdiff_t put_timed(const struct target *target, const struct graph *graph, double *time_p)
{
    double start = now_us();
    ptrdiff_t size = shmemx_put_deep(target->dest, target->capacity, graph->objects[0].bytes, graph->type, 1, OTHER_PE);
    shmem_quiet();
    *time_p = now_us() - start;
    return size >= 0 && (size_t)size > target->capacity ? -1 : size;
}

static ptrdiff_t get_timed(const struct target *target, struct graph *graph, double *time_p)
{
    double start = now_us();
    ptrdiff_t size = shmemx_get_deep(graph->objects[0].bytes, target->dest, graph->type, 1, OTHER_PE);
    *time_p = now_us() - start;
    return size;
}

static bool first_calls(struct target *target, struct graph *graph, struct times *times, size_t *image_p)
{
    struct copy_access access = {target, read_copy, write_copy};
    shmemx_deep_info_t info;
    ptrdiff_t size = put_timed(target, graph, &times[TO].first);
    if (size < 0 || shmemx_deep_info(target->dest, graph->type, &info, OTHER_PE))
        return false;
    *image_p = (size_t)size;
    target->base = info.root - SHMEMX_DEEP_HEADER;
    bool right = check_copy(graph, &access, info.root);
    return get_timed(target, graph, &times[FROM].first) > 0 && right && check_back(graph);
}

static void put_by_hand(struct by_hand *hand, const struct target *target, bool packs, struct times *times)
{
    double start = now_us();
    if (packs)
        by_hand_pack(hand);
    shmem_putmem(target->dest, hand->packed, hand->packed_size, OTHER_PE);
    shmem_quiet();
    times_add(&times[TO], now_us() - start);
    start = now_us();
    shmem_getmem(hand->packed, target->dest, hand->packed_size, OTHER_PE);
    if (packs)
        by_hand_unpack(hand);
    times_add(&times[FROM], now_us() - start);
}

/* Puts the image first, so that get_deep finds one. */
static bool in_turns(const struct run *run, const struct target *target, struct graph *graph, struct by_hand *hand,
                     struct times (*times)[DIRECTIONS])
{
    double time;
    for (struct repetition repetition = {0}; repeat(&run->options, &repetition);) {
        put_by_hand(hand, target, true, times[1]);
        put_by_hand(hand, target, false, times[2]);
        if (put_timed(target, graph, &time) < 0)
            return false;
        times_add(&times[0][TO], time);
        if (get_timed(target, graph, &time) < 0)
            return false;
        times_add(&times[0][FROM], time);
    }
    return true;
}

static bool measure_target(struct run *run, struct graph *graph, struct by_hand *hand, struct target *target)
{
    static struct times times[3][DIRECTIONS]; /* ours, packed by hand, one put */
    size_t image = 0;
    memset(times, 0, sizeof times);
    if (!first_calls(target, graph, times[0], &image) || !in_turns(run, target, graph, hand, times)) {
        fprintf(stderr, "deepcopy: %s to the %s of another PE: no figure\n", graph->shape, target->name);
        return false;
    }
    for (enum direction direction = TO; direction < DIRECTIONS; direction++) {
        const struct result result = {
            .shape = graph->shape,
            .technique = direction == TO ? "put_deep" : "get_deep",
            .place = target->name,
            .direction = direction,
            .node_size = graph->node_size,
            .n_objects = graph->n_objects,
            .bytes = graph->bytes,
            .image = image,
            .n = times[0][direction].n,
            .first = times[0][direction].first,
            .median = times_median(&times[0][direction]),
            .best = times_best(&times[0][direction]),
            .by_hand = times_median(&times[1][direction]),
            .one_copy = times_median(&times[2][direction]),
        };
        report_add(run, &result);
    }
    return true;
}

/* The route to mapped memory, or "heap"; and the network, if the other PE is on another node. */
static void name_place(char *name, size_t size, const struct peer *peer, bool is_heap)
{
    bool network = peer->heap && !strcmp(shmemx_route(peer->heap, OTHER_PE), "ucx");
    snprintf(name, size, "%s%s", is_heap ? "heap" : shmemx_route(peer->mapped, OTHER_PE), network ? "/ucx" : "");
}

void measure_peer(struct run *run, struct graph *graph, const struct peer *peer)
{
    static char names[2][32]; /* the results refer to them */
    struct by_hand hand;
    struct target targets[] = {{peer->heap, peer->heap_size, names[0], 0},
                               {peer->mapped, peer->mapped_size, names[1], 0}};
    name_place(names[0], sizeof names[0], peer, true);
    name_place(names[1], sizeof names[1], peer, false);
    ptrdiff_t size = shmemx_put_deep(NULL, 0, graph->objects[0].bytes, graph->type, 1, OTHER_PE);
    by_hand_open(&hand, run->device, graph, false);
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        if (targets[i].dest && size >= 0 && (size_t)size <= targets[i].capacity)
            run->right &= measure_target(run, graph, &hand, &targets[i]);
    }
    run->right &= size >= 0;
    by_hand_close(&hand);
}
