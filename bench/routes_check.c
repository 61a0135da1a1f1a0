/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contents before and after the operations of gpu_routes. The figure of a transfer that moved the wrong bytes does not
 * count.
 */
#include "routes.h"
#include "tests/osu/shmem_flavour.h"

#include <stdlib.h>
#include <string.h>

static int wrong; /* symmetric: on PE 0, what PE 1 found */
static unsigned seed;

/* Tells PE 0 what the PE that has compared found. */
static bool tell(const struct routes *routes, int by, bool right)
{
    if (routes->session.me == by)
        shmem_int_p(&wrong, !right, 0);
    shmem_barrier_all();
    return !wrong;
}

static void prepare_block(struct routes *routes, size_t size, int source_pe)
{
    struct osu_memory *mine = routes->session.me == 0 ? &routes->buffers.local : &routes->buffers.remote;
    seed++;
    if (routes->session.me == source_pe)
        osu_memory_fill(mine, size, seed);
    else
        osu_memory_clear(mine, size, seed);
}

static bool right_block(struct routes *routes, size_t size, int source_pe)
{
    struct osu_memory *mine = routes->session.me == 0 ? &routes->buffers.local : &routes->buffers.remote;
    bool right = routes->session.me == source_pe || osu_memory_check(mine, size, seed);
    return tell(routes, !source_pe, right);
}

static void prepare_put(struct routes *routes, size_t size)
{
    prepare_block(routes, size, 0);
}

static bool right_put(struct routes *routes, size_t size)
{
    return right_block(routes, size, 0);
}

static void prepare_get(struct routes *routes, size_t size)
{
    prepare_block(routes, size, 1);
}

static bool right_get(struct routes *routes, size_t size)
{
    return right_block(routes, size, 1);
}

/* ---- Words: PE 0's hold their number, PE 1's something else ---------------------------------------------------- */

static char *host_copy(size_t bytes)
{
    char *memory = calloc(bytes, 1);
    if (!memory)
        die("calloc: no room for %zu bytes", bytes);
    return memory;
}

static void write_words(struct osu_memory *memory, size_t distance, long first, long step)
{
    size_t bytes = ROUTES_WORDS * distance;
    char *words = host_copy(bytes);
    for (long word = 0; word < ROUTES_WORDS; word++) {
        long value = first + word * step;
        memcpy(words + (size_t)word * distance, &value, sizeof value);
    }
    plain_write(memory->device, memory->object, 0, words, bytes);
    free(words);
}

static bool has_words(struct osu_memory *memory, size_t distance, long first, long step)
{
    size_t bytes = ROUTES_WORDS * distance;
    char *words = host_copy(bytes);
    bool same = true;
    plain_read(memory->device, words, memory->object, 0, bytes);
    for (long word = 0; word < ROUTES_WORDS; word++) {
        long value;
        memcpy(&value, words + (size_t)word * distance, sizeof value);
        same &= value == first + word * step;
    }
    free(words);
    return same;
}

static void prepare_words(struct routes *routes, size_t distance)
{
    if (routes->session.me == 0)
        write_words(&routes->buffers.local, distance, 0, 1);
    else
        write_words(&routes->buffers.remote, distance, -1, 0);
}

static bool right_words(struct routes *routes, size_t distance, long first, long step)
{
    bool right = routes->session.me == 0 || has_words(&routes->buffers.remote, distance, first, step);
    return tell(routes, 1, right);
}

static void prepare_burst(struct routes *routes, size_t size)
{
    (void)size;
    prepare_words(routes, ROUTES_DISTANCE);
}

static bool right_burst(struct routes *routes, size_t size)
{
    (void)size;
    return right_words(routes, ROUTES_DISTANCE, 0, 1);
}

static void prepare_strided(struct routes *routes, size_t size)
{
    prepare_words(routes, routes->stride * size);
}

static bool right_strided(struct routes *routes, size_t size)
{
    return right_words(routes, routes->stride * size, 0, 1);
}

/* Whether 1 has been added to each word. */
static bool right_sum(struct routes *routes, size_t size)
{
    (void)size;
    return right_words(routes, ROUTES_DISTANCE, 0, 0);
}

const struct routes_check routes_check_put = {prepare_put, right_put};
const struct routes_check routes_check_get = {prepare_get, right_get};
const struct routes_check routes_check_burst = {prepare_burst, right_burst};
const struct routes_check routes_check_strided = {prepare_strided, right_strided};
const struct routes_check routes_check_sum = {prepare_burst, right_sum};
