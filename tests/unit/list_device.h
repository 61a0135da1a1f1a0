/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A made-up device for the test of lists: its memory is the host's, and the CPU carries out its lists when the test
 * says so.
 */
#ifndef LIST_DEVICE_H
#define LIST_DEVICE_H

#include "gpu/list.h"
#include "transport/collect/gpu_list.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { LISTS = 4, ENTRIES = 64, BYTES = 4096 };

struct device_list {
    struct shmemi_list list; /* the first member */
    struct shmemi_list_entry entries[ENTRIES];
    struct shmemi_delivery deliveries[ENTRIES];
    _Alignas(16) char bytes[BYTES];
    bool is_taken, is_started, is_done;
};

static struct device {
    pthread_mutex_t lock;
    struct device_list list[LISTS];
    bool is_slow; /* lists are run by carry_out_all, otherwise when they are started */
    int start_result, test_result;
    int n_started, n_operations;
    int n_copies; /* copies outside lists */
} device = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void carry_out_entry(const struct shmemi_list *list, const struct shmemi_list_entry *entry)
{
    struct shmemi_amo amo = {(enum shmemi_amo_op)entry->op, entry->nbytes, entry->source, entry->compare};
    if (entry->op == SHMEMI_ENTRY_COPY) {
        memcpy((void *)entry->dest, (const void *)entry->source, entry->nbytes);
    } else if (entry->op == SHMEMI_ENTRY_STORE) {
        memcpy((void *)entry->dest, &entry->source, entry->nbytes);
    } else {
        uint64_t old = shmemi_amo_apply((void *)entry->dest, &amo);
        if (entry->result != SHMEMI_ENTRY_NO_RESULT)
            memcpy(list->bytes + entry->result, &old, sizeof old);
    }
}

/* Carries out entries from the back, since they have no order, and then those that must be last. */
static void carry_out(struct device_list *member)
{
    const struct shmemi_list *list = &member->list;
    for (uint32_t i = list->n; i--;)
        carry_out_entry(list, &list->entries[i]);
    for (uint32_t i = list->n_last; i--;)
        carry_out_entry(list, &list->entries[list->capacity - 1 - i]);
    member->is_done = true;
}

static void carry_out_all(void)
{
    pthread_mutex_lock(&device.lock);
    for (int i = 0; i < LISTS; i++)
        if (device.list[i].is_started && !device.list[i].is_done)
            carry_out(&device.list[i]);
    pthread_mutex_unlock(&device.lock);
}

static struct shmemi_list *device_take(const struct shmemi_place *place);

static int device_start(struct shmemi_list *list)
{
    struct device_list *member = (struct device_list *)list;
    CHECK(shmemi_list_length(list) > 0);
    if (device.start_result)
        return device.start_result;
    pthread_mutex_lock(&device.lock);
    CHECK(member->is_taken && !member->is_started);
    member->is_started = true;
    device.n_started++;
    device.n_operations += (int)shmemi_list_length(list);
    if (!device.is_slow)
        carry_out(member);
    pthread_mutex_unlock(&device.lock);
    return 0;
}

static int device_test(struct shmemi_list *list)
{
    return ((struct device_list *)list)->is_done ? device.test_result : -EAGAIN;
}

static void device_give(struct shmemi_list *list)
{
    struct device_list *member = (struct device_list *)list;
    pthread_mutex_lock(&device.lock);
    CHECK(member->is_taken);
    member->is_taken = member->is_started = member->is_done = false;
    shmemi_list_empty(list);
    pthread_mutex_unlock(&device.lock);
}

static int device_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                       const struct shmemi_shape *shape)
{
    device.n_copies++;
    memmove((void *)dest->address, (const void *)source->address, shape->width);
    return 0;
}

static int device_copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                             const struct shmemi_shape *shape, struct shmemi_event *event_p);

static int device_event(struct shmemi_event *event)
{
    (void)event;
    return 0;
}

static const struct shmemi_lists device_lists = {
    .take = device_take,
    .start = device_start,
    .test = device_test,
    .give = device_give,
};

static const struct shmemi_memory made_up = {
    .name = "made up",
    .copy = device_copy,
    .copy_start = device_copy_start,
    .event_test = device_event,
    .event_wait = device_event,
    .lists = &device_lists,
};

static int device_copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                             const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    event_p->memory = &made_up;
    return device_copy(dest, source, shape);
}

static struct shmemi_list *device_take(const struct shmemi_place *place)
{
    struct device_list *member = NULL;
    pthread_mutex_lock(&device.lock);
    for (int i = 0; i < LISTS && !member; i++)
        if (!device.list[i].is_taken)
            member = &device.list[i];
    if (member) {
        member->is_taken = true;
        member->list.memory = &made_up;
        member->list.object = place->object;
        member->list.entries = member->entries;
        member->list.deliveries = member->deliveries;
        member->list.bytes = member->bytes;
        member->list.capacity = ENTRIES;
        member->list.bytes_capacity = BYTES;
    }
    pthread_mutex_unlock(&device.lock);
    return member ? &member->list : NULL;
}

static int taken(void)
{
    int n = 0;
    for (int i = 0; i < LISTS; i++)
        n += device.list[i].is_taken;
    return n;
}

#endif
