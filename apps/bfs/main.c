/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Breadth-first search over OpenSHMEM: a graph, then searches from some of its vertices, by each variant that the
 * command line asks for.
 */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

#include "edges.h"
#include "input.h"
#include "report.h"
#include "threads.h"

/* What lasts through all searches. */
struct session {
    struct options opt;
    struct place place; /* where this PE searches */
    struct graph graph;
    vertex_t *roots;
    int n_roots;
    bool failed;
};

static void open_device(struct session *s)
{
    struct place *place = &s->place;

    place->ops = device_select(s->opt.device, &search_kernels);
    place->index = s->opt.device_index >= 0 ? s->opt.device_index : shmemx_my_device(place->ops->memtype);
    if (place->index < 0)
        place->index = 0; /* device_open says what is wrong, if anything */
    place->dev = device_open(place->ops, place->index, &search_kernels);
}

static void search_from(struct session *s, struct search *search, struct result *result)
{
    vertex_t *parents = host_alloc(s->graph.size * sizeof(*parents));

    search_run(search, result->root, &result->times);
    search_parents(search, parents);
    result->edges = traversed_edges(&s->graph, parents);
    if (s->opt.inject_error)
        spoil_parents(s->opt.inject_error, &s->graph, result->root, parents);
    if (s->opt.verify)
        validate(&s->opt, &s->graph, result->root, parents, &result->times, &result->verdict);
    s->failed = s->failed || (result->verdict.checked && !result->verdict.valid);
    free(parents);
}

/* What was asked for by its name cannot be left out. */
static void refuse(struct session *s, struct search *search, enum exchange_kind kind)
{
    const char *refusal = search_refusal(search);

    if (!s->opt.all)
        quit_all("--variant %s: %s", exchange_name(kind), refusal);
    if (shmem_my_pe() == 0)
        fprintf(s->opt.csv ? stderr : stdout, "%s is left out: %s\n", exchange_name(kind), refusal);
    search_close(search);
}

/* Returns the seconds of all searches; 0: the variant cannot be run here. */
static double run_variant(struct session *s, enum exchange_kind kind)
{
    struct search *search = search_open(&s->opt, &s->graph, s->place.ops, s->place.dev, kind);
    struct variant variant = {
        .name = exchange_name(kind),
        .opt = &s->opt,
        .graph = &s->graph,
        .ops = s->place.ops,
        .results = calloc((size_t)s->n_roots, sizeof(*variant.results)),
        .n_results = s->n_roots,
    };
    double seconds;

    if (!variant.results)
        die("no host memory for %d searches", s->n_roots);
    if (search_refusal(search)) {
        refuse(s, search, kind);
        free(variant.results);
        return 0;
    }
    for (int i = 0; i < s->n_roots; i++) {
        variant.results[i].root = s->roots[i];
        search_from(s, search, &variant.results[i]);
        report_search(&variant, &variant.results[i]);
    }
    search_close(search);
    report_variant(&variant);
    seconds = variant_seconds(&variant);
    free(variant.results);
    return seconds;
}

static void run_variants(struct session *s)
{
    double seconds[N_EXCHANGES];

    for (int kind = 0; kind < N_EXCHANGES; kind++)
        if (s->opt.exchanges[kind])
            seconds[kind] = run_variant(s, (enum exchange_kind)kind);
    for (int kind = 0; kind < NAIVE; kind++)
        if (!s->opt.csv && s->opt.exchanges[kind] && s->opt.exchanges[NAIVE] && seconds[kind] > 0)
            report_ratio(s->place.ops, exchange_name((enum exchange_kind)kind), seconds[kind], seconds[NAIVE]);
}

static void run_all(struct session *s)
{
    threads_set(s->opt.threads);
    open_device(s);
    graph_make(&s->opt, &s->place, &s->graph);
    s->roots = roots_draw(&s->opt, &s->graph, &s->n_roots);
    if (s->opt.csv)
        report_csv_header();
    else
        report_pes(&s->place, &s->graph);
    run_variants(s);
    free(s->roots);
    graph_free(&s->graph);
    s->place.ops->close(s->place.dev);
}

int main(int argc, char **argv)
{
    struct session s = {.failed = false};

    program_name = "bfs";
    options_parse(argc, argv, &s.opt);
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
