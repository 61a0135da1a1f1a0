/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stencil2D over OpenSHMEM: one run per precision and variant that the command line asks for.
 */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

#include "stencil2d.h"

/* What lasts through all runs. */
struct session {
    struct options opt;
    const struct device_ops *ops;
    struct device *dev;
    int device_index;
    struct reference ref;
    bool introduced; /* the lines of the PEs are out */
    bool failed;
};

static void open_device(struct session *s)
{
    s->ops = device_select(s->opt.device);
    s->device_index = s->opt.device_index;
    if (s->device_index < 0)
        s->device_index = shmemx_my_device(s->ops->memtype);
    if (s->device_index < 0)
        s->device_index = 0; /* open says what is wrong, if anything */
    s->dev = s->ops->open(s->device_index);
}

static void introduce(struct session *s, const struct run *run)
{
    if (!s->introduced && s->opt.csv)
        report_csv_header();
    else if (!s->introduced)
        report_pes(run);
    s->introduced = true;
}

static double run_once(struct session *s, const struct real *real, const struct exchange *exchange)
{
    struct run run = {
        .opt = &s->opt,
        .real = real,
        .ops = s->ops,
        .dev = s->dev,
        .device_index = s->device_index,
        .exchange = exchange,
    };
    struct result result;
    const char *problem = grid_make(&s->opt, shmem_n_pes(), real->size, &run.grid);

    if (problem)
        quit_all("%s", problem);
    grid_tile(&run.grid, shmem_my_pe(), &run.tile);
    run_open(&run);
    introduce(s, &run);
    run_iterations(&run, &result);
    if (s->opt.inject_error)
        inject_error(&run);
    if (s->opt.verify)
        verify(&run, &s->ref, &result);
    report_result(&run, &result);
    run_close(&run);
    s->failed = s->failed || result.verdict == FAILED;
    return result.seconds;
}

static void run_variants(struct session *s, const struct real *real)
{
    const struct exchange *mapped = s->opt.barrier ? &exchange_shmmap_barrier : &exchange_shmmap;
    double mapped_seconds, naive_seconds;

    if (!s->opt.both_variants) {
        run_once(s, real, s->opt.naive ? &exchange_naive : mapped);
        return;
    }
    mapped_seconds = run_once(s, real, mapped);
    naive_seconds = run_once(s, real, &exchange_naive);
    if (shmem_my_pe() == 0 && !s->opt.csv)
        printf("%s %s takes %.1f %% of the time of naive\n", mapped->name, real->name,
               100 * mapped_seconds / naive_seconds);
}

static void run_all(struct session *s)
{
    struct grid grid;
    const char *problem = grid_make(&s->opt, shmem_n_pes(), sizeof(float), &grid);

    if (problem)
        quit_all("%s", problem);
    open_device(s);
    if (s->opt.single || s->opt.both_precisions)
        run_variants(s, &real_sp);
    if (!s->opt.single || s->opt.both_precisions)
        run_variants(s, &real_dp);
    s->ops->close(s->dev);
    free(s->ref.matrix);
}

int main(int argc, char **argv)
{
    struct session s = { .introduced = false };

    options_parse(argc, argv, &s.opt);
    shmem_init();
    if (s.opt.error[0])
        quit_all("%s; --help lists the options", s.opt.error);
    if (!s.opt.help)
        run_all(&s);
    else if (shmem_my_pe() == 0)
        options_help();
    shmem_finalize();
    return s.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
