/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combines the counts of all PEs and prints the table of SHMEM_STATS at shmem_finalize; joins the PEs' traces.
 */
#define _GNU_SOURCE
#include "base/settings.h"
#include "shmem/check/check.h"
#include "shmem/coll/collectives.h"
#include "shmmap/memory_use.h"
#include "shmem/setup/steps.h"
#include "transport/service.h"
#include "instrument/measure.h"
#include "instrument/trace.h"
#include "transport/drivers/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All that a PE reports. PEs combine it as an array of 64-bit words. */
struct counts {
    struct shmemi_tallies tallies;
    uint64_t service_cpu;
    uint64_t step[SHMEMI_INIT_STEPS_MAX]; /* of shmem_init, ns */
    uint64_t memory[SHMEMI_USES];
};

struct summary {
    struct counts sum, least, most;
    int n_pes;
};

enum { COUNT_WORDS = sizeof(struct counts) / sizeof(uint64_t), PIECE_WORDS = SHMEMI_CARRIER_BYTES / sizeof(uint64_t) };

/* ---- Taking the counts ------------------------------------------------------------------------------------------- */

static void take_counts(struct counts *counts)
{
    shmemi_measure_read(&counts->tallies);
    counts->service_cpu = shmemi_service_cpu_time();
    for (int i = 0; i < SHMEMI_INIT_STEPS_MAX; i++)
        shmemi_step_taken(i, &counts->step[i]);
    shmemi_memory_use(counts->memory);
}

static int combine(struct counts *result, const struct counts *mine, enum shmemi_operation operation)
{
    const struct shmemi_op *op = &shmemi_ops[operation][SHMEMI_KIND_U64];
    int rc = 0;
    for (size_t done = 0; done < COUNT_WORDS && !rc; done += PIECE_WORDS) {
        size_t n = COUNT_WORDS - done < PIECE_WORDS ? COUNT_WORDS - done : PIECE_WORDS;
        rc = shmemi_reduce_private(&shmemi_team_world, op, (uint64_t *)result + done, (const uint64_t *)mine + done,
                                   n * sizeof(uint64_t));
    }
    return rc;
}

static int summarise(struct summary *summary, const struct counts *mine)
{
    summary->n_pes = shmemi_job.n_pes;
    int rc = combine(&summary->sum, mine, SHMEMI_OP_sum);
    if (!rc)
        rc = combine(&summary->least, mine, SHMEMI_OP_min);
    if (!rc)
        rc = combine(&summary->most, mine, SHMEMI_OP_max);
    return rc;
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

/* The rate is that of a PE during its calls: bytes divided by the time in the calls. */
static void print_line(FILE *out, const char *route, const char *name, const struct shmemi_tally *sum, uint64_t least,
                       uint64_t most, int n_pes)
{
    char rate[32] = "-";
    if (!sum->count)
        return;
    if (sum->bytes && sum->ns)
        snprintf(rate, sizeof rate, "%.1f", (double)sum->bytes * 1e3 / (double)sum->ns);
    fprintf(out, "%-12s %-11s %12llu %16llu %13.1f %13.1f %13.1f %10s\n", route, name, (unsigned long long)sum->count,
            (unsigned long long)sum->bytes, (double)least * 1e-3, (double)sum->ns * 1e-3 / n_pes, (double)most * 1e-3,
            rate);
}

static void print_transfers(FILE *out, const struct summary *summary)
{
    const char *route;
    for (unsigned i = 0; i < SHMEMI_MEASURED_ROUTES_MAX && (route = shmemi_driver_name(i)); i++)
        for (int transfer = 0; transfer < SHMEMI_TRANSFERS; transfer++)
            print_line(out, route, shmemi_transfer_name(transfer), &summary->sum.tallies.transfer[i][transfer],
                       summary->least.tallies.transfer[i][transfer].ns, summary->most.tallies.transfer[i][transfer].ns,
                       summary->n_pes);
}

static void print_kernels(FILE *out, const struct summary *summary)
{
    for (int what = 0; what < SHMEMI_FROM_KERNELS; what++)
        print_line(out, "kernels", shmemi_from_kernel_name(what), &summary->sum.tallies.from_kernel[what],
                   summary->least.tallies.from_kernel[what].ns, summary->most.tallies.from_kernel[what].ns,
                   summary->n_pes);
}

static void print_summary(FILE *out, const char *of, const struct summary *summary)
{
    fprintf(out, "MapSHMEM statistics of %s\n%-12s %-11s %12s %16s %41s %10s\n", of, "", "", "", "",
            "microseconds that a PE spent in them", "");
    fprintf(out, "%-12s %-11s %12s %16s %13s %13s %13s %10s\n", "route", "operation", "count", "bytes", "least", "mean",
            "most", "MB/s");
    print_transfers(out, summary);
    print_kernels(out, summary);
    for (int activity = SHMEMI_AT_BARRIER; activity < SHMEMI_ACTIVITIES; activity++)
        print_line(out, "-", shmemi_activity_name(activity), &summary->sum.tallies.activity[activity],
                   summary->least.tallies.activity[activity].ns, summary->most.tallies.activity[activity].ns,
                   summary->n_pes);
    print_line(out, "-", "served", &summary->sum.tallies.served, summary->least.tallies.served.ns,
               summary->most.tallies.served.ns, summary->n_pes);
    struct shmemi_tally cpu = {.count = summary->sum.service_cpu > 0, .ns = summary->sum.service_cpu};
    print_line(out, "-", "service cpu", &cpu, summary->least.service_cpu, summary->most.service_cpu, summary->n_pes);
}

/* Without those that would show nothing but 0.0. */
static void print_row(FILE *out, const char *name, double least, double sum, double most, int n_pes)
{
    if (most < 0.05)
        return;
    fprintf(out, "  %-52s %13.1f %13.1f %13.1f\n", name, least, sum / n_pes, most);
}

static void print_start(FILE *out, const struct summary *summary)
{
    const char *name;
    uint64_t ns;
    fprintf(out, "%-54s %13s %13s %13s\n", "start-up, milliseconds", "least", "mean", "most");
    for (int i = 0; (name = shmemi_step_taken(i, &ns)); i++)
        print_row(out, name, (double)summary->least.step[i] * 1e-6, (double)summary->sum.step[i] * 1e-6,
                  (double)summary->most.step[i] * 1e-6, summary->n_pes);
}

static void print_memory(FILE *out, const struct summary *summary)
{
    fprintf(out, "%-54s %13s %13s %13s\n", "memory of a PE, KiB", "least", "mean", "most");
    for (int i = 0; i < SHMEMI_USES; i++)
        print_row(out, shmemi_memory_use_name(i), (double)summary->least.memory[i] / 1024,
                  (double)summary->sum.memory[i] / 1024, (double)summary->most.memory[i] / 1024, summary->n_pes);
}

/* Write each line in one call, with the same text in front, since lines of several PEs may mix. */
static void write_lines(const char *front, char *text)
{
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) && rest;) {
        char whole[256];
        int length = snprintf(whole, sizeof whole - 1, "%s%s\n", front, line);
        size_t most = sizeof whole - 1, written = (size_t)length < most ? (size_t)length : most;
        ssize_t ignored = write(STDERR_FILENO, whole, written);
        (void)ignored;
    }
}

static void print(const char *front, const char *of, const struct summary *summary)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    print_summary(out, of, summary);
    print_start(out, summary);
    print_memory(out, summary);
    fclose(out);
    write_lines(front, text);
    free(text);
}

static void print_own(const struct counts *mine)
{
    char of[32], front[64];
    static struct summary summary;
    summary = (struct summary){*mine, *mine, *mine, 1};
    snprintf(of, sizeof of, "PE %d", shmemi_job.pe);
    snprintf(front, sizeof front, "%s: ", of);
    print(front, of, &summary);
}

static int report_counts(void)
{
    char of[32];
    static struct counts mine; /* static: too large for a small stack */
    static struct summary summary;
    take_counts(&mine);
    int rc = summarise(&summary, &mine);
    if (rc)
        return rc;
    snprintf(of, sizeof of, "%d PE%s", shmemi_job.n_pes, shmemi_job.n_pes == 1 ? "" : "s");
    if (shmemi_job.pe == 0)
        print("", of, &summary);
    if (shmemi_settings.stats == 2)
        print_own(&mine);
    return 0;
}

/* ---- At finalisation --------------------------------------------------------------------------------------------- */

static int finish_trace(void)
{
    shmemi_memory_report_copies();
    shmemi_trace_close();
    int rc = shmemi_collective_sync(&shmemi_team_world);
    if (!rc && shmemi_job.pe == 0 && shmemi_settings.trace[0])
        shmemi_trace_merge();
    return rc;
}

/* If one PE wants statistics or a trace, all must take part. */
static int end_together(const char *routine, enum shmemi_presence presence, unsigned *actions_p)
{
    struct shmemi_call call = {.routine = routine, .activity = SHMEMI_AT_BARRIER};
    *actions_p = (shmemi_settings.stats ? SHMEMI_END_STATS : 0) | (shmemi_settings.trace[0] ? SHMEMI_END_TRACE : 0);
    shmemi_span_begin(&call);
    shmemi_check_heap(routine);
    shmemi_quiet(&shmemi_default_ctx);
    int rc = shmemi_final_barrier(presence, actions_p);
    shmemi_span_end(&call);
    return rc;
}

int shmemi_report(enum shmemi_presence presence)
{
    unsigned actions = 0;
    struct shmemi_call call = {.routine = presence == SHMEMI_FINALIZES ? "shmem_finalize" : "the end of the program",
                               .activity = SHMEMI_AT_RUNTIME};
    int rc = end_together(call.routine, presence, &actions);
    shmemi_call_begin(&call);
    if (!rc && actions & SHMEMI_END_STATS)
        rc = report_counts();
    if (!rc && actions & SHMEMI_END_TRACE)
        rc = finish_trace();
    shmemi_call_end(&call);
    return rc;
}
