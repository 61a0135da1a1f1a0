/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output: one line per tile in the order of the PEs, one line per run, or comma-separated values.
 */
#include <shmemx.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stencil2d.h"
#include "support/noise.h"

#define LINE_BYTES 512

/* 3 multiplications and 8 additions per cell, as SHOC counts. */
#define FLOP_PER_CELL 11.0

static const char *route(const struct local_tile *t, int direction)
{
    const char *name, *mapped = t->mapped_messages ? t->mapped_messages : t->mapped_buf[0];

    if (!has_neighbor(&t->shape, direction))
        return "-";
    if (!mapped)
        return "host";
    name = shmemx_route(mapped, t->shape.neighbor[direction].pe);
    return name ? name : "none";
}

static void format_tile(const struct run *run, const struct local_tile *t, char *line)
{
    const struct tile *shape = &t->shape;
    char host[65] = "";

    gethostname(host, sizeof(host) - 1);
    snprintf(line, LINE_BYTES,
             "PE %d on %s: device %s (%s %d), grid position %d,%d, tile %dx%d, "
             "routes north %s south %s west %s east %s",
             shape->pe, host, run->ops->gpu.label(t->dev), run->ops->name, t->device_index, shape->grid_row,
             shape->grid_col, shape->rows, shape->cols, route(t, NORTH), route(t, SOUTH), route(t, WEST),
             route(t, EAST));
}

void report_tiles(const struct run *run)
{
    size_t bytes = (size_t)run->n_tiles * LINE_BYTES;
    char *lines = symmetric_alloc(bytes);
    char text[LINE_BYTES];

    for (int t = 0; t < run->n_tiles; t++)
        format_tile(run, &run->tiles[t], lines + (size_t)t * LINE_BYTES);
    shmem_barrier_all();
    for (int i = 0; shmem_my_pe() == 0 && i < shmem_n_pes() * run->n_tiles; i++) {
        shmem_getmem(text, lines + (size_t)(i % run->n_tiles) * LINE_BYTES, LINE_BYTES, i / run->n_tiles);
        puts(text);
    }
    fflush(stdout);
    shmem_barrier_all();
    shmem_free(lines);
}

static double cell_updates(const struct run *run)
{
    return (double)run->grid.rows * (double)run->grid.cols * (double)run->opt->iterations;
}

static double gflops(const struct run *run, double seconds)
{
    return FLOP_PER_CELL * cell_updates(run) / seconds / 1e9;
}

/* A cell is read and written once: what caches and halos do is left out. */
static double gbytes(const struct run *run, double seconds)
{
    return 2.0 * (double)run->real->size * cell_updates(run) / seconds / 1e9;
}

static const char *verdict_word(enum verdict verdict)
{
    static const char *const words[] = {
        [NOT_VERIFIED] = "no",
        [EXACT] = "exact",
        [WITHIN_TOLERANCE] = "within-tolerance",
        [FAILED] = "failed",
    };

    return words[verdict];
}

/* stdout for people, stderr beside comma-separated values. */
static void explain_failure(const struct comparison *sum, FILE *out)
{
    if (sum->wrong > 0)
        fprintf(out, "WRONG: %ld cells differ from the reference, first (%ld, %ld): %.17g instead of %.17g\n",
                sum->wrong, sum->row, sum->col, sum->found, sum->expected);
    if (sum->not_finite > 0)
        fprintf(out, "WRONG: %ld cells of the reference are not finite: use smaller weights or fewer iterations\n",
                sum->not_finite);
}

static void print_verdict(const struct result *result)
{
    if (result->verdict == EXACT)
        puts("  verified: equal to the serial reference bit for bit");
    else if (result->verdict == WITHIN_TOLERANCE)
        printf("  verified: largest relative error %.3g\n", result->comparison.max_error);
    else if (result->verdict == NOT_VERIFIED)
        puts("  not verified");
}

static const char *cause(enum told told)
{
    return told == NOT_MEASURED ? ": the kernel alone took longer than the whole run" : "";
}

static const char *sync_name(const struct run *run)
{
    return run->sync ? run->sync : run->exchange->sync;
}

static void print_phases(const struct run *run, const struct result *result)
{
    enum told told = noise_part(noise_on(run->ops), result->seconds, result->kernel_seconds);

    if (told == TOLD)
        printf("  kernel time %.6f s, communication time %.6f s\n", result->kernel_seconds, result->comm_seconds);
    else
        printf("  kernel time and communication time: %s%s\n", noise_word(told), cause(told));
}

static void print_share(const struct run *run, const struct result *result)
{
    enum told told = noise_part(noise_on(run->ops), result->seconds, result->kernel_seconds);

    if (told == TOLD)
        printf("  %.1f %% of the speed of the kernel alone, which takes %.6f s\n",
               100 * result->kernel_seconds / result->seconds, result->kernel_seconds);
    else
        printf("  beside the kernel alone: %s%s\n", noise_word(told), cause(told));
}

static void print_result(const struct run *run, const struct result *result)
{
    printf("%s (%s) %s, %ldx%ld on %dx%d PEs", run->exchange->variant, sync_name(run), run->real->name, run->grid.rows,
           run->grid.cols, run->grid.grid_rows, run->grid.grid_cols);
    if (run->n_tiles > 1)
        printf(" with %d GPUs each", run->n_tiles);
    if (run->grid.halo_width > 1)
        printf(", halo width %d", run->grid.halo_width);
    printf(", %ld iterations: %.6f s, %.3f GFLOP/s, %.3f GB/s\n", run->opt->iterations, result->seconds,
           gflops(run, result->seconds), gbytes(run, result->seconds));
    print_phases(run, result);
    print_share(run, result);
    print_verdict(result);
}

static void print_csv(const struct run *run, const struct result *result)
{
    const struct noise *noise = noise_on(run->ops);
    const enum told told = noise_part(noise, result->seconds, result->kernel_seconds);
    char kernel[NOISE_TEXT], comm[NOISE_TEXT];

    noise_seconds(told, result->kernel_seconds, kernel);
    noise_seconds(told, result->comm_seconds, comm);
    printf("%s,%s,%s,%d,%dx%d,%ld,%ld,%ld,%.6f,%s,%s,%s,%d,%d,%s,%.3f,%.3f,%s\n", run->exchange->variant,
           run->ops->name, run->real->name, job_size(), run->grid.grid_rows, run->grid.grid_cols, run->grid.rows,
           run->grid.cols, run->opt->iterations, result->seconds, kernel, comm, verdict_word(result->verdict),
           run->n_tiles, run->grid.halo_width, kernel, gflops(run, result->seconds), gbytes(run, result->seconds),
           sync_name(run));
}

void report_csv_header(void)
{
    if (job_rank() == 0)
        puts("variant,device,precision,pes,grid,rows,cols,iterations,seconds,kernel_seconds,comm_seconds,verified,"
             "gpus_per_pe,halo_width,kernel_alone_seconds,gflops,gbytes,sync");
}

void report_result(const struct run *run, const struct result *result)
{
    if (job_rank() != 0)
        return;
    if (run->opt->csv)
        print_csv(run, result);
    else
        print_result(run, result);
    fflush(stdout);
    if (result->verdict == FAILED)
        explain_failure(&result->comparison, run->opt->csv ? stderr : stdout);
    fflush(stdout);
}
