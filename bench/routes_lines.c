/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways in which the lines of gpu_routes do their operation: ours, the raw calls, and what else they are compared
 * with. PE 0 is the origin, PE 1 the target.
 */
#include "routes.h"
#include "tests/osu/by_hand.h"
#include "tests/osu/shmem_flavour.h"

#include <time.h>

enum { IDLE_SECONDS = 5 };

static double told; /* symmetric: by PE 1 to PE 0 */

/* ---- Ours ------------------------------------------------------------------------------------------------------ */

static void put(const struct routes *routes, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        shmem_putmem(routes->buffers.remote.address, routes->buffers.local.address, size, 1);
        shmem_quiet();
    }
}

static void get(const struct routes *routes, size_t size, long count)
{
    for (long i = 0; i < count; i++)
        shmem_getmem(routes->buffers.local.address, routes->buffers.remote.address, size, 1);
}

static void host_put(const struct routes *routes, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        shmem_putmem(routes->buffers.stage.address, routes->host_source.address, size, 1);
        shmem_quiet();
    }
}

static void put_pageable(const struct routes *routes, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        shmem_putmem(routes->buffers.remote.address, routes->pageable, size, 1);
        shmem_quiet();
    }
}

static void put_words_nbi(const struct routes *routes, size_t size)
{
    char *dest = routes->buffers.remote.address, *source = routes->buffers.local.address;
    for (size_t word = 0; word < ROUTES_WORDS; word++)
        shmem_putmem_nbi(dest + word * ROUTES_DISTANCE, source + word * ROUTES_DISTANCE, size, 1);
}

static void put_burst(const struct routes *routes, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        put_words_nbi(routes, size);
        shmem_quiet();
    }
}

/* The program was busy once before it completed a burst, so a thread of the library has sent on what was held back. */
static void put_burst_after_pause(const struct routes *routes, size_t size, long count)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    static bool has_paused;
    if (!has_paused) {
        put_words_nbi(routes, size);
        nanosleep(&pause, NULL);
        shmem_quiet();
    }
    has_paused = true;
    put_burst(routes, size, count);
}

static void get_burst(const struct routes *routes, size_t size, long count)
{
    char *dest = routes->buffers.local.address, *source = routes->buffers.remote.address;
    for (long i = 0; i < count; i++) {
        for (size_t word = 0; word < ROUTES_WORDS; word++)
            shmem_getmem_nbi(dest + word * ROUTES_DISTANCE, source + word * ROUTES_DISTANCE, size, 1);
        shmem_quiet();
    }
}

static long *remote_word(const struct routes *routes, size_t word)
{
    return (long *)(void *)((char *)routes->buffers.remote.address + word * ROUTES_DISTANCE);
}

/* The check of a burst expects the number of each word. */
static void p_burst(const struct routes *routes, size_t size, long count)
{
    (void)size;
    for (long i = 0; i < count; i++) {
        for (size_t word = 0; word < ROUTES_WORDS; word++)
            shmem_long_p(remote_word(routes, word), (long)word, 1);
        shmem_quiet();
    }
}

static void iput(const struct routes *routes, size_t size, long count)
{
    ptrdiff_t stride = (ptrdiff_t)routes->stride;
    (void)size;
    for (long i = 0; i < count; i++) {
        shmem_double_iput(routes->buffers.remote.address, routes->buffers.local.address, stride, stride, ROUTES_WORDS,
                          1);
        shmem_quiet();
    }
}

static void fetch_add(const struct routes *routes, size_t size, long count)
{
    (void)size;
    for (long i = 0; i < count; i++)
        routes->fetched[0] = shmem_long_atomic_fetch_add(remote_word(routes, 0), 1, 1);
}

static void add_burst(const struct routes *routes, size_t size, long count)
{
    (void)size;
    for (long i = 0; i < count; i++) {
        for (size_t word = 0; word < ROUTES_WORDS; word++)
            shmem_long_atomic_add(remote_word(routes, word), 1, 1);
        shmem_quiet();
    }
}

static void fetch_add_burst(const struct routes *routes, size_t size, long count)
{
    (void)size;
    for (long i = 0; i < count; i++) {
        for (size_t word = 0; word < ROUTES_WORDS; word++)
            shmem_long_atomic_fetch_add_nbi(&routes->fetched[word], remote_word(routes, word), 1, 1);
        shmem_quiet();
    }
}

/* Only the calls are timed. */
static double enqueue(struct routes *routes, size_t size, long count, void (*one)(const struct routes *, size_t))
{
    double total = 0;
    shmem_barrier_all();
    for (long i = 0; routes->session.me == 0 && i < count; i++) {
        double start = now_us();
        for (int call = 0; call < ROUTES_ENQUEUED; call++)
            one(routes, size);
        total += now_us() - start;
        plain_synchronize(routes->session.device);
    }
    return total;
}

static void stream_put(const struct routes *routes, size_t size)
{
    osu_put_on_stream(routes->buffers.remote.address, routes->buffers.local.address, size, 1,
                      routes->session.device->ops->memtype, routes->session.stream);
}

static double put_enqueue(struct routes *routes, size_t size, long count)
{
    return enqueue(routes, size, count, stream_put);
}

static void put_on_stream(const struct routes *routes, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        stream_put(routes, size);
        plain_synchronize(routes->session.device);
    }
}

static double clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* Per cent of a core that the busier PE takes while the programs of both sleep. */
static double idle(struct routes *routes, size_t size, long count)
{
    struct timespec nap = {.tv_sec = routes->quick ? 0 : IDLE_SECONDS, .tv_nsec = routes->quick ? 100000000 : 0};
    (void)size;
    (void)count;
    shmem_barrier_all();
    double cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID), wall = clock_us(CLOCK_MONOTONIC);
    nanosleep(&nap, NULL);
    double percent = 100 * (clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (clock_us(CLOCK_MONOTONIC) - wall);
    if (routes->session.me == 1)
        shmem_double_p(&told, percent, 0);
    shmem_barrier_all();
    return told > percent ? told : percent;
}

/* ---- What ours is compared with -------------------------------------------------------------------------------- */

/* What a way needs: room for the size, and calls that not every kind of memory has. */
static bool fits(const struct routes *routes, size_t size)
{
    return size <= routes->session.options.max_size;
}

static bool fits_words(const struct routes *routes, size_t size)
{
    return fits(routes, size) && fits(routes, ROUTES_WORDS * ROUTES_DISTANCE);
}

static bool fits_heap(const struct routes *routes, size_t size)
{
    return size <= routes->host_size;
}

static bool fits_private(const struct routes *routes, size_t size)
{
    return size <= routes->private_size;
}

static bool has_peer(const struct routes *routes, size_t size)
{
    return fits(routes, size) && routes->has_peer;
}

static bool has_peer_words(const struct routes *routes, size_t size)
{
    return fits_words(routes, size) && routes->has_peer && can_enqueue(routes->session.device);
}

static bool has_peer_2d(const struct routes *routes, size_t size)
{
    return fits_words(routes, size) && routes->has_peer;
}

static bool has_stream(const struct routes *routes, size_t size)
{
    return fits(routes, size) && OSU_CAN_MAP && routes->session.stream;
}

static bool has_peer_stream(const struct routes *routes, size_t size)
{
    return has_stream(routes, size) && routes->has_peer;
}

static bool has_pinned(const struct routes *routes, size_t size)
{
    return fits_private(routes, size) && can_lock(routes->session.device);
}

static void raw_put(const struct routes *routes, size_t size, long count)
{
    struct device_copy copy = {routes->peer, routes->buffers.local.object, true, true};
    plain_copy(routes->session.device, &copy, size, count);
}

static void raw_get(const struct routes *routes, size_t size, long count)
{
    struct device_copy copy = {routes->buffers.local.object, routes->peer, true, true};
    plain_copy(routes->session.device, &copy, size, count);
}

static void copy_words(const struct routes *routes, void *dest, const void *source, long count)
{
    struct device_words words = {dest, source, ROUTES_DISTANCE, ROUTES_WORDS};
    for (long i = 0; i < count; i++)
        plain_copy_words(routes->session.device, &words);
}

static void raw_put_burst(const struct routes *routes, size_t size, long count)
{
    (void)size;
    copy_words(routes, routes->peer, routes->buffers.local.object, count);
}

static void raw_get_burst(const struct routes *routes, size_t size, long count)
{
    (void)size;
    copy_words(routes, routes->buffers.local.object, routes->peer, count);
}

static void raw_2d(const struct routes *routes, size_t size, long count)
{
    struct device_copy ends = {routes->peer, routes->buffers.local.object, true, true};
    struct device_block block = {ends, 8, ROUTES_WORDS, routes->stride * 8, routes->stride * 8};
    (void)size;
    for (long i = 0; i < count; i++)
        plain_copy_2d(routes->session.device, &block);
}

static void stream_copy(const struct routes *routes, size_t size)
{
    struct device_copy copy = {routes->peer, routes->buffers.local.object, true, true};
    plain_enqueue(routes->session.device, &copy, size);
}

static double raw_enqueue(struct routes *routes, size_t size, long count)
{
    return enqueue(routes, size, count, stream_copy);
}

/* Host memory to a GPU: PE 1's if it has an address here. */
static void copy_in(const struct routes *routes, const char *source, size_t size, long count)
{
    struct device_copy copy = {routes->peer ? routes->peer : routes->buffers.local.object, source, true, false};
    plain_copy(routes->session.device, &copy, size, count);
}

static void raw_pageable(const struct routes *routes, size_t size, long count)
{
    copy_in(routes, routes->pageable, size, count);
}

static void raw_pinned(const struct routes *routes, size_t size, long count)
{
    copy_in(routes, routes->pinned, size, count);
}

static double naive_put(struct routes *routes, size_t size, long count)
{
    static const struct latency_test test = {.source_pe = OSU_PUT_SOURCE, .layout = &latency_consecutive};
    return by_hand_naive(&test, &routes->buffers, size, count) * (double)count;
}

/* PE 0 copies out of its GPU, then PE 1 into its own; pinned memory. The longer time counts. */
static double slower_pcie(struct routes *routes, size_t size, long count)
{
    const struct osu_session *session = &routes->session;
    struct device_copy out = {routes->pinned, routes->buffers.local.object, false, true};
    struct device_copy in = {routes->buffers.remote.object, routes->pinned, true, false};
    double times[2] = {0, 0};
    for (int pe = 0; pe < 2; pe++) {
        shmem_barrier_all();
        double start = now_us();
        if (session->me == pe)
            plain_copy(session->device, pe == 0 ? &out : &in, size, count);
        times[pe] = now_us() - start;
    }
    if (session->me == 1)
        shmem_double_p(&told, times[1], 0);
    shmem_barrier_all();
    return told > times[0] ? told : times[0];
}

/* ---- The table ------------------------------------------------------------------------------------------------- */

#define ALONE(_name, _text, _possible)                                                                                 \
    static const struct routes_way way_##_name = {.name = _text, .act = _name, .possible = _possible};
#define TOGETHER(_name, _text, _possible)                                                                              \
    static const struct routes_way way_##_name = {.name = _text, .timed = _name, .possible = _possible};

ALONE(put, "", fits)
ALONE(get, "", fits)
ALONE(put_pageable, "", fits_private)
ALONE(put_burst, "", fits_words)
ALONE(put_burst_after_pause, "", fits_words)
ALONE(get_burst, "", fits_words)
ALONE(p_burst, "", fits_words)
ALONE(iput, "", fits_words)
ALONE(fetch_add, "", fits_words)
ALONE(add_burst, "", fits_words)
ALONE(fetch_add_burst, "", fits_words)
TOGETHER(idle, "", fits)
TOGETHER(put_enqueue, "", has_stream)
ALONE(put_on_stream, "", has_stream)
TOGETHER(raw_enqueue, "raw copy", has_peer_stream)
ALONE(host_put, "host put", fits_heap)
ALONE(raw_put, "raw copy", has_peer)
ALONE(raw_get, "raw copy", has_peer)
ALONE(raw_put_burst, "raw copies", has_peer_words)
ALONE(raw_get_burst, "raw copies", has_peer_words)
ALONE(raw_2d, "raw 2-D copy", has_peer_2d)
ALONE(raw_pageable, "raw copy", has_pinned)
ALONE(raw_pinned, "pinned copy", has_pinned)
TOGETHER(naive_put, "naive", fits_heap)
TOGETHER(slower_pcie, "slower PCIe", has_pinned)

/* No peer, no check: the pointer to it is NULL. */
#define way_none (*(const struct routes_way *)NULL)
#define routes_check_none (*(const struct routes_check *)NULL)
#define LINE(_group, _what, _size, _operations, _ours, _peer, _unit, _kind, _goal, _below, _check)                     \
    {#_group,      _what,        _size, _operations, &way_##_ours,          &way_##_peer,                              \
     UNIT_##_unit, GOAL_##_kind, _goal, _below,      &routes_check_##_check},

const struct routes_line routes_lines[] = {
#include "routes_lines.def"
};
const size_t routes_n_lines = sizeof routes_lines / sizeof routes_lines[0];
