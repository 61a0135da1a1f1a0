/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The same transfers without a library: no walk, no table, no type. The paper's "manually coded CUDA version", whose
 * bandwidth is what is effectively available for a technique.
 */
#include "deepcopy.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 8, ALIGNMENT = 16 };

static void *page_locked(struct device *device, size_t size)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, size))
        die("no host memory for %zu bytes", size);
    memset(memory, 0, size);
    if (can_lock(device))
        device->ops->locks.lock(device, memory, size);
    return memory;
}

static void release_page_locked(struct device *device, void *memory)
{
    if (can_lock(device))
        device->ops->locks.unlock(device, memory);
    free(memory);
}

void by_hand_open(struct by_hand *hand, struct device *device, const struct graph *graph, bool asynchronous)
{
    *hand = (struct by_hand){.device = device, .graph = graph, .asynchronous = asynchronous && can_enqueue(device)};
    hand->at = calloc(graph->n_objects, sizeof *hand->at);
    hand->objects = calloc(graph->n_objects, sizeof *hand->objects);
    if (!hand->at || !hand->objects)
        die("no memory for a list of %zu objects", graph->n_objects);
    for (size_t i = 0; i < graph->n_objects; i++) {
        hand->at[i] = hand->packed_size;
        hand->packed_size += (graph->objects[i].size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    hand->memory = device_alloc(device, hand->packed_size);
    hand->base = device->ops->local_pointer ? (uint64_t)(uintptr_t)hand->memory : 0;
    hand->packed = page_locked(device, hand->packed_size);
    hand->temporary = malloc(graph->largest);
    if (!hand->temporary)
        die("no memory for %zu bytes", graph->largest);
}

void by_hand_close(struct by_hand *hand)
{
    free(hand->temporary);
    release_page_locked(hand->device, hand->packed);
    device_free(hand->device, hand->memory);
    free(hand->objects);
    free(hand->at);
}

/* ---- Single transfers --------------------------------------------------------------------------------------------- */

static void write_bytes(const struct by_hand *hand, void *memory, size_t at, const void *source, size_t size)
{
    if (!hand->asynchronous)
        plain_write(hand->device, memory, at, source, size);
    else
        plain_enqueue(hand->device, &(struct device_copy){(char *)memory + at, source, true, false}, size);
}

static void read_bytes(const struct by_hand *hand, void *dest, void *memory, size_t at, size_t size)
{
    if (!hand->asynchronous)
        plain_read(hand->device, dest, memory, at, size);
    else
        plain_enqueue(hand->device, &(struct device_copy){dest, (char *)memory + at, false, true}, size);
}

static void finish(const struct by_hand *hand)
{
    if (hand->asynchronous)
        plain_synchronize(hand->device);
}

/* Where an object's copy is: in memory of its own, or in the one block. */
static void *copy_of(const struct by_hand *hand, size_t object, size_t *at_p)
{
    *at_p = hand->objects[object] ? 0 : hand->at[object];
    return hand->objects[object] ? hand->objects[object] : hand->memory;
}

static uint64_t pointer_to(const struct by_hand *hand, long object)
{
    if (object < 0)
        return 0;
    if (hand->objects[object])
        return (uint64_t)(uintptr_t)hand->objects[object];
    return hand->base + hand->at[object];
}

static void write_objects(const struct by_hand *hand)
{
    for (size_t i = 0; i < hand->graph->n_objects; i++) {
        size_t at;
        void *copy = copy_of(hand, i, &at);
        write_bytes(hand, copy, at, hand->graph->objects[i].bytes, hand->graph->objects[i].size);
    }
}

static void write_pointers(const struct by_hand *hand)
{
    for (size_t i = 0; i < hand->graph->n_objects; i++) {
        const struct graph_object *object = &hand->graph->objects[i];
        size_t at;
        void *copy = copy_of(hand, i, &at);
        for (size_t k = 0; k < object->n_pointers; k++) {
            uint64_t value = pointer_to(hand, object->pointers[k].target);
            if (value)
                write_bytes(hand, copy, at + object->pointers[k].offset, &value, WORD);
        }
    }
}

static void read_segments(const struct by_hand *hand)
{
    for (size_t i = 0; i < hand->graph->n_objects; i++) {
        const struct graph_object *object = &hand->graph->objects[i];
        size_t at;
        void *copy = copy_of(hand, i, &at);
        for (size_t k = 0; k <= object->n_pointers; k++) {
            struct graph_segment segment = graph_segment(object, k);
            if (segment.size)
                read_bytes(hand, object->bytes + segment.offset, copy, at + segment.offset, segment.size);
        }
    }
}

/* TCPY: reads objects through a temporary copy. */
static void read_objects(const struct by_hand *hand)
{
    for (size_t i = 0; i < hand->graph->n_objects; i++)
        read_bytes(hand, hand->temporary, hand->memory, hand->at[i], hand->graph->objects[i].size);
}

static void set_pointers(const struct by_hand *hand, const struct graph_object *object)
{
    for (size_t k = 0; k < object->n_pointers; k++) {
        const char *target = NULL;
        if (object->pointers[k].target >= 0)
            target = hand->graph->objects[object->pointers[k].target].bytes;
        memcpy(object->bytes + object->pointers[k].offset, &target, WORD);
    }
}

/* PCPY: reads objects in place, and sets their overwritten pointers again. */
static void read_objects_in_place(const struct by_hand *hand)
{
    const struct graph *graph = hand->graph;
    for (size_t i = 0; i < graph->n_objects; i++) {
        read_bytes(hand, graph->objects[i].bytes, hand->memory, hand->at[i], graph->objects[i].size);
        if (!hand->asynchronous)
            set_pointers(hand, &graph->objects[i]);
    }
    finish(hand);
    for (size_t i = 0; hand->asynchronous && i < graph->n_objects; i++)
        set_pointers(hand, &graph->objects[i]);
}

/* ---- One block ---------------------------------------------------------------------------------------------------- */

void by_hand_pack(struct by_hand *hand)
{
    for (size_t i = 0; i < hand->graph->n_objects; i++) {
        const struct graph_object *object = &hand->graph->objects[i];
        char *copy = hand->packed + hand->at[i];
        memcpy(copy, object->bytes, object->size);
        for (size_t k = 0; k < object->n_pointers; k++) {
            uint64_t value = pointer_to(hand, object->pointers[k].target);
            memcpy(copy + object->pointers[k].offset, &value, WORD);
        }
    }
}

void by_hand_unpack(struct by_hand *hand)
{
    for (size_t i = 0; i < hand->graph->n_objects; i++) {
        const struct graph_object *object = &hand->graph->objects[i];
        for (size_t k = 0; k <= object->n_pointers; k++) {
            struct graph_segment segment = graph_segment(object, k);
            memcpy(object->bytes + segment.offset, hand->packed + hand->at[i] + segment.offset, segment.size);
        }
    }
}

void by_hand_one_copy(struct by_hand *hand, enum direction direction)
{
    struct device *device = hand->device;
    struct device_copy to = {hand->memory, hand->packed, true, false};
    struct device_copy from = {hand->packed, hand->memory, false, true};
    if (can_enqueue(device)) {
        plain_enqueue(device, direction == TO ? &to : &from, hand->packed_size);
        plain_synchronize(device);
    } else if (direction == TO) {
        plain_write(device, hand->memory, 0, hand->packed, hand->packed_size);
    } else {
        plain_read(device, hand->packed, hand->memory, 0, hand->packed_size);
    }
}

/* ---- Techniques --------------------------------------------------------------------------------------------------- */

static void base_to(struct by_hand *hand)
{
    for (size_t i = 0; i < hand->graph->n_objects; i++)
        hand->objects[i] = device_alloc(hand->device, hand->graph->objects[i].size);
}

static void base_from(struct by_hand *hand)
{
    for (size_t i = 0; i < hand->graph->n_objects; i++) {
        device_free(hand->device, hand->objects[i]);
        hand->objects[i] = NULL;
    }
}

static void copy_to(struct by_hand *hand, int technique)
{
    if (technique == SHMEMX_DEEP_IMAGE) {
        by_hand_pack(hand);
        by_hand_one_copy(hand, TO);
        return;
    }
    if (technique == SHMEMX_DEEP_BASE)
        base_to(hand);
    write_objects(hand);
    finish(hand);
    if (technique == SHMEMX_DEEP_BASE || technique == SHMEMX_DEEP_BASE_PLUS)
        write_pointers(hand);
    finish(hand);
}

static void copy_from(struct by_hand *hand, int technique)
{
    switch (technique) {
    case SHMEMX_DEEP_IMAGE:
        by_hand_one_copy(hand, FROM);
        by_hand_unpack(hand);
        return;
    case SHMEMX_DEEP_TCPY:
        read_objects(hand);
        break;
    case SHMEMX_DEEP_PCPY:
        read_objects_in_place(hand);
        break;
    default:
        read_segments(hand);
        break;
    }
    finish(hand);
    if (technique == SHMEMX_DEEP_BASE)
        base_from(hand);
}

void by_hand_copy(struct by_hand *hand, int technique, enum direction direction)
{
    if (direction == TO)
        copy_to(hand, technique);
    else
        copy_from(hand, technique);
}
