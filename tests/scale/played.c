/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a PE of a large job needs: memory and time of the start, of the first puts to some PEs, and of mapped objects. The
 * PEs of one node are real, the others are played (played.h), so times are without what a launcher and a network take.
 *
 * played [PES [PER_NODE [PEERS [OBJECTS]]]]: 1024 PEs in nodes of 1, 16 peers, 100 objects. PE 0 prints, for each step,
 * its seconds and the memory in KiB that this process has written and does not share.
 *
 * played messages [PES [PER_NODE]]: how many operations PE 0, a leader, gives to the network for each collective, and
 * with how many PEs it communicates for the first time. The number of nodes must be a power of two (played.h).
 */
#define _GNU_SOURCE
#include "played.h"

#include "shmem.h"
#include "shmemx.h"
#include "support/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OBJECT_BYTES = 4096 };

static double start_of_step;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Written memory that no other process has, in KiB. */
static long written(void)
{
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "Private_Dirty:", 14))
            kib = strtol(line + 14, NULL, 10);
    if (file)
        fclose(file);
    return kib;
}

static void begin_step(void)
{
    start_of_step = now();
}

static void end_step(const char *name)
{
    double seconds = now() - start_of_step;
    if (shmem_my_pe() == 0)
        printf("%-8s %9.4f s %9ld KiB\n", name, seconds, written());
    fflush(stdout);
}

/* The PEs that this one communicates with: of other nodes, spread over the job. */
static int peer(int i, int n_peers, int n_pes, int per_node)
{
    return (int)(per_node + (int64_t)(n_pes - per_node) * i / n_peers);
}

static void require(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "PE %d: %s\n", shmem_my_pe(), what);
    shmem_global_exit(1);
}

/* All copies on other nodes are this PE's own, so the last value put is there. */
static void put_to_peers(uint64_t *object, int n_peers, int per_node, uint64_t seed)
{
    const int n_pes = shmem_n_pes();
    for (int i = 0; i < n_peers; i++) {
        uint64_t value = seed + (uint64_t)i;
        shmem_put64(object, &value, 1, peer(i, n_peers, n_pes, per_node));
        shmem_quiet();
    }
}

static uint64_t **map_objects(struct device *dev, struct buffer **buffers, int n_objects)
{
    uint64_t **objects = calloc((size_t)n_objects + 1, sizeof *objects);
    for (int i = 0; i < n_objects; i++) {
        buffers[i] = device_alloc(dev, OBJECT_BYTES);
        objects[i] = shmmap(buffers[i], OBJECT_BYTES, OSHM_MEMTYPE_OPENCL);
        require(objects[i] != NULL, "an object cannot be mapped");
    }
    return objects;
}

static void check_objects(struct device *dev, struct buffer **buffers, int n_objects, int n_peers)
{
    for (int i = 0; i < n_objects; i++) {
        uint64_t value = 0;
        device_read(dev, &value, buffers[i], 0, sizeof value);
        require(value == (uint64_t)i * 1000 + (uint64_t)n_peers - 1, "an object does not hold what was put last");
    }
}

static void use_objects(struct device *dev, int n_objects, int n_peers, int per_node)
{
    struct buffer **buffers = calloc((size_t)n_objects + 1, sizeof *buffers);
    begin_step();
    uint64_t **objects = map_objects(dev, buffers, n_objects);
    end_step("map");
    begin_step();
    for (int i = 0; i < n_objects; i++)
        put_to_peers(objects[i], n_peers, per_node, (uint64_t)i * 1000);
    end_step("put all");
    check_objects(dev, buffers, n_objects, n_peers);
    shmem_barrier_all();
    for (int i = 0; i < n_objects; i++) {
        shmumap(objects[i]);
        device_free(dev, buffers[i]);
    }
    free(objects);
    free(buffers);
}

/* ---- Messages of collectives ------------------------------------------------------------------------------------- */

enum { LONG_BYTES = 1 << 20, BLOCK_WORDS = 16, STRIDE = 3 };

struct arrays {
    shmem_team_t team;
    uint64_t *source, *dest;
    size_t words; /* that each PE contributes; alltoall: sends to each */
};

static void run_barrier(const struct arrays *arrays)
{
    shmem_team_sync(arrays->team);
    shmem_quiet();
}

static void run_broadcast(const struct arrays *arrays)
{
    shmem_uint64_broadcast(arrays->team, arrays->dest, arrays->source, arrays->words, 0);
}

static void run_reduce(const struct arrays *arrays)
{
    shmem_uint64_sum_reduce(arrays->team, arrays->dest, arrays->source, arrays->words);
}

static void run_scan(const struct arrays *arrays)
{
    shmem_uint64_sum_inscan(arrays->team, arrays->dest, arrays->source, arrays->words);
}

static void run_fcollect(const struct arrays *arrays)
{
    shmem_uint64_fcollect(arrays->team, arrays->dest, arrays->source, arrays->words);
}

static void run_collect(const struct arrays *arrays)
{
    shmem_uint64_collect(arrays->team, arrays->dest, arrays->source, arrays->words);
}

static void run_alltoall(const struct arrays *arrays)
{
    shmem_uint64_alltoall(arrays->team, arrays->dest, arrays->source, arrays->words);
}

static void run_alltoalls(const struct arrays *arrays)
{
    shmem_uint64_alltoalls(arrays->team, arrays->dest, arrays->source, 1, 2, arrays->words);
}

/* Words are 1, BLOCK_WORDS, or as many as make LONG_BYTES. */
static const struct collective {
    const char *name;
    void (*run)(const struct arrays *arrays);
    size_t words[2]; /* 0: no second size */
} collectives[] = {
    {"barrier", run_barrier, {1, 0}},
    {"broadcast", run_broadcast, {1, LONG_BYTES / sizeof(uint64_t)}},
    {"reduce", run_reduce, {1, LONG_BYTES / sizeof(uint64_t)}},
    {"scan", run_scan, {1, LONG_BYTES / sizeof(uint64_t)}},
    {"fcollect", run_fcollect, {1, BLOCK_WORDS}},
    {"collect", run_collect, {1, BLOCK_WORDS}},
    {"alltoall", run_alltoall, {1, BLOCK_WORDS}},
    {"alltoalls", run_alltoalls, {1, 0}},
};
enum { N_COLLECTIVES = sizeof collectives / sizeof collectives[0] };

static void count(const struct collective *collective, const char *of, const struct arrays *arrays)
{
    collective->run(arrays); /* keys are fetched, and nothing waits for a broadcast before */
    shmem_team_sync(arrays->team);
    long operations = played_operations();
    collective->run(arrays);
    if (shmem_my_pe() == 0)
        printf("%-10s %8zu bytes %6ld operations, %3d PEs so far, %s\n", collective->name,
               arrays->words * sizeof(uint64_t), played_operations() - operations, played_endpoints(), of);
    shmem_team_sync(arrays->team);
}

static void count_messages(shmem_team_t team, const char *of)
{
    const size_t n_pes = (size_t)shmem_n_pes(), longest = LONG_BYTES / sizeof(uint64_t);
    const size_t most = n_pes * BLOCK_WORDS > longest ? n_pes * BLOCK_WORDS : longest;
    struct arrays arrays = {team, shmem_calloc(most, 8), shmem_calloc(most, 8), 0};
    require(arrays.source && arrays.dest, "the heap is too small");
    for (int i = 0; i < N_COLLECTIVES; i++)
        for (int size = 0; size < 2 && collectives[i].words[size]; size++) {
            arrays.words = collectives[i].words[size];
            count(&collectives[i], of, &arrays);
        }
    shmem_free(arrays.source);
    shmem_free(arrays.dest);
}

static int messages(int argc, char **argv)
{
    played_job(argc > 0 ? atoi(argv[0]) : 1024, argc > 1 ? atoi(argv[1]) : 1);
    shmem_init();
    shmem_team_t some = SHMEM_TEAM_INVALID;
    count_messages(SHMEM_TEAM_WORLD, "all PEs");
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, STRIDE, shmem_n_pes() / 4, NULL, 0, &some);
    require(some != SHMEM_TEAM_INVALID, "no team");
    count_messages(some, "a quarter");
    shmem_finalize();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "messages"))
        return messages(argc - 2, argv + 2);
    const int n_pes = argc > 1 ? atoi(argv[1]) : 1024, per_node = argc > 2 ? atoi(argv[2]) : 1;
    const int n_peers = argc > 3 ? atoi(argv[3]) : 16, n_objects = argc > 4 ? atoi(argv[4]) : 100;
    played_job(n_pes, per_node);
    const struct device_ops *ops = device_find("opencl");
    struct device *dev = ops->open(0, NULL);
    begin_step();
    const long before = written();
    shmem_init();
    if (shmem_my_pe() == 0)
        printf("%-8s %9s   %9ld KiB\n", "before", "", before);
    end_step("start");
    uint64_t *word = shmem_malloc(sizeof *word);
    begin_step();
    put_to_peers(word, n_peers, per_node, 77);
    end_step("put");
    require(*word == 77 + (uint64_t)n_peers - 1, "the heap does not hold what was put last");
    if (dev)
        use_objects(dev, n_objects, n_peers, per_node);
    if (shmem_my_pe() == 0)
        printf("endpoints %d\n", played_endpoints());
    shmem_free(word);
    shmem_finalize();
    return 0;
}
