/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table, the same as CSV, and what the figures say about the goals.
 */
#include "deepcopy.h"

#include <stdlib.h>
#include <string.h>

enum { LARGE_NODE = 1 << 20, SMALL_NODE = 1024 };

static const char *const directions[] = {[TO] = "to", [FROM] = "from"};

static double gb_per_s(const struct result *result)
{
    return (double)result->bytes / result->median / 1e3;
}

void report_title(struct run *run)
{
    printf("# deepcopy: %s memory, %d PEs%s\n", run->device->ops->name, run->n_pes,
           run->options.asynchronous ? ", asynchronous" : "");
    printf("%-10s %8s %-9s %-10s %-5s %11s %11s %8s %11s %7s %11s %7s\n", "# shape", "node, B", "technique", "place",
           "way", "first, us", "us", "GB/s", "by hand, us", "%", "one copy", "%");
    fflush(stdout);
    if (run->csv && !fseek(run->csv, 0, SEEK_END) && ftell(run->csv) == 0)
        fprintf(run->csv, "device,shape,node_size,objects,bytes,image_bytes,technique,asynchronous,place,direction,"
                          "repetitions,first_us,median_us,best_us,gb_per_s,by_hand_us,by_hand_percent,one_copy_us,"
                          "one_copy_percent\n");
}

static void print_csv(FILE *csv, const struct run *run, const struct result *result)
{
    fprintf(csv, "%s,%s,%zu,%zu,%zu,%zu,%s,%d,%s,%s,%ld,%.5g,%.5g,%.5g,%.4g,%.5g,%.4g,%.5g,%.4g\n",
            run->device->ops->name, result->shape, result->node_size, result->n_objects, result->bytes, result->image,
            result->technique, run->options.asynchronous, result->place, directions[result->direction], result->n,
            result->first, result->median, result->best, gb_per_s(result), result->by_hand,
            100 * result->by_hand / result->median, result->one_copy, 100 * result->one_copy / result->median);
    fflush(csv);
}

void report_add(struct run *run, const struct result *result)
{
    run->results = realloc(run->results, (run->n_results + 1) * sizeof *run->results);
    if (!run->results)
        die("no memory for the results");
    run->results[run->n_results++] = *result;
    printf("%-10s %8zu %-9s %-10s %-5s %11.1f %11.1f %8.3f %11.1f %7.1f %11.1f %7.1f\n", result->shape,
           result->node_size, result->technique, result->place, directions[result->direction], result->first,
           result->median, gb_per_s(result), result->by_hand, 100 * result->by_hand / result->median, result->one_copy,
           100 * result->one_copy / result->median);
    fflush(stdout);
    if (run->csv)
        print_csv(run->csv, run, result);
}

/* ---- Goals -------------------------------------------------------------------------------------------------------- */

/* To or from this PE's GPU; NULL: not measured. */
static const struct result *find(const struct run *run, const struct result *like, const char *technique)
{
    for (size_t i = 0; i < run->n_results; i++) {
        const struct result *result = &run->results[i];
        if (!strcmp(result->shape, like->shape) && result->node_size == like->node_size &&
            result->direction == like->direction && !strcmp(result->place, "own") &&
            !strcmp(result->technique, technique))
            return result;
    }
    return NULL;
}

static void print_goal(const char *what, double value, double goal, const char *unit)
{
    printf("goal: %-58s %8.2f %-5s goal %5.2f  %s\n", what, value, unit, goal, value >= goal ? "yes" : "NO");
}

static bool is_own_image(const struct result *result)
{
    return !strcmp(result->technique, "image");
}

static void goal_of_small_nodes(const struct run *run, const struct result *image)
{
    char what[96];
    const struct result *pcpy = find(run, image, "pcpy");
    if (!pcpy || image->node_size == 0 || image->node_size > SMALL_NODE)
        return;
    snprintf(what, sizeof what, "%s, %zu B, %s: faster than pcpy", image->shape, image->node_size,
             directions[image->direction]);
    print_goal(what, pcpy->median / image->median, 10, "times");
}

static void goal_of_large_nodes(const struct result *image)
{
    char what[96];
    if (image->node_size < LARGE_NODE)
        return;
    snprintf(what, sizeof what, "%s, %zu B, %s: of one page-locked copy", image->shape, image->node_size,
             directions[image->direction]);
    print_goal(what, image->one_copy / image->median, 0.8, "");
}

static void goal_of_umt(const struct result *image)
{
    char what[96];
    if (strcmp(image->shape, "umt"))
        return;
    snprintf(what, sizeof what, "umt, %.2f GB, %s", (double)image->bytes / 1e9, directions[image->direction]);
    print_goal(what, gb_per_s(image), 25, "GB/s");
}

static void print_order(const struct run *run, const struct result *pcpy)
{
    const struct result *base = find(run, pcpy, "base"), *plus = find(run, pcpy, "base+"),
                        *tcpy = find(run, pcpy, "tcpy");
    if (pcpy->direction != TO || pcpy->node_size == 0 || pcpy->node_size > SMALL_NODE || !base || !plus || !tcpy)
        return;
    double single = tcpy->median > pcpy->median ? tcpy->median : pcpy->median;
    printf("goal: %s, %zu B: base %.0f > base+ %.0f > tcpy %.0f, pcpy %.0f us  %s\n", pcpy->shape, pcpy->node_size,
           base->median, plus->median, tcpy->median, pcpy->median,
           base->median > plus->median && plus->median > single ? "yes" : "NO");
}

/* As in the paper's figure 8: list, splitlist and tree, to the GPU. */
static void print_average(const struct run *run, bool of_image, const char *what)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < run->n_results; i++) {
        const struct result *result = &run->results[i];
        bool counts = !strcmp(result->place, "own") && result->direction == TO && strcmp(result->shape, "umt");
        if (!counts || is_own_image(result) != of_image)
            continue;
        sum += 100 * result->by_hand / result->median;
        n++;
    }
    if (n)
        print_goal(what, sum / (double)n, 90, "%");
}

void report_goals(const struct run *run)
{
    for (size_t i = 0; i < run->n_results; i++) {
        if (!strcmp(run->results[i].technique, "pcpy"))
            print_order(run, &run->results[i]);
        if (!is_own_image(&run->results[i]))
            continue;
        goal_of_small_nodes(run, &run->results[i]);
        goal_of_large_nodes(&run->results[i]);
        goal_of_umt(&run->results[i]);
    }
    print_average(run, false, "base to pcpy, to: of the bandwidth by hand");
    print_average(run, true, "image, to: of the bandwidth by hand");
    fflush(stdout);
}
