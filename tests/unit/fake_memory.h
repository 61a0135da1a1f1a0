/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A kind of memory whose copies are made when they are found complete, and which fails when it is told to.
 */
#ifndef UNIT_FAKE_MEMORY_H
#define UNIT_FAKE_MEMORY_H

#include "gpu/memory.h"
#include "unit.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

struct copy {
    char *dest;
    const char *source;
    size_t nbytes;
    unsigned looks;
};

static struct {
    atomic_long starts, tests, under_way, pins, unpins;
    long fail_start, fail_test; /* the call that fails, from 1; 0: none */
    unsigned delay;
} fake;

static int fake_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                     const struct shmemi_shape *shape)
{
    if (++fake.starts == fake.fail_start)
        return -EIO;
    memcpy((char *)dest->address, (const char *)source->address, shape->width);
    return 0;
}

static int fake_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                      const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    if (++fake.starts == fake.fail_start)
        return -EIO;
    struct copy *copy = malloc(sizeof *copy);
    CHECK(copy && shape->rows == 1 && shape->width);
    *copy = (struct copy){(char *)dest->address, (const char *)source->address, shape->width, 0};
    extern const struct shmemi_memory fake_memory;
    *event_p = (struct shmemi_event){.memory = &fake_memory, .handle = copy};
    fake.under_way++;
    return 0;
}

static int fake_finish(struct copy *copy)
{
    int rc = ++fake.tests == fake.fail_test ? -ENXIO : 0;
    if (!rc)
        memcpy(copy->dest, copy->source, copy->nbytes);
    free(copy);
    fake.under_way--;
    return rc;
}

static int fake_test(struct shmemi_event *event)
{
    struct copy *copy = event->handle;
    return copy->looks++ < fake.delay ? -EAGAIN : fake_finish(copy);
}

static int fake_wait(struct shmemi_event *event)
{
    return fake_finish(event->handle);
}

static int fake_pin(void *address, size_t size)
{
    CHECK(address && size);
    fake.pins++;
    return 0;
}

static void fake_unpin(void *address, size_t size)
{
    CHECK(address && size);
    fake.unpins++;
}

static bool fake_is_pinned(const void *address, size_t size)
{
    (void)size;
    return (uintptr_t)address % 2 == 0;
}

static int no_devices(void)
{
    return 0;
}

static int no_pci(int device, char *text, size_t size)
{
    (void)device, (void)text, (void)size;
    return -ENODEV;
}

static bool fake_helps(const struct shmemi_place *place)
{
    (void)place;
    return true;
}

static const struct shmemi_pinning fake_pinning = {
    .pin = fake_pin,
    .unpin = fake_unpin,
    .is_pinned = fake_is_pinned,
    .helps = fake_helps,
};

const struct shmemi_memory fake_memory = {
    .name = "fake",
    .type = SHMEMI_MEMTYPE_CUDA,
    .device_count = no_devices,
    .device_pci = no_pci,
    .copy = fake_copy,
    .copy_start = fake_start,
    .event_test = fake_test,
    .event_wait = fake_wait,
    .pinning = &fake_pinning,
};

#endif
