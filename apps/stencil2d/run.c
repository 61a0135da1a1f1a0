/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Carries out one run and measures the time of its rounds.
 */
#include <math.h>

#include "stencil2d.h"

/* Without waiting for the devices the host gets no further ahead of them than this. */
#define ROUNDS_AHEAD 256

/* A trial lasts for about so long, three times, and has at most so many iterations each time. */
#define TRIAL_SECONDS 0.01
#define TRIAL_TIMES 3
#define TRIAL_MOST 1000

/* Iterations without exchange that are timed; more would tell no more. */
#define MOST_TIMED 500
#define WARMUP 3

static int iterations_of_round(const struct run *run, long left)
{
    return left < run->grid.halo_width ? (int)left : run->grid.halo_width;
}

/* All iterations of a round in the tiles' first queues. */
static void compute_in_order(struct run *run, int n)
{
    for (int i = 0; i < n; i++) {
        for (int t = 0; t < run->n_tiles; t++)
            compute(run, &run->tiles[t], i, n);
        run->cur = !run->cur;
    }
}

/* A round, or as many of those that are left as the variant likes. Returns how many iterations. */
static long next_rounds(struct run *run, long left)
{
    const int n = iterations_of_round(run, left);
    long rounds = run->exchange->replay ? run->exchange->replay(run, left) : 0;

    if (rounds > 0)
        return rounds * run->grid.halo_width;
    run->exchanges++;
    run->exchange->step(run);
    rounds = run->exchange->compute_many ? run->exchange->compute_many(run, left) : 0;
    if (rounds > 0)
        return rounds * run->grid.halo_width;
    if (run->exchange->compute)
        run->exchange->compute(run, n);
    else
        compute_in_order(run, n);
    if (!run->exchange->in_queues || run->exchanges % ROUNDS_AHEAD == 0)
        tiles_finish(run);
    return n;
}

static void iterate(struct run *run, long iterations)
{
    for (long done = 0; done < iterations;) {
        done += next_rounds(run, iterations - done);
        progress_line(&run->progress, run->exchange->variant, done, iterations);
    }
    tiles_finish(run);
}

/* Start from the initial matrix: no PE may send before all have it. */
static void reset(struct run *run)
{
    tiles_set_initial(run);
    job_barrier();
}

/* What is not computing is communication: packing, cells that are computed twice, the host's waits for the device, and
 * waits for slower neighbours included. */
void run_iterations(struct run *run, struct result *result)
{
    double start;

    run->progress = now();
    if (run->opt->warmup > 0) {
        reset(run);
        iterate(run, run->opt->warmup);
        job_barrier();
    }
    reset(run);
    start = now();
    iterate(run, run->opt->iterations);
    result->seconds = job_max(now() - start);
    result->comm_seconds = result->seconds - result->kernel_seconds;
}

static void compute_alone(struct run *run, long times)
{
    for (long i = 0; i < times; i++) {
        for (int t = 0; t < run->n_tiles; t++)
            compute_whole(run, &run->tiles[t]);
        run->cur = !run->cur;
    }
    tiles_finish(run);
}

/* The time of all iterations, extrapolated from fewer. */
double run_kernel(struct run *run)
{
    long times = run->opt->iterations < MOST_TIMED ? run->opt->iterations : MOST_TIMED;
    double start;

    tiles_set_initial(run);
    compute_alone(run, WARMUP);
    job_barrier();
    start = now();
    compute_alone(run, times);
    return job_max(now() - start) * ((double)run->opt->iterations / (double)times);
}

/* The slowest PE's time. */
static double trial_seconds(struct run *run, long iterations)
{
    double start;

    job_barrier();
    start = now();
    iterate(run, iterations);
    return job_max(now() - start);
}

/* Whole rounds; the first ones, which load and connect, do not count. */
double run_trial(struct run *run)
{
    const long round = run->grid.halo_width, few = 4 * round;
    double best = INFINITY, most;
    long n;

    run->progress = now();
    reset(run);
    iterate(run, few);
    most = TRIAL_SECONDS / (trial_seconds(run, few) / (double)few);
    n = most < TRIAL_MOST ? (long)most : TRIAL_MOST;
    n = n < few ? few : n / round * round;
    for (int i = 0; i < TRIAL_TIMES; i++)
        best = fmin(best, trial_seconds(run, n) / (double)n);
    return best;
}
