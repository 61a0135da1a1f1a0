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

enum { LONG_BYTES = 1 << 20, BLOCK_WORDS = 16 };

struct arrays {
    uint64_t *source, *dest;
    size_t words; /* that each PE contributes */
};

static void run_barrier(const struct arrays *arrays)
{
    (void)arrays;
    shmem_barrier_all();
}

static void run_broadcast(const struct arrays *arrays)
{
    shmem_uint64_broadcast(SHMEM_TEAM_WORLD, arrays->dest, arrays->source, arrays->words, 0);
}

static void run_reduce(const struct arrays *arrays)
{
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, arrays->dest, arrays->source, arrays->words);
}

static void run_fcollect(const struct arrays *arrays)
{
    shmem_uint64_fcollect(SHMEM_TEAM_WORLD, arrays->dest, arrays->source, arrays->words);
}

static void count(const char *name, void (*run)(const struct arrays *), struct arrays arrays)
{
    run(&arrays); /* keys are fetched, and nothing waits for a broadcast before */
    shmem_barrier_all();
    long operations = played_operations();
    run(&arrays);
    if (shmem_my_pe() == 0)
        printf("%-10s %8zu bytes %6ld operations, %3d PEs so far\n", name, arrays.words * sizeof(uint64_t),
               played_operations() - operations, played_endpoints());
    shmem_barrier_all();
}

static void count_messages(void)
{
    static const size_t sizes[] = {1, LONG_BYTES / sizeof(uint64_t)}, blocks[] = {1, BLOCK_WORDS};
    const size_t n_pes = (size_t)shmem_n_pes();
    const size_t most = n_pes * BLOCK_WORDS > sizes[1] ? n_pes * BLOCK_WORDS : sizes[1];
    struct arrays arrays = {shmem_calloc(sizes[1], 8), shmem_calloc(most, 8), 0};
    require(arrays.source && arrays.dest, "the heap is too small");
    count("barrier", run_barrier, arrays);
    for (int i = 0; i < 2; i++) {
        arrays.words = sizes[i];
        count("broadcast", run_broadcast, arrays);
        count("reduce", run_reduce, arrays);
        arrays.words = blocks[i];
        count("fcollect", run_fcollect, arrays);
    }
    shmem_free(arrays.source);
    shmem_free(arrays.dest);
}

static int messages(int argc, char **argv)
{
    played_job(argc > 0 ? atoi(argv[0]) : 1024, argc > 1 ? atoi(argv[1]) : 1);
    shmem_init();
    count_messages();
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
