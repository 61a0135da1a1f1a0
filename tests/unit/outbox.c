/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The outbox: room taken and given back in any order, checked byte by byte, until it is full and beyond its end; what it
 * page-locks.
 */
#include "transport/stream/outbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(_condition)                                                                                              \
    do {                                                                                                               \
        if (!(_condition)) {                                                                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #_condition);                                           \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { ROOMS = 200, STEPS = 20000 };

static void *pinned;
static size_t pinned_size;

static int pin(void *address, size_t size)
{
    CHECK(!pinned);
    pinned = address;
    pinned_size = size;
    return 0;
}

static void unpin(void *address, size_t size)
{
    CHECK(address == pinned && size == pinned_size);
    pinned = NULL;
}

static const struct shmemi_pinning pinning = {.pin = pin, .unpin = unpin, .is_independent = true};
static const struct shmemi_pinning waiting_pinning = {.pin = pin, .unpin = unpin};
static const struct shmemi_memory device = {.name = "device", .pinning = &pinning};
static const struct shmemi_memory other_device = {.name = "other", .pinning = &pinning};
static const struct shmemi_memory waiting_device = {.name = "waiting", .pinning = &waiting_pinning};
static const struct shmemi_memory without_pinning = {.name = "plain"};

static struct {
    unsigned char *bytes;
    size_t size;
    int mark;
} room[ROOMS];

static void fill(int i, size_t size, int mark)
{
    room[i].bytes = shmemi_outbox_take(&device, size);
    room[i].size = size;
    room[i].mark = mark;
    if (!room[i].bytes)
        return;
    CHECK(room[i].bytes >= (unsigned char *)pinned && room[i].bytes + size <= (unsigned char *)pinned + pinned_size);
    CHECK((uintptr_t)room[i].bytes % 64 == 0);
    memset(room[i].bytes, mark, size);
}

static void empty(int i)
{
    for (size_t at = 0; at < room[i].size; at++)
        CHECK(room[i].bytes[at] == room[i].mark);
    shmemi_outbox_give(room[i].bytes);
    room[i].bytes = NULL;
}

static void empty_all(void)
{
    for (int i = 0; i < ROOMS; i++)
        if (room[i].bytes)
            empty(i);
}

static size_t random_size(void)
{
    return 1 + (size_t)rand() % (rand() % 4 ? 5000 : SHMEMI_OUTBOX_LONGEST);
}

static void test_random(void)
{
    int refused = 0;
    for (int step = 0; step < STEPS; step++) {
        int i = rand() % ROOMS;
        if (room[i].bytes)
            empty(i);
        else
            fill(i, random_size(), step % 256);
        refused += !room[i].bytes;
    }
    CHECK(refused > 0);
    empty_all();
}

/* How much fits at once; all of that again, from every start, once it has been given back. */
static void test_full(void)
{
    int before = -1;
    for (int round = 0; round < 50; round++) {
        int n = 0;
        while (n < ROOMS && (fill(n, SHMEMI_OUTBOX_LONGEST - 64, round), room[n].bytes))
            n++;
        CHECK(n > 8 && n < ROOMS && (before < 0 || abs(n - before) <= 1));
        before = n;
        for (int i = n; i-- > 0;)
            empty(i);
        fill(0, random_size(), 1);
        CHECK(room[0].bytes);
        empty(0);
    }
}

/* Page-locking that may wait for streams is done in advance, or not at all; other page-locking is not. */
static void test_prepare(void)
{
    CHECK(!shmemi_outbox_take(&waiting_device, 1) && !pinned);
    shmemi_outbox_prepare(&device);
    shmemi_outbox_prepare(&without_pinning);
    CHECK(!pinned);
    shmemi_outbox_prepare(&waiting_device);
    CHECK(pinned);
    void *bytes = shmemi_outbox_take(&waiting_device, 1);
    CHECK(bytes);
    shmemi_outbox_give(bytes);
    shmemi_outbox_close();
    CHECK(!pinned);
}

int main(void)
{
    test_prepare();
    CHECK(!shmemi_outbox_take(&without_pinning, 1) && !pinned);
    test_random();
    test_full();
    CHECK(!shmemi_outbox_take(&other_device, 1)); /* it serves one kind of memory */
    shmemi_outbox_close();
    CHECK(!pinned);
    fill(0, 1, 5);
    empty(0);
    shmemi_outbox_close();
    shmemi_outbox_close();
    return 0;
}
