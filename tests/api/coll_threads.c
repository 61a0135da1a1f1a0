/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several threads of a PE, each with collectives on a team of its own, at the same time.
 */
#include "check.h"

#include <pthread.h>

enum { N_THREADS = 3, ROUNDS = 150, WORDS = 700 };

struct worker {
    int number;
    shmem_team_t team;
    long *dest, *source;
    pthread_t thread;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    const long n = shmem_team_n_pes(worker->team), me = shmem_team_my_pe(worker->team);
    for (long round = 0; round < ROUNDS; round++) {
        size_t nelems = round % 3 ? 1 : WORDS;
        int root = (int)(round % n);
        for (size_t i = 0; i < nelems; i++)
            worker->source[i] = me + round * worker->number + (long)i;
        shmem_long_sum_reduce(worker->team, worker->dest, worker->source, nelems);
        for (size_t i = 0; i < nelems; i++)
            CHECK_THAT(worker->dest[i] == n * (n - 1) / 2 + n * (round * worker->number + (long)i),
                       "thread %d, sum %ld: element %zu is %ld", worker->number, round, i, worker->dest[i]);
        shmem_team_sync(worker->team);
        shmem_long_broadcast(worker->team, worker->dest, worker->source, nelems, root);
        for (size_t i = 0; i < nelems; i++)
            CHECK_THAT(worker->dest[i] == root + round * worker->number + (long)i,
                       "thread %d, broadcast %ld: element %zu is %ld", worker->number, round, i, worker->dest[i]);
        shmem_team_sync(worker->team);
    }
    return NULL;
}

int main(void)
{
    struct worker worker[N_THREADS];
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    CHECK(provided == SHMEM_THREAD_MULTIPLE);
    for (int i = 0; i < N_THREADS; i++) {
        worker[i] = (struct worker){.number = i + 1,
                                    .dest = check_shmem_malloc(WORDS * sizeof(long)),
                                    .source = check_shmem_malloc(WORDS * sizeof(long))};
        CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &worker[i].team));
    }
    for (int i = 0; i < N_THREADS; i++)
        CHECK(!pthread_create(&worker[i].thread, NULL, work, &worker[i]));
    for (int i = 0; i < N_THREADS; i++)
        CHECK(!pthread_join(worker[i].thread, NULL));
    return check_end();
}
