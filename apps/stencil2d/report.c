/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output: one line per PE in the order of the PEs, one line per run, or comma-separated values.
 */
#include <shmemx.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stencil2d.h"

#define LINE_BYTES 512

/* 3 multiplications and 8 additions per cell, as SHOC counts. */
#define FLOP_PER_CELL 11.0

static const char *route(const struct run *run, int side)
{
    const char *name;

    if (run->tile.neighbor[side] < 0)
        return "-";
    if (!run->map[0])
        return "host";
    name = shmemx_route(run->map[0], run->tile.neighbor[side]);
    return name ? name : "none";
}

static void format_pe(const struct run *run, char *line)
{
    const struct tile *tile = &run->tile;
    char host[65] = "";

    gethostname(host, sizeof(host) - 1);
    snprintf(line, LINE_BYTES,
             "PE %d on %s: device %s (%s %d), grid position %d,%d, tile %dx%d, "
             "routes north %s south %s west %s east %s",
             shmem_my_pe(), host, run->ops->label(run->dev), run->ops->name, run->device_index, tile->grid_row,
             tile->grid_col, tile->rows, tile->cols, route(run, NORTH), route(run, SOUTH), route(run, WEST),
             route(run, EAST));
}

void report_pes(const struct run *run)
{
    char *line = symmetric_alloc(LINE_BYTES);
    char text[LINE_BYTES];

    format_pe(run, line);
    shmem_barrier_all();
    for (int pe = 0; shmem_my_pe() == 0 && pe < shmem_n_pes(); pe++) {
        shmem_getmem(text, line, LINE_BYTES, pe);
        puts(text);
    }
    fflush(stdout);
    shmem_barrier_all();
    shmem_free(line);
}

static double gflops(const struct run *run, double seconds)
{
    return FLOP_PER_CELL * (double)run->grid.rows * (double)run->grid.cols * (double)run->opt->iterations / seconds /
           1e9;
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

static void print_result(const struct run *run, const struct result *result)
{
    printf("%s %s, %ldx%ld on %dx%d PEs, %ld iterations: %.6f s, %.3f GFLOP/s\n"
           "  kernel time %.6f s, communication time %.6f s\n",
           run->exchange->name, run->real->name, run->grid.rows, run->grid.cols, run->grid.grid_rows,
           run->grid.grid_cols, run->opt->iterations, result->seconds, gflops(run, result->seconds),
           result->kernel_seconds, result->comm_seconds);
    print_verdict(result);
}

static void print_csv(const struct run *run, const struct result *result)
{
    printf("%s,%s,%s,%d,%dx%d,%ld,%ld,%ld,%.6f,%.6f,%.6f,%s\n", run->exchange->name, run->ops->name, run->real->name,
           shmem_n_pes(), run->grid.grid_rows, run->grid.grid_cols, run->grid.rows, run->grid.cols,
           run->opt->iterations, result->seconds, result->kernel_seconds, result->comm_seconds,
           verdict_word(result->verdict));
}

void report_csv_header(void)
{
    if (shmem_my_pe() == 0)
        puts("variant,device,precision,pes,grid,rows,cols,iterations,seconds,kernel_seconds,comm_seconds,verified");
}

void report_result(const struct run *run, const struct result *result)
{
    if (shmem_my_pe() != 0)
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
