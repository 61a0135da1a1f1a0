/* SPDX-License-Identifier: BSD-3-Clause
 *
 * To this PE's GPU and back, by each technique: shmemx_deep_map and unmap beside the same transfers by hand, in turns.
 */
#include "deepcopy.h"

#include <stdlib.h>

const struct technique techniques[DEEPCOPY_TECHNIQUES] = {
    {"base", SHMEMX_DEEP_BASE}, {"base+", SHMEMX_DEEP_BASE_PLUS}, {"tcpy", SHMEMX_DEEP_TCPY},
    {"pcpy", SHMEMX_DEEP_PCPY}, {"image", SHMEMX_DEEP_IMAGE},
};

/* Times of both directions. */
struct both {
    struct times ours[DIRECTIONS], by_hand[DIRECTIONS];
};

struct own {
    struct device *device;
    void *buffer; /* the space's memory, unless it allocates */
    shmemx_deep_space_t space;
};

static void read_copy(void *context, uint64_t address, void *bytes, size_t size)
{
    const struct own *own = context;
    plain_read(own->device, bytes, own->buffer, address, size);
}

static void write_copy(void *context, uint64_t address, const void *bytes, size_t size)
{
    const struct own *own = context;
    plain_write(own->device, own->buffer, address, bytes, size);
}

/* CUDA memory has addresses, and the library allocates it; an OpenCL buffer is ours. */
static bool open_space(struct own *own, const struct run *run, const struct graph *graph, int technique)
{
    const size_t padding = 256;
    shmemx_deep_space_attr_t attr = {.memory_type = run->device->ops->memtype, .device = -1, .technique = technique};
    *own = (struct own){.device = run->device};
    attr.asynchronous = run->options.asynchronous;
    if (!run->device->ops->local_pointer) {
        attr.size = graph->bytes + padding * (graph->n_objects + 1);
        attr.buffer = own->buffer = device_alloc(run->device, attr.size);
    }
    own->space = shmemx_deep_space_create(&attr);
    return own->space != NULL;
}

static void close_space(struct own *own)
{
    shmemx_deep_space_destroy(own->space);
    if (own->buffer)
        device_free(own->device, own->buffer);
}

/* Returns -1 if the library refused and has said why. */
static int map_timed(const struct own *own, const struct graph *graph, uint64_t *device_p, double *time_p)
{
    double start = now_us();
    int rc = shmemx_deep_map(own->space, graph->objects[0].bytes, graph->type, 1, SHMEMX_DEEP_TO, NULL, device_p);
    *time_p = now_us() - start;
    return rc;
}

static int unmap_timed(const struct own *own, const struct graph *graph, double *time_p)
{
    double start = now_us();
    int rc = shmemx_deep_unmap(own->space, graph->objects[0].bytes, SHMEMX_DEEP_FROM);
    *time_p = now_us() - start;
    return rc;
}

/* The first calls, and the check. */
static bool first_calls(struct own *own, struct graph *graph, struct both *both)
{
    struct copy_access access = {own, read_copy, write_copy};
    uint64_t root = 0;
    if (map_timed(own, graph, &root, &both->ours[TO].first))
        return false;
    bool right = check_copy(graph, &access, root);
    if (unmap_timed(own, graph, &both->ours[FROM].first))
        return false;
    return right && check_back(graph);
}

static bool in_turns(const struct run *run, const struct own *own, struct graph *graph, struct by_hand *hand,
                     int technique, struct both *both)
{
    uint64_t root;
    double time;
    for (struct repetition repetition = {0}; repeat(&run->options, &repetition);) {
        for (enum direction direction = TO; direction < DIRECTIONS; direction++) {
            double start = now_us();
            by_hand_copy(hand, technique, direction);
            times_add(&both->by_hand[direction], now_us() - start);
        }
        if (map_timed(own, graph, &root, &time))
            return false;
        times_add(&both->ours[TO], time);
        if (unmap_timed(own, graph, &time))
            return false;
        times_add(&both->ours[FROM], time);
    }
    return true;
}

static void report_both(struct run *run, const struct graph *graph, const char *name, struct both *both,
                        const double *one_copy)
{
    for (enum direction direction = TO; direction < DIRECTIONS; direction++) {
        struct times *ours = &both->ours[direction];
        const struct result result = {
            .shape = graph->shape,
            .technique = name,
            .place = "own",
            .direction = direction,
            .node_size = graph->node_size,
            .n_objects = graph->n_objects,
            .bytes = graph->bytes,
            .n = ours->n,
            .first = ours->first,
            .median = times_median(ours),
            .best = times_best(ours),
            .by_hand = times_median(&both->by_hand[direction]),
            .one_copy = one_copy[direction],
        };
        report_add(run, &result);
    }
}

static void measure_one_copy(const struct run *run, struct by_hand *hand, double *one_copy)
{
    static struct times times[DIRECTIONS];
    times[TO].n = times[FROM].n = 0;
    for (struct repetition repetition = {0}; repeat(&run->options, &repetition);) {
        for (enum direction direction = TO; direction < DIRECTIONS; direction++) {
            double start = now_us();
            by_hand_one_copy(hand, direction);
            times_add(&times[direction], now_us() - start);
        }
    }
    for (enum direction direction = TO; direction < DIRECTIONS; direction++)
        one_copy[direction] = times_median(&times[direction]);
}

static bool measure_technique(struct run *run, struct graph *graph, struct by_hand *hand,
                              const struct technique *technique, const double *one_copy)
{
    static struct both both;
    struct own own;
    both = (struct both){0};
    if (!open_space(&own, run, graph, technique->id)) {
        close_space(&own);
        return false;
    }
    bool right = first_calls(&own, graph, &both) && in_turns(run, &own, graph, hand, technique->id, &both);
    close_space(&own);
    if (right)
        report_both(run, graph, technique->name, &both, one_copy);
    else
        fprintf(stderr, "deepcopy: %s by %s: no figure\n", graph->shape, technique->name);
    return right;
}

void measure_own(struct run *run, struct graph *graph)
{
    struct by_hand hand;
    double one_copy[DIRECTIONS];
    by_hand_open(&hand, run->device, graph, run->options.asynchronous);
    measure_one_copy(run, &hand, one_copy);
    for (size_t i = 0; i < DEEPCOPY_TECHNIQUES; i++) {
        bool possible = techniques[i].id != SHMEMX_DEEP_BASE || run->device->ops->local_pointer;
        if (run->options.techniques[i] && possible)
            run->right &= measure_technique(run, graph, &hand, &techniques[i], one_copy);
    }
    by_hand_close(&hand);
}
