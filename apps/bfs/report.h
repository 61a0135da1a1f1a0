/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is printed, by PE 0.
 */
#ifndef BFS_REPORT_H
#define BFS_REPORT_H

#include "bfs.h"
#include "memory.h"
#include "validate.h"

/* One search. */
struct result {
    vertex_t root;
    struct search_times times;
    uint64_t edges; /* of the input, in the tree's component */
    struct verdict verdict;
};

/* The searches of one variant. */
struct variant {
    const char *name;
    const struct options *opt;
    const struct graph *graph;
    const struct device_ops *ops;
    struct result *results;
    int n_results;
};

/* A line per PE. Collective. */
void report_pes(const struct place *place, const struct graph *graph);
void report_graph(const struct graph *graph, double edges_seconds, double build_seconds);
void report_csv_header(void);
void report_search(const struct variant *variant, const struct result *result);
void report_variant(const struct variant *variant);
/* Compares the time of a variant with that of naive. */
void report_ratio(const struct device_ops *ops, const char *name, double seconds, double naive_seconds);

/* The time of all searches together. */
double variant_seconds(const struct variant *variant);

#endif
