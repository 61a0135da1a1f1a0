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

void report_search(const struct variant *variant, const struct result *result)
{
    const struct search_times *times = &result->times;

    if (shmem_my_pe() != 0)
        return;
    if (!variant->opt->csv)
        printf("%s from %" PRIvertex ": %.6f s, communication %.6f s, %d levels, %" PRIu64 " vertices, %" PRIu64
               " edges, %.4g TEPS, %" PRIu64 " bytes sent, %s\n",
               variant->name, result->root, times->seconds, times->comm_seconds, times->levels, times->reached,
               result->edges, teps(result), times->bytes_sent, verdict_word(&result->verdict));
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

    printf("%s on %d PEs: %d searches of %s, %d valid, communication %.1f %%\n", variant->name, shmem_n_pes(),
           variant->n_results, variant->graph->name, count_valid(variant), 100 * comm.mean / seconds.mean);
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
    printf("%s,%s,\"%s\",%d,%" PRIu64 ",%" PRIu64 ",%d,%.9f,%.9f,%.6g,%s\n", variant->name, variant->ops->name,
           variant->graph->name, shmem_n_pes(), variant->graph->part.n_vertices, variant->graph->n_input,
           variant->n_results, summarise(variant, seconds_of).mean, summarise(variant, comm_seconds_of).mean,
           summarise(variant, teps).harmonic_mean, verified_word(variant));
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

void report_ratio(const struct options *opt, const char *name, double seconds, double naive_seconds)
{
    if (shmem_my_pe() == 0 && !opt->csv)
        printf("%s takes %.1f %% of the time of naive\n", name, 100 * seconds / naive_seconds);
}
