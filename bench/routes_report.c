/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of gpu_routes, and the same as CSV. Each line of the CSV is complete: it has the route and the number of
 * GPUs, so that the files of several runs can be joined.
 */
#include "routes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const units[] = {[UNIT_US] = "us", [UNIT_GB_S] = "GB/s", [UNIT_PERCENT] = "%"};

/* What the goal is about: a ratio, or per cent less time; NAN without a peer. */
static double compared(const struct routes_line *line, const struct routes_result *result)
{
    if (line->goal_kind == GOAL_LESS_TIME)
        return 100 * (1 - result->ours / result->peer);
    return result->ours / result->peer;
}

static const char *met(const struct routes_line *line, const struct routes_result *result)
{
    double value = line->goal_kind == GOAL_AT_MOST ? result->ours : compared(line, result);
    if (!result->right)
        return "WRONG BYTES";
    if (line->goal_kind == GOAL_NONE || isnan(value))
        return "-";
    bool low = line->goal_kind == GOAL_AT_MOST || line->goal_kind == GOAL_TIME_RATIO;
    return (low ? value <= line->goal : value >= line->goal) ? "yes" : "no";
}

static void goal_text(char *text, size_t size, const struct routes_line *line)
{
    switch (line->goal_kind) {
    case GOAL_NONE:
        snprintf(text, size, "-");
        break;
    case GOAL_TIME_RATIO:
        snprintf(text, size, "<= %gx%s", line->goal, line->below_nvshmem ? " + NVSHMEM" : "");
        break;
    case GOAL_BANDWIDTH_RATIO:
        snprintf(text, size, ">= %gx", line->goal);
        break;
    case GOAL_LESS_TIME:
        snprintf(text, size, "%g %% less", line->goal);
        break;
    case GOAL_AT_MOST:
        snprintf(text, size, "<= %g %s%s", line->goal, units[line->unit], line->below_nvshmem ? " + NVSHMEM" : "");
        break;
    }
}

static void figure(char *text, size_t size, double value)
{
    if (isnan(value))
        snprintf(text, size, "-");
    else if (value != 0 && fabs(value) < 1)
        snprintf(text, size, "%.4f", value);
    else
        snprintf(text, size, fabs(value) < 1000 ? "%.2f" : "%.0f", value);
}

void routes_report_title(FILE *csv, const struct routes *routes)
{
    printf("# gpu_routes: %s memory, 2 PEs on %s, route %s%s\n", routes->session.device->ops->name,
           routes->n_devices == 1 ? "one device" : "two devices", routes->route,
           routes->quick ? "; --quick: these figures mean nothing" : "");
    printf("%-27s %10s %-5s %9s %9s %-13s %8s  %-22s %s\n", "# what", "size", "unit", "ours", "peer", "which", "ratio",
           "goal", "met");
    fflush(stdout);
    if (csv && !fseek(csv, 0, SEEK_END) && ftell(csv) == 0)
        fprintf(csv, "group,what,route,device,devices,size,unit,ours,peer,peer_name,ratio,goal,below_nvshmem,met\n");
}

/* Prints nothing if there is no figure. */
static void print_number(FILE *csv, double value)
{
    if (!isnan(value))
        fprintf(csv, "%.5g", value);
    fputc(',', csv);
}

static void print_csv(FILE *csv, const struct routes *routes, const struct routes_line *line,
                      const struct routes_result *result, const char *goal)
{
    fprintf(csv, "%s,%s,%s,%s,%d,%zu,%s,", line->group, line->what, routes->route, routes->session.device->ops->name,
            routes->n_devices, line->size, units[line->unit]);
    print_number(csv, result->ours);
    print_number(csv, result->peer);
    fprintf(csv, "%s,", line->peer ? line->peer->name : "");
    print_number(csv, compared(line, result));
    fprintf(csv, "%s,%d,%s\n", goal, line->below_nvshmem, met(line, result));
    fflush(csv);
}

void routes_report_line(FILE *csv, const struct routes *routes, const struct routes_line *line,
                        const struct routes_result *result)
{
    char ours[32], peer[32], ratio[32], goal[32];
    const char *name = line->peer && !isnan(result->peer) ? line->peer->name : "-";
    figure(ours, sizeof ours, result->ours);
    figure(peer, sizeof peer, result->peer);
    figure(ratio, sizeof ratio, compared(line, result));
    goal_text(goal, sizeof goal, line);
    printf("%-27s %10zu %-5s %9s %9s %-13s %8s  %-22s %s\n", line->what, line->size, units[line->unit], ours, peer,
           name, ratio, goal, met(line, result));
    fflush(stdout);
    if (csv)
        print_csv(csv, routes, line, result, goal);
}
