/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random operations of every kind for a given time, each result compared with what it must be, while memory,
 * descriptors, threads and mappings of every PE must not grow. scripts/soak runs it in several configurations.
 *
 *     soak [--seconds N] [--seed N] [--threads N]
 *     soak --cycles N      instead: so many times shmem_init, a little work, and shmem_finalize
 *
 * The same seed gives the same operations, with the same numbers of PEs and threads.
 */
#include "soak.h"
#include "support/util.h"

#include <getopt.h>

struct soak soak = {.seed = 1, .n_threads = 2};

struct arguments {
    double seconds;
    int cycles;
};

static struct arguments read_arguments(int argc, char **argv)
{
    static const struct option options[] = {{"seconds", required_argument, NULL, 's'},
                                            {"seed", required_argument, NULL, 'r'},
                                            {"threads", required_argument, NULL, 't'},
                                            {"cycles", required_argument, NULL, 'c'},
                                            {NULL, 0, NULL, 0}};
    struct arguments arguments = {.seconds = 10};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        double number = optarg ? atof(optarg) : 0;
        switch (option) {
        case 's':
            arguments.seconds = number;
            break;
        case 'r':
            soak.seed = (uint64_t)number;
            break;
        case 't':
            soak.n_threads = (int)number;
            break;
        case 'c':
            arguments.cycles = (int)number;
            break;
        default:
            exit(2);
        }
    }
    return arguments;
}

/* ---- Phases ------------------------------------------------------------------------------------------------------ */

static void run_phase(void)
{
    struct random random = random_start(soak.seed, soak.phase, 99);
    if (random_below(&random, 4) == 0)
        areas_renew(&random);
    shmem_barrier_all();
    lanes_start();
    together_run();
    lanes_finish();
}

/* PE 0's clock decides for all. */
static bool goes_on(double start, double seconds)
{
    static int own, everybody; /* symmetric */
    own = now() - start < seconds;
    shmem_sync_all();
    CHECK(shmem_int_broadcast(SHMEM_TEAM_WORLD, &everybody, &own, 1, 0) == 0);
    return everybody;
}

static int run_phases(double seconds)
{
    enum { BRIEF_SECONDS = 300 };
    int provided;
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
    soak.me = shmem_my_pe();
    soak.n = shmem_n_pes();
    CHECK_THAT(soak.n <= PES_MAX && soak.n_threads >= 1 && soak.n_threads <= THREADS_MAX,
               "1 to %d PEs, 1 to %d threads", PES_MAX, THREADS_MAX);
    areas_prepare();
    lanes_prepare();
    together_prepare();
    watch_start(seconds, seconds < BRIEF_SECONDS);
    for (double start = now(); goes_on(start, seconds); soak.phase++) {
        run_phase();
        watch_look(now() - start);
    }
    bool is_flat = watch_verdict("s", 0);
    if (soak.me == 0)
        printf("seed %llu, %d PEs: %d phases, each PE did %lu operations in %d threads and %lu of all PEs together\n",
               (unsigned long long)soak.seed, soak.n, soak.phase, lanes_operations(), soak.n_threads,
               together_operations());
    CHECK_THAT(is_flat, "this PE grew more than it may");
    return check_end();
}

/* ---- Cycles ------------------------------------------------------------------------------------------------------ */

static void check_use(long round)
{
    long *word = shmem_calloc(1, sizeof *word);
    shmem_ctx_t ctx;
    CHECK(word && shmem_ctx_create(0, &ctx) == 0);
    shmem_ctx_long_p(ctx, word, round, check_target(1));
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
    CHECK_THAT(*word == round, "cycle %ld: the word is %ld", round, *word);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, word, word, 1);
    CHECK(*word == round * shmem_n_pes());
    shmem_free(word);
}

/* KiB that each cycle leaves behind with a network: doc/reliability.md. */
static long expected_of_cycle(void)
{
    return shmem_team_n_pes(SHMEM_TEAM_SHARED) < shmem_n_pes() ? 6 : 0;
}

static int run_cycles(int cycles)
{
    watch_start(cycles, false);
    for (int round = 1; round <= cycles; round++) {
        int provided;
        CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
        soak.me = shmem_my_pe();
        check_use(round);
        if (round == cycles)
            break;
        shmem_finalize();
        watch_look(round);
    }
    bool is_flat = watch_verdict("cycles", expected_of_cycle() * cycles * 2 / 3);
    CHECK_THAT(is_flat, "this PE grew more than it may");
    return check_end();
}

int main(int argc, char **argv)
{
    struct arguments arguments = read_arguments(argc, argv);
    return arguments.cycles ? run_cycles(arguments.cycles) : run_phases(arguments.seconds);
}
