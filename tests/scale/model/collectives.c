/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Predicts the times of collectives: the same loops as in tests/scale/measure.c, over the library's real code.
 */
#include "model.h"

#include "shmem/coll/collectives.h"
#include "shmmap/symmetric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const struct collective *collective;
    size_t bytes;
    int calls;
    double begin, end;
} loop;

struct collective {
    const char *name;
    int (*run)(struct shmemi_team *team, const struct shmemi_symmetric *source, const struct shmemi_symmetric *dest,
               size_t nbytes);
};

/* Combining takes time, and nothing else. */
static void combine(void *into, const void *a, const void *b, size_t nelems)
{
    (void)into, (void)a, (void)b;
    sim_cpu((double)nelems * sizeof(uint64_t) * model.copy_per_byte);
}
static const struct shmemi_op sum = {.combine = combine, .size = sizeof(uint64_t)};

static struct shmemi_symmetric symmetric(size_t at)
{
    char *host = library_memory() + at;
    return (struct shmemi_symmetric){&shmemi_heap_region, (size_t)(host - shmemi_heap_region.base), host};
}

static int barrier(struct shmemi_team *team, const struct shmemi_symmetric *source, const struct shmemi_symmetric *dest,
                   size_t nbytes)
{
    (void)source, (void)dest, (void)nbytes;
    network_quiet();
    return shmemi_collective_sync(team);
}

static int broadcast(struct shmemi_team *team, const struct shmemi_symmetric *source,
                     const struct shmemi_symmetric *dest, size_t nbytes)
{
    struct shmemi_copy_args args = {.dest = *dest, .source = *source, .nbytes = nbytes};
    return shmemi_broadcast(team, &args, 0);
}

static int reduce(struct shmemi_team *team, const struct shmemi_symmetric *source, const struct shmemi_symmetric *dest,
                  size_t nbytes)
{
    struct shmemi_reduce_args args = {&sum, *dest, *source, nbytes};
    return shmemi_reduce(team, &args);
}

static int fcollect(struct shmemi_team *team, const struct shmemi_symmetric *source,
                    const struct shmemi_symmetric *dest, size_t nbytes)
{
    struct shmemi_copy_args args = {.dest = *dest, .source = *source, .nbytes = nbytes};
    return shmemi_fcollect(team, &args);
}

static int alltoall(struct shmemi_team *team, const struct shmemi_symmetric *source,
                    const struct shmemi_symmetric *dest, size_t nbytes)
{
    struct shmemi_copy_args args = {.dest = *dest, .source = *source, .nbytes = nbytes};
    return shmemi_alltoall(team, &args);
}

static const struct collective collectives[] = {
    {"barrier", barrier}, {"broadcast", broadcast}, {"reduce", reduce}, {"fcollect", fcollect}, {"alltoall", alltoall},
};

static void run_loop(struct pe *pe)
{
    struct shmemi_team *team = library_team(pe);
    const struct shmemi_symmetric source = symmetric(0), dest = symmetric((size_t)32 << 20);
    barrier(team, &source, &dest, 0);
    if (pe->number == 0)
        loop.begin = sim_now();
    for (int i = 0; i < loop.calls; i++) {
        sim_cpu(model.call);
        loop.collective->run(team, &source, &dest, loop.bytes);
    }
    barrier(team, &source, &dest, 0);
    if (pe->number == 0)
        loop.end = sim_now();
}

static const struct collective *find(const char *name)
{
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++)
        if (!strcmp(collectives[i].name, name))
            return &collectives[i];
    fprintf(stderr, "model: there is no collective %s\n", name);
    exit(2);
}

/* collectives PES PER_NODE NAME:BYTES:CALLS...: microseconds for one call. */
int model_collectives(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "model collectives PES PER_NODE NAME:BYTES:CALLS...\n");
        return 2;
    }
    const int n_pes = atoi(argv[0]), per_node = atoi(argv[1]);
    for (int i = 2; i < argc; i++) {
        char name[32] = "";
        loop.bytes = 0;
        loop.calls = 10;
        sscanf(argv[i], "%31[^:]:%zu:%d", name, &loop.bytes, &loop.calls);
        loop.collective = find(name);
        sim_run(n_pes, per_node, run_loop);
        printf("prediction: %-10s %8zu bytes %6d PEs %6d calls %12.2f us %8.1f messages per node\n", name, loop.bytes,
               n_pes, loop.calls, 1e6 * (loop.end - loop.begin) / loop.calls,
               (double)sim_messages / loop.calls * per_node / n_pes);
        fflush(stdout);
    }
    return 0;
}
