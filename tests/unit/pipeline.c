/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pipeline with a kind of memory of this program's own, whose copies are delayed: every byte packed or unpacked
 * once, by places and by views, with and without threads, with direct ranges, in place, with failures half-way, and by
 * several threads at once; the pool itself.
 */
#define _GNU_SOURCE
#include "deep/pipeline.h"

#include "base/settings.h"
#include "gpu/copy_threads/copy_pool.h"
#include "transport/driver.h"
#include "transport/drivers/table.h"
#include "fake_memory.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { CHUNK = 64 << 10, SMALL = SHMEMI_PIPELINE_SMALL, ROOM = 6 << 20, GUARD = 64, USERS = 3 };

/* ---- Data -------------------------------------------------------------------------------------------------------- */

struct data {
    char *source;       /* of all, direct ranges included */
    unsigned char *met; /* how often each byte was packed or unpacked; no two threads handle the same byte */
    char *dest;
    size_t size;
};

static bool all_are(const unsigned char *bytes, size_t n, unsigned char value)
{
    return !n || (bytes[0] == value && !memcmp(bytes, bytes + 1, n - 1));
}

static void meet(const struct data *data, size_t at, size_t nbytes)
{
    CHECK(nbytes && at < data->size && nbytes <= data->size - at);
    CHECK(all_are(data->met + at, nbytes, 0));
    memset(data->met + at, 1, nbytes);
}

static void pack(const void *argument, size_t at, char *bytes, size_t nbytes)
{
    const struct data *data = argument;
    meet(data, at, nbytes);
    memcpy(bytes, data->source + at, nbytes);
}

static void unpack(const void *argument, size_t at, const char *bytes, size_t nbytes)
{
    const struct data *data = argument;
    meet(data, at, nbytes);
    memcpy(data->dest + at, bytes, nbytes);
}

static void make_data(struct data *data, size_t room)
{
    data->source = malloc(room);
    data->dest = malloc(room);
    data->met = malloc(room);
    CHECK(data->source && data->dest && data->met);
}

static void free_data(struct data *data)
{
    free(data->source);
    free(data->dest);
    free(data->met);
}

enum { SEEDS = 1000 };
static char pattern[ROOM + SEEDS];

static void make_pattern(void)
{
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (char)(i * 2654435761u >> 13);
}

static void fill(char *bytes, size_t nbytes, size_t seed)
{
    memcpy(bytes, pattern + seed % SEEDS, nbytes);
}

/* Each byte was packed once, but none in direct ranges unless everything is in place. */
static void check_met(const struct data *data, const struct shmemi_direct_range *direct, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        CHECK(all_are(data->met + at, direct[i].at - at, 1));
        CHECK(all_are(data->met + direct[i].at, direct[i].size, 0));
        at = direct[i].at + direct[i].size;
    }
    CHECK(all_are(data->met + at, data->size - at, 1));
}

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

enum way { BY_PLACE, BY_VIEW, IN_PLACE, WAYS };

/* A far side in memory of this program, and what a view needs. */
struct far {
    char *memory;
    struct shmemi_context context;
    struct shmemi_view view;
    struct shmemi_far_side side;
};

static void make_far(struct far *far, enum way way, char *memory)
{
    struct shmemi_place place = shmemi_place_host(memory);
    *far = (struct far){.memory = memory};
    if (way != IN_PLACE)
        place.memory = &fake_memory;
    far->side = shmemi_far_place(place);
    if (way != BY_VIEW)
        return;
    place.address -= 100;
    far->view = (struct shmemi_view){.driver = &shmemi_driver_local, .place = place, .size = ROOM};
    far->side = shmemi_far_view(&far->context, &far->view, 100);
}

static int send(struct far *far, const struct data *data, const struct shmemi_direct_range *direct, size_t n_direct)
{
    struct shmemi_pipeline_data source = {data->size, pack, NULL, data, direct, n_direct, 0, NULL};
    memset(data->met, 0, data->size);
    int rc = shmemi_pipeline_copy(&far->side, &source);
    if (!rc && shmemi_context_has_pending(&far->context))
        rc = shmemi_drivers_quiet(&far->context);
    return rc;
}

static int receive(struct far *far, const struct data *data, const struct shmemi_direct_range *direct, size_t n_direct)
{
    struct shmemi_pipeline_data dest = {data->size, NULL, unpack, data, direct, n_direct, 0, NULL};
    memset(data->met, 0, data->size);
    return shmemi_pipeline_copy(&far->side, &dest);
}

static void check_send(struct data *data, enum way way, const struct shmemi_direct_range *direct, size_t n)
{
    struct far far;
    char *memory = malloc(data->size + 2 * GUARD);
    CHECK(memory);
    memset(memory, 0x5a, data->size + 2 * GUARD);
    make_far(&far, way, memory + GUARD);
    fill(data->source, data->size, data->size);
    CHECK(!send(&far, data, direct, n));
    check_met(data, direct, way == IN_PLACE ? 0 : n);
    CHECK(!memcmp(far.memory, data->source, data->size));
    for (int i = 0; i < GUARD; i++)
        CHECK(memory[i] == 0x5a && memory[GUARD + data->size + (size_t)i] == 0x5a);
    free(memory);
}

static void check_receive(struct data *data, enum way way, const struct shmemi_direct_range *direct, size_t n)
{
    struct far far;
    char *memory = malloc(data->size + 1);
    CHECK(memory);
    make_far(&far, way, memory);
    fill(memory, data->size, data->size + 1);
    memset(data->dest, 0x5a, data->size);
    CHECK(!receive(&far, data, direct, n));
    check_met(data, direct, way == IN_PLACE ? 0 : n);
    CHECK(!memcmp(far.memory, data->dest, data->size));
    free(memory);
}

static void check_sizes(struct data *data)
{
    static const size_t sizes[] = {0, 1, 4097, SMALL - 1, SMALL, SMALL + 1, (1 << 20) - 1, 1 << 20, (5 << 20) + 12345};
    for (int way = 0; way < WAYS; way++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            data->size = sizes[i];
            fake.delay = i % 4;
            check_send(data, way, NULL, 0);
            check_receive(data, way, NULL, 0);
            CHECK(!fake.under_way);
        }
}

/* At the start, at the end, side by side, empty, all of it. */
static void check_direct(struct data *data)
{
    static const size_t ranges[][2] = {{0, 100000}, {100000, 0},      {100000, 200000},  {300001, 1},
                                       {400000, 5}, {900000, 600000}, {2000000, 1000000}};
    struct shmemi_direct_range direct[7];
    data->size = 3000000;
    for (int way = 0; way < WAYS; way++)
        for (size_t n = 1; n <= 7; n += 3) {
            for (int from = 0; from < 2; from++) {
                for (size_t i = 0; i < n; i++)
                    direct[i] = (struct shmemi_direct_range){ranges[i][0], ranges[i][1],
                                                             (from ? data->source : data->dest) + ranges[i][0]};
                from ? check_send(data, way, direct, n) : check_receive(data, way, direct, n);
            }
            CHECK(!fake.under_way);
        }
    for (int way = 0; way < WAYS; way++) {
        check_send(data, way, &(struct shmemi_direct_range){0, data->size, data->source}, 1);
        check_receive(data, way, &(struct shmemi_direct_range){0, data->size, data->dest}, 1);
    }
}

/* Each far side gets the data of its own, with the ranges that all have in common. */
static void check_several_of(enum way way, size_t size, const struct shmemi_direct_range *direct, size_t n_direct)
{
    enum { SIDES = 3 };
    struct data data[SIDES];
    struct far far[SIDES];
    struct shmemi_far_side sides[SIDES];
    for (size_t i = 0; i < SIDES; i++) {
        make_data(&data[i], size + GUARD);
        data[i].size = size;
        fill(data[i].source, size, size + i);
        memset(data[i].met, 0, size);
        memset(data[i].dest, 0x5a, size + GUARD);
        make_far(&far[i], way, data[i].dest);
        sides[i] = far[i].side;
        for (size_t k = 0; k < n_direct && way != IN_PLACE; k++)
            memcpy(data[i].source + direct[k].at, direct[k].bytes, direct[k].size);
    }
    const struct shmemi_pipeline_data source = {size, pack, NULL, data, direct, n_direct, sizeof data[0], pack};
    CHECK(shmemi_far_is_like(&sides[0], &sides[SIDES - 1]));
    CHECK(!shmemi_pipeline_send(sides, SIDES, &source));
    for (size_t i = 0; i < SIDES; i++) {
        CHECK(!shmemi_context_has_pending(&far[i].context) || !shmemi_drivers_quiet(&far[i].context));
        check_met(&data[i], direct, way == IN_PLACE ? 0 : n_direct);
        CHECK(!memcmp(data[i].dest, data[i].source, size) &&
              all_are((unsigned char *)data[i].dest + size, GUARD, 0x5a));
        free_data(&data[i]);
    }
}

static void check_several(struct data *data)
{
    static const size_t sizes[] = {1, SMALL - 1, SMALL, SMALL + 1, (1 << 20) + 1, 4 << 20, (4 << 20) + 12345};
    fill(data->source, 6000000, 5);
    const struct shmemi_direct_range direct[] = {{0, 100000, data->source},
                                                 {100000, 0, data->source},
                                                 {300001, 1, data->source + 7},
                                                 {2000000, 1000000, data->source + 9}};
    for (int way = 0; way < WAYS; way++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            fake.delay = i % 4;
            check_several_of(way, sizes[i], NULL, 0);
        }
        check_several_of(way, 3000000, direct, 4);
        check_several_of(way, 3000001, direct, 4);
        CHECK(!fake.under_way);
    }
}

static void check_which_are_direct(void)
{
    struct far far;
    static char bytes[2];
    const char *even = bytes + ((uintptr_t)bytes & 1);
    make_far(&far, BY_PLACE, bytes);
    CHECK(shmemi_far_takes_directly(&far.side, even, SHMEMI_PIPELINE_DIRECT));
    CHECK(!shmemi_far_takes_directly(&far.side, even, SHMEMI_PIPELINE_DIRECT - 1));
    CHECK(!shmemi_far_takes_directly(&far.side, even + 1, SHMEMI_PIPELINE_DIRECT));
    make_far(&far, BY_VIEW, bytes);
    CHECK(shmemi_far_takes_directly(&far.side, even, SHMEMI_PIPELINE_DIRECT));
    CHECK(!shmemi_far_takes_directly(&far.side, even + 1, SHMEMI_PIPELINE_DIRECT));
    make_far(&far, IN_PLACE, bytes);
    CHECK(!shmemi_far_takes_directly(&far.side, even, SHMEMI_PIPELINE_DIRECT));
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

static void check_failure(struct data *data, enum way way, bool is_send, long start, long test)
{
    struct far far;
    char *memory = calloc(1, data->size);
    CHECK(memory);
    struct shmemi_direct_range direct[] = {{300000, 200000, NULL}, {1200000, 300000, NULL}};
    for (int i = 0; i < 2; i++)
        direct[i].bytes = (is_send ? data->source : data->dest) + direct[i].at;
    make_far(&far, way, memory);
    fake.starts = fake.tests = 0;
    fake.fail_start = start;
    fake.fail_test = test;
    int rc = is_send ? send(&far, data, direct, 2) : receive(&far, data, direct, 2);
    CHECK(rc == (start ? -EIO : -ENXIO));
    CHECK(!fake.under_way);
    free(memory); /* sanitizers detect threads that still use it */
    fake.fail_start = fake.fail_test = 0;
}

static void check_failures(struct data *data)
{
    data->size = 2 << 20;
    fake.delay = 2;
    for (int way = 0; way < IN_PLACE; way++)
        for (long call = 1; call < 9; call += 2)
            for (int is_send = 0; is_send < 2; is_send++) {
                check_failure(data, way, is_send, call, 0);
                check_failure(data, way, is_send, 0, call);
            }
    data->size = 1000;
    struct far far;
    make_far(&far, BY_PLACE, data->dest);
    fake.starts = 0;
    fake.fail_start = 1;
    CHECK(send(&far, data, NULL, 0) == -EIO);
    fake.fail_start = 0;
    check_sizes(data); /* the next ones are not harmed */
}

/* ---- Several threads, small buffers, the end --------------------------------------------------------------------- */

static void *use_as_well(void *argument)
{
    struct data data;
    make_data(&data, ROOM);
    for (unsigned i = 0; i < 12; i++) {
        data.size = 1 + (size_t)i * 150001;
        check_send(&data, i % WAYS, NULL, 0);
        check_receive(&data, (i + 1) % WAYS, NULL, 0);
    }
    free_data(&data);
    return argument;
}

static void check_threads(void)
{
    pthread_t thread[USERS];
    for (int i = 0; i < USERS; i++)
        CHECK(!pthread_create(&thread[i], NULL, use_as_well, NULL));
    for (int i = 0; i < USERS; i++)
        pthread_join(thread[i], NULL);
}

static void check_small_buffers(struct data *data)
{
    struct far far;
    char *taken[SHMEMI_SMALL_BUFFERS];
    make_far(&far, BY_PLACE, data->dest);
    for (int i = 0; i < SHMEMI_SMALL_BUFFERS; i++) {
        taken[i] = shmemi_pipeline_take_buffer(&far.side);
        CHECK(taken[i] && (uintptr_t)taken[i] % 4096 == 0);
        memset(taken[i], i, SHMEMI_PIPELINE_SMALL);
    }
    CHECK(!shmemi_pipeline_take_buffer(&far.side));
    data->size = 1000;
    check_send(data, BY_PLACE, NULL, 0); /* without one */
    for (int i = 0; i < SHMEMI_SMALL_BUFFERS; i++) {
        CHECK(taken[i][0] == i && taken[i][SHMEMI_PIPELINE_SMALL - 1] == i);
        shmemi_pipeline_give_buffer(taken[i]);
    }
    CHECK(shmemi_pipeline_take_buffer(&far.side) != NULL);
}

/* Copies of pageable memory need threads, and wait neither for transfers nor for this thread. */
static void check_pool(unsigned threads)
{
    const struct shmemi_copy_pool *pool, *other;
    bool is_there = !shmemi_copy_pool_take(&fake_memory, 0, SHMEMI_POOL_FOR_COPIES, &pool);
    CHECK(is_there == (threads > 0));
    if (is_there) {
        CHECK(shmemi_copy_pool_take(&fake_memory, 0, SHMEMI_POOL_FOR_COPIES, &other) == -ENOTSUP);
        shmemi_copy_pool_give();
    }
    CHECK(!shmemi_copy_pool_take(&fake_memory, 0, SHMEMI_POOL_FOR_TRANSFERS, &pool));
    CHECK(shmemi_copy_pool_take(&fake_memory, 0, SHMEMI_POOL_FOR_COPIES, &other) == -ENOTSUP);
    CHECK(shmemi_double_queue_threads(pool->queue) == threads);
    shmemi_copy_pool_give();
}

/* As the settings have it: threads, or none since there are to be no buffers for them. */
static void check_all(unsigned threads, size_t chunk)
{
    struct data data;
    shmemi_settings.copy_threads = threads;
    shmemi_settings.copy_chunk = chunk;
    make_data(&data, ROOM);
    check_pool(threads);
    check_sizes(&data);
    check_direct(&data);
    check_several(&data);
    check_failures(&data);
    check_threads();
    check_small_buffers(&data);
    free_data(&data);
    shmemi_pipeline_close();
    shmemi_copy_pool_close();
    CHECK(fake.pins == fake.unpins && fake.pins > 0);
}

int main(void)
{
    make_pattern();
    check_which_are_direct();
    check_all(0, 0);
    check_all(1, CHUNK);
    check_all(3, 4 * CHUNK);
    return 0;
}
