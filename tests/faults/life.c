/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a PE, from shmem_init to the end, for scripts/faults: it lets something happen to one PE on the way.
 *   life        start, put to each other, some collectives, finalize
 *   life map    with a mapped OpenCL buffer
 *   life long   with puts that go on until the job is ended
 *   life DOES   the same with what a row of `activities` names
 */
#include "tests/api/check.h"
#include "tests/api/map_check.h"

#include <shmemx.h>
#include <unistd.h>

enum { BYTES = 4096, PUTS = 400, WORDS = BYTES / sizeof(long), PES_MAX = 64 };

static long sum, one = 1, lock;
static long words[WORDS], into[WORDS * PES_MAX], local[WORDS]; /* static data of other PEs */
static char *target, *source;
static struct device *device;
static void *object;
static long *map_address;

static int next_pe(void)
{
    return (shmem_my_pe() + 1) % shmem_n_pes();
}

static void open_map(void)
{
    device = map_open_device(&device_opencl_ops);
    CHECK_THAT(device, "no OpenCL device");
    object = device_alloc(device, BYTES);
    map_address = shmmap(object, BYTES, device->ops->memtype);
    CHECK_THAT(map_address, "shmmap: %s", shmemx_strerror());
}

static void close_map(void)
{
    shmumap(map_address);
    device_free(device, object);
}

static void map(void)
{
    open_map();
    shmem_putmem(map_address, source, 64, next_pe());
    close_map();
}

static void put(int turns)
{
    for (int i = 0; i < turns; i++) {
        shmem_putmem(target, source, BYTES, next_pe());
        if (i % 50 == 49)
            shmem_quiet();
    }
}

static void meet(void)
{
    shmem_broadcastmem(SHMEM_TEAM_WORLD, target, source, 64, 0);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1);
    CHECK(sum == shmem_n_pes());
    shmem_barrier_all();
}

/* ---- What goes on until the job is ended: one turn of each ------------------------------------------------------- */

/* All forms of transfers to and from the next PE. */
static void transfer(long *at)
{
    const int pe = next_pe();
    shmem_long_put(at, local, WORDS / 2, pe);
    shmem_long_get(local, at, WORDS / 2, pe);
    shmem_int_p((int *)at + 1, 5, pe);
    local[0] = shmem_long_g(at, pe);
    shmem_long_iput(at, local, 2, 1, 16, pe);
    shmem_long_iget(local, at, 1, 2, 16, pe);
    shmem_long_put_nbi(at, local, WORDS, pe);
    shmem_long_get_nbi(local, at, WORDS, pe);
    shmem_quiet();
    shmem_long_atomic_add(at, 1, pe);
    local[1] = shmem_long_atomic_fetch_add(at + 1, 1, pe) + shmem_long_atomic_compare_swap(at + 2, 1, 2, pe);
    shmem_long_put_signal(at, local, 8, (uint64_t *)at + 9, 1, SHMEM_SIGNAL_ADD, pe);
    shmem_fence();
}

static void use_static(void)
{
    transfer(words);
}

static void use_map(void)
{
    transfer(map_address);
}

static void use_atomics(void)
{
    for (int i = 0; i < WORDS; i++)
        local[i] = shmem_long_atomic_fetch_inc(words + i, next_pe());
}

static void use_collectives(void)
{
    const shmem_team_t all = SHMEM_TEAM_WORLD;
    shmem_long_broadcast(all, into, words, WORDS, 0);
    shmem_long_fcollect(all, into, words, 8);
    shmem_long_collect(all, into, words, 8);
    shmem_long_alltoall(all, into, words, WORDS / PES_MAX);
    shmem_long_alltoalls(all, into, words, 2, 1, WORDS / PES_MAX / 2);
    shmem_long_max_reduce(all, into, words, WORDS);
    shmem_long_sum_inscan(all, into, words, 8);
    shmem_team_sync(all);
    shmem_sync_all();
}

static void make_objects(void)
{
    shmem_team_t team;
    shmem_ctx_t context;
    void *memory = shmem_malloc(BYTES);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &team);
    shmem_ctx_create(0, &context);
    shmem_ctx_long_put(context, words, local, WORDS, next_pe());
    shmem_ctx_destroy(context);
    close_map();
    open_map();
    shmem_team_destroy(team);
    shmem_free(shmem_realloc(memory, 2 * BYTES));
}

static void take_lock(void)
{
    shmem_set_lock(&lock);
    shmem_long_p(words, shmem_long_g(words, 0) + 1, 0);
    shmem_clear_lock(&lock);
}

static void wait_for_words(void)
{
    static long turn;
    shmem_long_put_signal(into, local, WORDS, (uint64_t *)&sum, (uint64_t)++turn, SHMEM_SIGNAL_SET, next_pe());
    shmem_long_wait_until(&sum, SHMEM_CMP_GE, turn);
}

/* The host waits for the device, not in the library. */
static void use_queue(void)
{
    static struct queue *queue;
    queue = queue ? queue : device->ops->gpu.queue_open(device);
    void *lane = device->ops->gpu.queue_object(queue);
    shmemx_putmem_signal_on_queue(map_address, map_address + WORDS / 2, BYTES / 2, (uint64_t *)words, 1,
                                  SHMEM_SIGNAL_ADD, next_pe(), lane, 0, NULL, NULL);
    shmemx_long_sum_reduce_on_queue(SHMEM_TEAM_WORLD, map_address, map_address + WORDS / 2, 8, lane, 0, NULL, NULL);
    shmemx_barrier_all_on_queue(lane, 0, NULL, NULL);
    device->ops->gpu.finish(queue);
}

static void put_and_meet(void)
{
    put(PUTS);
    meet();
}

static const struct activity {
    const char *name;
    bool has_map;
    void (*turn)(void);
} activities[] = {
    {"long", false, put_and_meet},   {"static", false, use_static}, {"atomics", false, use_atomics},
    {"mapped", true, use_map},       {"queue", true, use_queue},    {"collectives", false, use_collectives},
    {"objects", true, make_objects}, {"locks", false, take_lock},   {"words", false, wait_for_words},
};

static void go_on_for_ever(const struct activity *activity)
{
    if (activity->has_map)
        open_map();
    shmem_barrier_all();
    for (;;)
        activity->turn();
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    shmem_init();
    target = check_shmem_malloc(BYTES), source = check_shmem_malloc(BYTES);
    memset(source, 1, BYTES);
    for (size_t i = 0; i < sizeof activities / sizeof activities[0]; i++)
        if (!strcmp(name, activities[i].name))
            go_on_for_ever(&activities[i]);
    if (!strcmp(name, "map"))
        map();
    put_and_meet();
    shmem_finalize();
    return 0;
}
