/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A made-up kind of memory for the test of spaces: it is host memory, and its calls fail on demand.
 */
#ifndef FAILING_DEVICE_H
#define FAILING_DEVICE_H

#include "deep/space/technique.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static struct {
    int calls_left; /* calls until one fails; -1: none fails */
    int n_allocations;
    int n_under_way;
    int n_channels;
} device = {.calls_left = -1};

static bool fails(void)
{
    return device.calls_left >= 0 && device.calls_left-- == 0;
}

static enum shmemi_claim device_claim(const void *address)
{
    (void)address;
    return SHMEMI_CLAIM_NONE;
}

static int device_allocate(int ordinal, size_t size, void **object_p)
{
    (void)ordinal;
    if (fails())
        return -ENOMEM;
    *object_p = aligned_alloc(256, (size + 255) / 256 * 256);
    CHECK(*object_p);
    device.n_allocations++;
    return 0;
}

static void device_deallocate(void *object)
{
    free(object);
    device.n_allocations--;
}

static struct shmemi_memory kind;

static int device_open_object(void *object, size_t size, struct shmemi_allocation *allocation, char *reason,
                              size_t reason_size)
{
    (void)reason;
    (void)reason_size;
    *allocation = (struct shmemi_allocation){
        .place = {.memory = &kind, .address = (uintptr_t)object}, .base = (uintptr_t)object, .size = size};
    return 0;
}

static void device_close_object(struct shmemi_allocation *allocation)
{
    (void)allocation;
}

static int device_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                       const struct shmemi_shape *shape)
{
    if (fails())
        return -EIO;
    memcpy((void *)dest->address, (const void *)source->address, shape->width);
    return 0;
}

/* The bytes are copied when the copy is waited for, so that a source that is changed too early is detected. */
struct late_copy {
    struct shmemi_place dest, source;
    size_t nbytes;
};

static int device_copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                             const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    if (fails())
        return -EIO;
    struct late_copy *late = malloc(sizeof *late);
    CHECK(late);
    *late = (struct late_copy){*dest, *source, shape->width};
    *event_p = (struct shmemi_event){.memory = &kind, .handle = late};
    device.n_under_way++;
    return 0;
}

static int device_event_wait(struct shmemi_event *event)
{
    struct late_copy *late = event->handle;
    bool failed = fails();
    if (!failed)
        memcpy((void *)late->dest.address, (const void *)late->source.address, late->nbytes);
    free(late);
    device.n_under_way--;
    return failed ? -EIO : 0;
}

/* The copies of a channel in progress, the newest first. */
struct channel_copy {
    struct late_copy late;
    struct channel_copy *before;
};
static struct channel_copy *in_channel;

static int device_channel_open(const struct shmemi_place *place, struct shmemi_channel *channel_p)
{
    (void)place;
    if (fails())
        return -EIO;
    *channel_p = (struct shmemi_channel){.memory = &kind};
    device.n_channels++;
    return 0;
}

static int device_channel_copy(const struct shmemi_channel *channel, const struct shmemi_place *dest,
                               const struct shmemi_place *source, size_t nbytes)
{
    (void)channel;
    if (fails())
        return -EIO;
    struct channel_copy *copy = malloc(sizeof *copy);
    CHECK(copy && device.n_channels == 1);
    *copy = (struct channel_copy){{*dest, *source, nbytes}, in_channel};
    in_channel = copy;
    device.n_under_way++;
    return 0;
}

static void move_in_order(struct channel_copy *newest)
{
    if (!newest)
        return;
    move_in_order(newest->before);
    memcpy((void *)newest->late.dest.address, (const void *)newest->late.source.address, newest->late.nbytes);
    free(newest);
    device.n_under_way--;
}

static int device_channel_wait(const struct shmemi_channel *channel)
{
    (void)channel;
    move_in_order(in_channel);
    in_channel = NULL;
    return fails() ? -EIO : 0;
}

static void device_channel_close(struct shmemi_channel *channel)
{
    (void)channel;
    CHECK(!in_channel);
    device.n_channels--;
}

static void use_channels(bool with)
{
    static const struct shmemi_channels channels = {
        .open = device_channel_open,
        .copy = device_channel_copy,
        .wait = device_channel_wait,
        .close = device_channel_close,
    };
    kind.channels = with ? &channels : NULL;
}

static const struct shmemi_addresses device_addresses = {.claim = device_claim};

static struct shmemi_memory kind = {
    .name = "fake",
    .type = SHMEMI_MEMTYPE_CUDA,
    .addresses = &device_addresses,
    .allocate = device_allocate,
    .deallocate = device_deallocate,
    .open_object = device_open_object,
    .close_object = device_close_object,
    .copy = device_copy,
    .copy_start = device_copy_start,
    .event_test = device_event_wait,
    .event_wait = device_event_wait,
};

static struct shmemi_space *open_space(const struct shmemi_technique *technique, int lifetime, bool is_asynchronous)
{
    struct shmemi_space *space = calloc(1, sizeof *space);
    CHECK(space);
    space->technique = technique;
    space->lifetime = lifetime;
    space->is_asynchronous = is_asynchronous;
    CHECK(!shmemi_space_memory_open(&space->memory, &kind, NULL, 0, 0, technique->is_per_object));
    return space;
}

#endif
