/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stencil2D over OpenSHMEM: one run per precision and variant that the command line asks for.
 */
#include <math.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

#include "picture.h"
#include "stencil2d.h"
#include "support/noise.h"

/* What lasts through all runs. */
struct session {
    struct options opt;
    const struct device_ops *ops;
    struct local_tile *tiles; /* with their devices; the rest is set by each run */
    struct reference ref;
    double kernel_seconds; /* of the kernel alone, in the present precision; 0: not yet measured */
    bool introduced;       /* the lines of the tiles are printed            */
    bool failed;
};

/* Tile i of this PE uses device I + i, counting on from the first after the last. I is the user's choice, else the
 * library's proposal, which spreads the PEs of a machine over its devices. */
static int first_device(const struct session *s)
{
    int proposed;

    if (s->opt.device_index >= 0)
        return s->opt.device_index;
    proposed = shmemx_my_device(s->ops->memtype);
    return proposed < 0 ? 0 : proposed; /* device_open says what is wrong, if anything */
}

/* The first tile on the same device, which opens and closes it. */
static int first_on_device(const struct session *s, int tile)
{
    int i = 0;

    while (s->tiles[i].device_index != s->tiles[tile].device_index)
        i++;
    return i;
}

static void open_devices(struct session *s)
{
    int first, devices, first_there;

    s->ops = device_select(s->opt.device, &stencil_kernels);
    first = first_device(s);
    devices = s->ops->count();
    s->tiles = host_alloc((size_t)s->opt.gpus_per_pe * sizeof(*s->tiles));
    for (int i = 0; i < s->opt.gpus_per_pe; i++) {
        s->tiles[i].device_index = s->opt.gpus_per_pe > 1 && devices > 0 ? (first + i) % devices : first;
        first_there = first_on_device(s, i);
        s->tiles[i].dev = first_there < i ? s->tiles[first_there].dev
                                          : device_open(s->ops, s->tiles[i].device_index, &stencil_kernels);
    }
}

static void close_devices(struct session *s)
{
    for (int i = s->opt.gpus_per_pe - 1; i >= 0; i--)
        if (first_on_device(s, i) == i)
            s->ops->close(s->tiles[i].dev);
    free(s->tiles);
}

static void introduce(struct session *s, const struct run *run)
{
    if (!s->introduced && s->opt.csv)
        report_csv_header();
    else if (!s->introduced)
        report_tiles(run);
    s->introduced = true;
}

static void set_up(struct session *s, struct run *run)
{
    const char *problem = grid_make(&s->opt, shmem_n_pes(), run->real->size, &run->grid);

    if (problem)
        quit_all("%s", problem);
    for (int i = 0; i < run->n_tiles; i++)
        grid_tile(&run->grid, shmem_my_pe(), i, &run->tiles[i].shape);
    tiles_open(run);
    run->exchange->open(run);
}

static void take_down(struct run *run)
{
    run->exchange->close(run);
    tiles_close(run);
}

static struct run make_run(struct session *s, const struct real *real, const struct exchange *exchange)
{
    return (struct run){
        .opt = &s->opt,
        .real = real,
        .ops = s->ops,
        .exchange = exchange,
        .tiles = s->tiles,
        .n_tiles = s->opt.gpus_per_pe,
    };
}

/* What was asked for by its name cannot be left out. */
static void refuse(struct session *s, struct run *run)
{
    if (!s->opt.all)
        quit_all("--variant %s: %s", run->exchange->variant, run->refusal);
    if (shmem_my_pe() == 0)
        fprintf(s->opt.csv ? stderr : stdout, "%s %s is left out: %s\n", run->exchange->variant, run->real->name,
                run->refusal);
    take_down(run);
}

/* Returns the seconds of all iterations; 0: the variant cannot be run here. */
static double run_once(struct session *s, const struct real *real, const struct exchange *exchange)
{
    struct run run = make_run(s, real, exchange);
    struct result result = {0};

    set_up(s, &run);
    introduce(s, &run);
    if (run.refusal) {
        refuse(s, &run);
        return 0;
    }
    if (s->kernel_seconds == 0)
        s->kernel_seconds = run_kernel(&run);
    result.kernel_seconds = s->kernel_seconds;
    run_iterations(&run, &result);
    if (s->opt.inject_error)
        inject_error(&run);
    if (s->opt.verify)
        verify(&run, &s->ref, &result);
    report_result(&run, &result);
    if (s->opt.picture)
        picture_draw(&run, s->opt.picture);
    take_down(&run);
    s->failed = s->failed || result.verdict == FAILED;
    return result.seconds;
}

static const struct exchange *exchange_of(const struct session *s, enum variant variant)
{
    static const struct exchange *const mapped[] = {
        [BY_SIGNALS] = &exchange_mapped_signal,
        [BY_BARRIERS] = &exchange_mapped_barrier,
        [IN_QUEUE] = &exchange_mapped_queue,
    };
    enum sync sync = s->opt.sync;

    static const struct exchange *const others[VARIANTS] = {
        [OVERLAPPED] = &exchange_overlapped, [KERNEL] = &exchange_kernel, [STRIDED] = &exchange_strided,
        [GRAPH] = &exchange_graph,           [NAIVE] = &exchange_naive,
    };

    if (variant != MAPPED)
        return others[variant];
    if (sync == AS_DEVICE_LIKES)
        sync = s->ops == &device_cuda_ops ? IN_QUEUE : BY_SIGNALS;
    return mapped[sync];
}

/* ---- The fastest variant ----------------------------------------------------------------------------------------- */

/* Seconds of an iteration; 0: it cannot be run here. */
static double try_variant(struct session *s, const struct real *real, enum variant variant)
{
    struct run run = make_run(s, real, exchange_of(s, variant));
    double seconds = 0;

    run.is_trial = true;
    set_up(s, &run);
    introduce(s, &run);
    if (!run.refusal)
        seconds = run_trial(&run);
    take_down(&run);
    return seconds;
}

static void report_choice(const struct session *s, const struct real *real, const double seconds[AUTO],
                          enum variant fastest)
{
    FILE *out = s->opt.csv ? stderr : stdout;

    if (shmem_my_pe() != 0)
        return;
    fprintf(out, "auto %s takes %s; us an iteration:", real->name, exchange_of(s, fastest)->variant);
    for (enum variant v = 0; v < AUTO; v++)
        if (seconds[v] > 0)
            fprintf(out, " %s %.2f", exchange_of(s, v)->variant, 1e6 * seconds[v]);
        else
            fprintf(out, " %s -", exchange_of(s, v)->variant);
    fputc('\n', out);
    fflush(out);
}

/* All PEs have the same times, those of the slowest. */
static double run_fastest(struct session *s, const struct real *real)
{
    double seconds[AUTO];
    enum variant fastest = MAPPED;

    for (enum variant v = 0; v < AUTO; v++) {
        seconds[v] = try_variant(s, real, v);
        if (seconds[v] > 0 && seconds[v] < seconds[fastest])
            fastest = v;
    }
    report_choice(s, real, seconds, fastest);
    return run_once(s, real, exchange_of(s, fastest));
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct session *s, enum variant variant)
{
    return variant == AUTO ? "auto" : exchange_of(s, variant)->variant;
}

/* How the variants compare, once the naive one has been run, too. */
static void compare_times(const struct session *s, const struct real *real, const double seconds[VARIANTS])
{
    char text[NOISE_TEXT];

    if (shmem_my_pe() != 0 || s->opt.csv || !s->opt.variant[NAIVE])
        return;
    for (enum variant v = 0; v < VARIANTS; v++) {
        if (v == NAIVE || seconds[v] == 0)
            continue;
        noise_compare(noise_on(s->ops), seconds[v], "naive", seconds[NAIVE], text);
        printf("%s %s %s\n", name_of(s, v), real->name, text);
    }
}

static void run_variants(struct session *s, const struct real *real)
{
    double seconds[VARIANTS] = {0};

    s->kernel_seconds = 0;
    for (enum variant v = 0; v < VARIANTS; v++)
        if (s->opt.variant[v])
            seconds[v] = v == AUTO ? run_fastest(s, real) : run_once(s, real, exchange_of(s, v));
    compare_times(s, real, seconds);
}

static void run_all(struct session *s)
{
    struct grid grid;
    const char *problem = grid_make(&s->opt, shmem_n_pes(), sizeof(float), &grid);

    if (problem)
        quit_all("%s", problem);
    open_devices(s);
    if (s->opt.single || s->opt.both_precisions)
        run_variants(s, &real_sp);
    if (!s->opt.single || s->opt.both_precisions)
        run_variants(s, &real_dp);
    close_devices(s);
    free(s->ref.matrix);
}

int main(int argc, char **argv)
{
    struct session s = {.introduced = false};

    options_parse(argc, argv, &s.opt);
    program_name = "stencil2d";
    shmem_init();
    if (s.opt.error[0])
        quit_all("%s; --help lists the options", s.opt.error);
    if (!s.opt.help && !s.opt.version)
        run_all(&s);
    else if (shmem_my_pe() == 0)
        s.opt.help ? options_help() : print_version();
    shmem_finalize();
    return s.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
