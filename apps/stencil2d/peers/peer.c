/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the peers of Stencil2D share.
 */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void peer_options(struct peer *peer, int argc, char **argv)
{
    options_parse(argc, argv, &peer->opt);
    if (peer->opt.error[0])
        quit_all("%s", peer->opt.error);
    if (peer->opt.gpus_per_pe > 1)
        quit_all("--gpus-per-pe: a process has one GPU");
    if (peer->opt.help && job_rank() == 0)
        options_help();
}

void peer_open_device(struct peer *peer, int rank_on_machine)
{
    int devices;

    peer->ops = strcmp(peer->opt.device, "opencl") == 0 ? &device_opencl_ops : &device_cuda_ops;
    if (strcmp(peer->opt.device, "auto") == 0 && device_count(&device_cuda_ops, &stencil_kernels) == 0)
        peer->ops = &device_opencl_ops;
    devices = peer->ops->count();
    peer->tile.device_index = peer->opt.device_index;
    if (peer->tile.device_index < 0)
        peer->tile.device_index = devices > 0 ? rank_on_machine % devices : 0;
    peer->tile.dev = device_open(peer->ops, peer->tile.device_index, &stencil_kernels);
}

void peer_close_device(struct peer *peer)
{
    peer->ops->close(peer->tile.dev);
    free(peer->ref.matrix);
}

static void check(struct peer *peer, struct run *run, struct result *result)
{
    if (peer->opt.inject_error)
        inject_error(run);
    result->verdict = verify_own_tiles(run, &peer->ref, &result->comparison);
    if (result->verdict == FAILED && job_rank() != 0)
        fprintf(stderr, "%s: rank %d has %ld cells that differ from the reference\n", program_name, job_rank(),
                result->comparison.wrong + result->comparison.not_finite);
    result->verdict = (enum verdict)job_max(result->verdict);
}

static void run_once(struct peer *peer, const struct exchange *exchange)
{
    struct run run = {
        .opt = &peer->opt,
        .real = peer->opt.single ? &real_sp : &real_dp,
        .ops = peer->ops,
        .exchange = exchange,
        .tiles = &peer->tile,
        .n_tiles = 1,
    };
    struct result result = {0};
    const char *problem = grid_make(&peer->opt, job_size(), run.real->size, &run.grid);

    if (problem)
        quit_all("%s", problem);
    grid_tile(&run.grid, job_rank(), 0, &peer->tile.shape);
    tiles_open(&run);
    exchange->open(&run);
    result.kernel_seconds = run_kernel(&run);
    run_iterations(&run, &result);
    if (peer->opt.verify)
        check(peer, &run, &result);
    report_result(&run, &result);
    exchange->close(&run);
    tiles_close(&run);
    peer->failed = peer->failed || result.verdict == FAILED;
}

void peer_run(struct peer *peer, const struct exchange *const exchanges[VARIANTS])
{
    for (int v = 0; v < VARIANTS; v++)
        if (peer->opt.variant[v] && !exchanges[v])
            quit_all("--variant: this program has no such variant; its file says which it has");
    if (peer->opt.csv)
        report_csv_header();
    for (int v = 0; v < VARIANTS; v++)
        if (peer->opt.variant[v])
            run_once(peer, exchanges[v]);
}
