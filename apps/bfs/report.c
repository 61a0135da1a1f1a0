/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output: one line per PE in the order of the PEs, one line per search and a summary, or comma-separated values.
 */
#include <inttypes.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "edges.h"
#include "report.h"
#include "statistics.h"
#include "support/noise.h"
#include "threads.h"

#define LINE_BYTES 512

static void format_pe(char *line, const struct place *place, const struct graph *graph)
{
    char host[65] = "";

    gethostname(host, sizeof(host) - 1);
    snprintf(line, LINE_BYTES,
             "PE %d on %s: device %s (%s %d), %d thread%s, %" PRIvertex " vertices from number %" PRIvertex
             " on, %" PRIu64 " neighbours",
             shmem_my_pe(), host, place->ops->gpu.label(place->dev), place->ops->name, place->index, threads_count(),
             threads_count() == 1 ? "" : "s", graph->size, graph->first, graph->n_adjacent);
}

void report_pes(const struct place *place, const struct graph *graph)
{
    char *line = symmetric_alloc(LINE_BYTES);
    char text[LINE_BYTES];

    format_pe(line, place, graph);
    shmem_barrier_all();
    for (int pe = 0; shmem_my_pe() == 0 && pe < shmem_n_pes(); pe++) {
        shmem_getmem(text, line, LINE_BYTES, pe);
        puts(text);
    }
    fflush(stdout);
    shmem_barrier_all();
    shmem_free(line);
}

void report_graph(const struct graph *graph, double edges_seconds, double build_seconds)
{
    if (shmem_my_pe() == 0)
        printf("%s: %" PRIu64 " vertices, %" PRIu64 " edges; edges in %.3f s, graph in %.3f s\n", graph->name,
               graph->part.n_vertices, graph->n_input, edges_seconds, build_seconds);
}

/* ---- Searches ---------------------------------------------------------------------------------------------------- */

static double teps(const struct result *result)
{
    return (double)result->edges / result->times.seconds;
}

static const char *verdict_word(const struct verdict *verdict)
{
    if (!verdict->checked)
        return "not verified";
    return verdict->valid ? "valid" : "WRONG";
}

/* Prints on stdout, or on stderr beside comma-separated values. */
static void explain_failure(const struct variant *variant, const struct result *result)
{
    static const char *const rules[RULES] = {
        [ACCOUNT] = "account",    [NO_CYCLE] = "rule 1", [TREE_LEVELS] = "rule 2",
        [EDGE_LEVELS] = "rule 3", [SPANS] = "rule 4",    [TREE_IN_GRAPH] = "rule 5",
    };

    for (int rule = 0; rule < RULES; rule++)
        if (result->verdict.broken[rule] > 0)
            fprintf(variant->opt->csv ? stderr : stdout,
                    "WRONG: %s from root %" PRIvertex ": %s broken %" PRIu64 " times, first: %s\n", variant->name,
                    result->root, rules[rule], result->verdict.broken[rule], result->verdict.first[rule]);
}

static void print_search(const struct variant *variant, const struct result *result)
{
    const struct search_times *times = &result->times;

    printf("%s from %" PRIvertex ": %.6f s, %d levels, %" PRIu64 " vertices, %" PRIu64 " edges, %.4g TEPS, %" PRIu64
           " bytes sent, %s\n",
           variant->name, result->root, times->seconds, times->levels, times->reached, result->edges, teps(result),
           times->bytes_sent, verdict_word(&result->verdict));
}

void report_search(const struct variant *variant, const struct result *result)
{
    if (shmem_my_pe() != 0)
        return;
    if (!variant->opt->csv)
        print_search(variant, result);
    if (result->verdict.checked && !result->verdict.valid)
        explain_failure(variant, result);
    fflush(stdout);
}

/* ---- Summary ----------------------------------------------------------------------------------------------------- */

static double seconds_of(const struct result *result)
{
    return result->times.seconds;
}

static double comm_seconds_of(const struct result *result)
{
    return result->times.comm_seconds;
}

static struct statistics summarise(const struct variant *variant, double (*of)(const struct result *result))
{
    double *values = host_alloc((size_t)variant->n_results * sizeof(*values));
    struct statistics s;

    for (int i = 0; i < variant->n_results; i++)
        values[i] = of(&variant->results[i]);
    s = statistics_of(values, variant->n_results);
    free(values);
    return s;
}

double variant_seconds(const struct variant *variant)
{
    double seconds = 0;

    for (int i = 0; i < variant->n_results; i++)
        seconds += variant->results[i].times.seconds;
    return seconds;
}

/* All searches together are long enough, or not. */
static enum told told_comm(const struct variant *variant)
{
    double seconds = 0;

    for (int i = 0; i < variant->n_results; i++)
        seconds += variant->results[i].times.comm_seconds;
    return noise_part(noise_on(variant->ops), variant_seconds(variant), seconds);
}

static int count_valid(const struct variant *variant)
{
    int n = 0;

    for (int i = 0; i < variant->n_results; i++)
        n += variant->results[i].verdict.valid;
    return n;
}

static void print_statistics(const char *name, const struct statistics *s)
{
    printf("  %-8s min %.4g, quartiles %.4g %.4g %.4g, max %.4g", name, s->min, s->first_quartile, s->median,
           s->third_quartile, s->max);
}

static void print_summary(const struct variant *variant)
{
    struct statistics seconds = summarise(variant, seconds_of);
    struct statistics comm = summarise(variant, comm_seconds_of);
    struct statistics rates = summarise(variant, teps);
    const enum told told = told_comm(variant);

    printf("%s on %d PEs: %d searches of %s, ", variant->name, shmem_n_pes(), variant->n_results, variant->graph->name);
    if (variant->opt->verify)
        printf("%d valid, ", count_valid(variant));
    else
        printf("not verified, ");
    if (told == TOLD)
        printf("communication %.1f %%\n", 100 * comm.mean / seconds.mean);
    else
        printf("communication: %s\n", noise_word(told));
    print_statistics("seconds", &seconds);
    printf(", mean %.4g, deviation %.4g\n", seconds.mean, seconds.deviation);
    print_statistics("TEPS", &rates);
    printf(", harmonic mean %.4g, standard error %.4g\n", rates.harmonic_mean, rates.harmonic_error);
}

static const char *verified_word(const struct variant *variant)
{
    if (!variant->opt->verify)
        return "no";
    return count_valid(variant) == variant->n_results ? "yes" : "failed";
}

static void print_csv(const struct variant *variant)
{
    char comm[NOISE_TEXT];

    noise_seconds(told_comm(variant), summarise(variant, comm_seconds_of).mean, comm);
    printf("%s,%s,\"%s\",%d,%" PRIu64 ",%" PRIu64 ",%d,%.9f,%s,%.6g,%s\n", variant->name, variant->ops->name,
           variant->graph->name, shmem_n_pes(), variant->graph->part.n_vertices, variant->graph->n_input,
           variant->n_results, summarise(variant, seconds_of).mean, comm, summarise(variant, teps).harmonic_mean,
           verified_word(variant));
}

void report_csv_header(void)
{
    if (shmem_my_pe() == 0)
        puts("variant,device,graph,pes,vertices,edges,roots,seconds,comm_seconds,teps,verified");
}

void report_variant(const struct variant *variant)
{
    if (shmem_my_pe() != 0)
        return;
    if (variant->opt->csv)
        print_csv(variant);
    else
        print_summary(variant);
    fflush(stdout);
}

void report_ratio(const struct device_ops *ops, const char *name, double seconds, double naive_seconds)
{
    char text[NOISE_TEXT];

    noise_compare(noise_on(ops), seconds, "naive", naive_seconds, text);
    if (shmem_my_pe() == 0)
        printf("%s %s\n", name, text);
}
