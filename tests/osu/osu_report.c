/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output in the format of the OSU micro-benchmarks. One table drives both the titles and the figures.
 */
#include "osu_report.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { SIZE_WIDTH = 10, OPERATION_WIDTH = 22, FIELD_WIDTH = 20 };

typedef void (*print_func_t)(double value);

/* Two digits as in OSU's tables; four below one, where two would hide differences of a quarter. */
static void print_real(double value)
{
    printf("%*.*f", FIELD_WIDTH, value < 1 && value > -1 ? 4 : 2, value);
}

static void print_count(double value)
{
    printf("%*.0f", FIELD_WIDTH, value);
}

static void print_verdict(double value)
{
    printf("%*s", FIELD_WIDTH, value > 0 ? "Pass" : "Fail");
}

#define FIELD(member) offsetof(struct osu_row, member)

static const struct {
    unsigned shown; /* OSU_SHOW_... */
    const char *title;
    size_t offset;
    print_func_t print;
} columns_table[] = {
    {OSU_SHOW_MILLIONS, "Million ops/s", FIELD(millions), print_real},
    {OSU_SHOW_LATENCY, "Latency (us)", FIELD(latency), print_real},
    {OSU_SHOW_AVERAGE, "Avg Latency(us)", FIELD(latency), print_real},
    {OSU_SHOW_EXTREMES, "Min Latency(us)", FIELD(least), print_real},
    {OSU_SHOW_EXTREMES, "Max Latency(us)", FIELD(most), print_real},
    {OSU_SHOW_RATE, "Messages/s", FIELD(rate), print_real},
    {OSU_SHOW_BANDWIDTH, "Bandwidth (MB/s)", FIELD(bandwidth), print_real},
    {OSU_SHOW_OVERLAP, "Compute(us)", FIELD(compute), print_real},
    {OSU_SHOW_OVERLAP, "Coll. Init(us)", FIELD(begin), print_real},
    {OSU_SHOW_OVERLAP, "MPI_Wait(us)", FIELD(wait), print_real},
    {OSU_SHOW_OVERLAP, "Pure Comm.(us)", FIELD(communication), print_real},
    {OSU_SHOW_OVERLAP, "Overlap(%)", FIELD(overlap), print_real},
    {OSU_SHOW_OVERALL, "Overall(us)", FIELD(latency), print_real},
    {OSU_SHOW_TAILS, "Min Latency(us)", FIELD(shortest), print_real},
    {OSU_SHOW_TAILS, "P50 Tail Lat(us)", FIELD(p50), print_real},
    {OSU_SHOW_TAILS, "P99 Tail Lat(us)", FIELD(p99), print_real},
    {OSU_SHOW_TAILS, "Max Latency(us)", FIELD(longest), print_real},
    {OSU_SHOW_ITERATIONS, "Iterations", FIELD(iterations), print_count},
    {OSU_SHOW_RAW, "Raw (us)", FIELD(raw), print_real},
    {OSU_SHOW_RAW, "Latency/Raw", FIELD(raw_ratio), print_real},
    {OSU_SHOW_LOCKED, "Raw locked (us)", FIELD(locked), print_real},
    {OSU_SHOW_RAW_OVERLAP, "Raw (us)", FIELD(raw), print_real},
    {OSU_SHOW_RAW_OVERLAP, "Raw overlap(%)", FIELD(raw_overlap), print_real},
    {OSU_SHOW_RAW_RATE, "Raw (copies/s)", FIELD(raw_rate), print_real},
    {OSU_SHOW_RAW_RATE, "Raw/Rate", FIELD(rate_ratio), print_real},
    {OSU_SHOW_NAIVE, "Naive (us)", FIELD(naive), print_real},
    {OSU_SHOW_NAIVE, "% less time", FIELD(less), print_real},
    {OSU_SHOW_VALID, "Validation", FIELD(valid), print_verdict},
};

enum { N_COLUMNS = sizeof columns_table / sizeof columns_table[0] };

unsigned osu_report_columns(const struct osu_session *session)
{
    const struct osu_options *options = &session->options;
    unsigned columns = session->program->columns;
    columns |= options->full ? session->program->full_columns : 0;
    columns |= options->raw ? session->program->raw_columns : 0;
    columns |= (columns & OSU_SHOW_RAW) && options->side[0] == 'P' ? OSU_SHOW_LOCKED : 0;
    columns |= options->naive ? session->program->naive_columns : 0;
    columns |= options->validate ? OSU_SHOW_VALID : 0;
    return columns;
}

static const char *side_name(char side)
{
    return side == 'D' ? "DEVICE (D)" : side == 'P' ? "HOST, PAGEABLE (P)" : "HOST (H)";
}

static void print_titles(const char *first, int first_width, unsigned columns)
{
    printf("%-*s", first_width, first);
    for (int i = 0; i < N_COLUMNS; i++) {
        if (columns & columns_table[i].shown)
            printf("%*s", FIELD_WIDTH, columns_table[i].title);
    }
    putchar('\n');
    fflush(stdout);
}

static void print_memory(const struct osu_session *session, const char *first, const char *second, const char *route)
{
    const struct osu_options *options = &session->options;
    printf("# %s on %s and %s on %s\n", first, side_name(options->side[0]), second, side_name(options->side[1]));
    printf("# Device: %s, host buffers: %s, route: %s\n", session->device->ops->name,
           options->use_global ? "global" : "heap", route ? route : "unknown");
}

void osu_report_header(const struct osu_session *session, const char *route, unsigned columns)
{
    printf("# %s %s\n", session->program->title, OSU_REPORT_VERSION);
    print_memory(session, "PE 0 Memory", "PE 1 Memory", route);
    print_titles(session->program->counted ? session->program->counted : "# Size", SIZE_WIDTH, columns);
}

void osu_report_atomics(const struct osu_session *session, const char *form, const char *route, unsigned columns)
{
    printf("# %s %s\n", session->program->title, OSU_REPORT_VERSION);
    printf("# Pairs: %d, routines: %s\n", session->n_pes / 2, form);
    print_memory(session, "Results", "Words", route);
    print_titles("# Operation", OPERATION_WIDTH, columns);
}

void osu_report_collective(const struct osu_session *session, const char *form, const char *route, unsigned columns)
{
    bool has_sizes = osu_has_sizes(session->program);
    printf("# %s %s\n", session->program->title, OSU_REPORT_VERSION);
    printf("# PEs: %d, routines: %s", session->n_pes, form);
    if (session->program->typed)
        printf(", type: %s", session->options.type);
    putchar('\n');
    if (has_sizes)
        print_memory(session, "Source Memory", "Destination Memory", route);
    print_titles(has_sizes ? "# Size" : "#", SIZE_WIDTH, columns);
}

static void print_subject(const struct osu_row *row)
{
    if (row->operation)
        printf("%-*s", row->operation[0] ? OPERATION_WIDTH : SIZE_WIDTH, row->operation);
    else
        printf("%-*zu", SIZE_WIDTH, row->size);
}

void osu_report_row(const struct osu_row *row, unsigned columns)
{
    print_subject(row);
    for (int i = 0; i < N_COLUMNS; i++) {
        const double *value = (const double *)((const char *)row + columns_table[i].offset);
        if (!(columns & columns_table[i].shown))
            continue;
        if (isnan(*value))
            printf("%*s", FIELD_WIDTH, "-");
        else
            columns_table[i].print(*value);
    }
    putchar('\n');
    fflush(stdout);
}
