/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random puts, gets and atomics against a model, for about three seconds. Every PE owns a lane of every PE's memory:
 * it alone writes there, so it knows what must be there. Usage: stress [SEED [SECONDS]].
 */
#include "check.h"

#include <time.h>

enum { PES_MAX = 32, LANE = 64 * 1024, COUNTERS = 8, OPERATIONS_PER_QUIET = 16 };

static _Alignas(64) unsigned char static_lanes[PES_MAX][LANE];
static uint64_t static_counters[COUNTERS];

/* Heap or static data, and what this PE has written into its lane of every PE. */
struct area {
    const char *name;
    unsigned char (*lanes)[LANE];
    uint64_t *counters;
    unsigned char *model[PES_MAX];
    uint64_t added[COUNTERS]; /* by this PE, over all PEs' counters */
};

struct random {
    uint64_t state;
};

static uint64_t next(struct random *random)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return random->state;
}

static size_t below(struct random *random, size_t bound)
{
    return (size_t)(next(random) % bound);
}

/* Mostly short, sometimes long. */
static size_t random_size(struct random *random)
{
    size_t most = (size_t)1 << below(random, 16);
    return 1 + below(random, most);
}

/* Sources of nonblocking puts must stay until quiet: a ring as long as there are operations between two. */
static unsigned char sources[OPERATIONS_PER_QUIET][LANE];

static void fill(struct random *random, unsigned char *bytes, size_t nbytes)
{
    uint64_t value = next(random);
    for (size_t i = 0; i < nbytes; i++)
        bytes[i] = (unsigned char)((value >> (i % 8 * 8)) + i);
}

static void random_put(struct area *area, struct random *random, unsigned char *source)
{
    int pe = (int)below(random, (size_t)shmem_n_pes());
    size_t nbytes = random_size(random), offset = below(random, LANE - nbytes + 1);
    unsigned char *dest = area->lanes[shmem_my_pe()] + offset;
    fill(random, source, nbytes);
    memcpy(area->model[pe] + offset, source, nbytes);
    if (below(random, 2))
        shmem_putmem(dest, source, nbytes, pe);
    else
        shmem_putmem_nbi(dest, source, nbytes, pe);
}

static void random_iput(struct area *area, struct random *random, unsigned char *source)
{
    int pe = (int)below(random, (size_t)shmem_n_pes());
    size_t stride = 1 + below(random, 20), nelems = 1 + below(random, 300);
    size_t first = below(random, LANE / 4 - nelems * stride);
    uint32_t *dest = (uint32_t *)area->lanes[shmem_my_pe()] + first;
    fill(random, source, nelems * 4);
    for (size_t i = 0; i < nelems; i++)
        memcpy(area->model[pe] + (first + i * stride) * 4, source + i * 4, 4);
    shmem_iput32(dest, source, (ptrdiff_t)stride, 1, nelems, pe);
}

static void random_p(struct area *area, struct random *random)
{
    int pe = (int)below(random, (size_t)shmem_n_pes());
    size_t i = below(random, LANE / 8);
    uint64_t value = next(random);
    memcpy(area->model[pe] + i * 8, &value, 8);
    shmem_uint64_p((uint64_t *)area->lanes[shmem_my_pe()] + i, value, pe);
}

static void random_amo(struct area *area, struct random *random)
{
    int pe = (int)below(random, (size_t)shmem_n_pes());
    size_t i = below(random, COUNTERS);
    uint64_t value = below(random, 1000);
    area->added[i] += value;
    if (below(random, 2))
        shmem_uint64_atomic_add(&area->counters[i], value, pe);
    else
        shmem_uint64_atomic_fetch_add(&area->counters[i], value, pe);
}

static void compare(const struct area *area, const unsigned char *found, int pe, size_t offset, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++)
        CHECK_THAT(found[i] == area->model[pe][offset + i],
                   "%s of PE %d, offset %zu (byte %zu of a get of %zu) is %#x, expected %#x", area->name, pe,
                   offset + i, i, nbytes, found[i], area->model[pe][offset + i]);
}

/* After quiet, what is there is the model. */
static void random_get(const struct area *area, struct random *random)
{
    static unsigned char dest[LANE];
    int pe = (int)below(random, (size_t)shmem_n_pes());
    size_t nbytes = random_size(random), offset = below(random, LANE - nbytes + 1);
    const unsigned char *source = area->lanes[shmem_my_pe()] + offset;
    if (below(random, 2)) {
        shmem_getmem(dest, source, nbytes, pe);
    } else {
        shmem_getmem_nbi(dest, source, nbytes, pe);
        shmem_quiet();
    }
    compare(area, dest, pe, offset, nbytes);
}

static void burst(struct area *areas, struct random *random)
{
    for (int i = 0; i < OPERATIONS_PER_QUIET; i++) {
        struct area *area = &areas[below(random, 2)];
        switch (below(random, 4)) {
        case 0:
            random_put(area, random, sources[i]);
            break;
        case 1:
            random_iput(area, random, sources[i]);
            break;
        case 2:
            random_p(area, random);
            break;
        default:
            random_amo(area, random);
        }
        if (below(random, 4) == 0)
            shmem_fence();
        else
            shmem_quiet(); /* overlapping puts are not ordered otherwise */
    }
    shmem_quiet();
    for (int i = 0; i < 4; i++)
        random_get(&areas[below(random, 2)], random);
}

static void check_whole(struct area *area)
{
    static uint64_t sums[COUNTERS], added[COUNTERS];
    shmem_barrier_all();
    for (int pe = 0; pe < shmem_n_pes(); pe++) {
        shmem_getmem(sources[0], area->lanes[shmem_my_pe()], LANE, pe);
        compare(area, sources[0], pe, 0, LANE);
    }
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, sums, area->counters, COUNTERS);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, added, area->added, COUNTERS);
    for (int i = 0; i < COUNTERS; i++)
        CHECK_THAT(sums[i] == added[i], "counter %d in %s holds %llu, expected %llu", i, area->name,
                   (unsigned long long)sums[i], (unsigned long long)added[i]);
}

static void open_area(struct area *area)
{
    memset(area->lanes, 0, (size_t)shmem_n_pes() * LANE);
    memset(area->counters, 0, COUNTERS * sizeof *area->counters);
    for (int pe = 0; pe < shmem_n_pes(); pe++) {
        area->model[pe] = check_malloc(LANE);
        memset(area->model[pe], 0, LANE);
    }
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    int seconds = argc > 2 ? atoi(argv[2]) : 3;
    shmem_init();
    CHECK_THAT(shmem_n_pes() <= PES_MAX, "this test runs with at most %d PEs", PES_MAX);
    struct random random = {(seed * 1000003u + (unsigned)shmem_my_pe() + 1) * 0x9e3779b97f4a7c15u};
    struct area areas[2] = {{.name = "heap", .lanes = check_shmem_malloc((size_t)shmem_n_pes() * LANE),
                             .counters = check_shmem_malloc(COUNTERS * sizeof(uint64_t))},
                            {.name = "static data", .lanes = static_lanes, .counters = static_counters}};
    open_area(&areas[0]);
    open_area(&areas[1]);
    shmem_barrier_all();
    for (time_t end = time(NULL) + seconds; time(NULL) < end;)
        burst(areas, &random);
    check_whole(&areas[0]);
    check_whole(&areas[1]);
    return check_end();
}
