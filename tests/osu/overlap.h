/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Overlap of a nonblocking transfer with computation on PE 0, as a measurement of latency.h.
 */
#ifndef OSU_OVERLAP_H
#define OSU_OVERLAP_H

#include "latency.h"
#include "osu_report.h"

/* Fills in the row; the test has `begin`, and `repeat` completes each transfer before the next. */
void overlap_measure(const struct latency_run *run, struct osu_row *row, long count, long warmup);

/* Defaults that the published overlap program has. */
#define OVERLAP_DEFAULTS                                                                                               \
    .columns = OSU_SHOW_OVERLAP, .full_columns = OSU_SHOW_OVERALL | OSU_SHOW_ITERATIONS,                               \
    .raw_columns = OSU_SHOW_RAW_OVERLAP, .two_pes = true, .max_size = 1 << 20, .large_from = 8193,                     \
    .iterations = 10000, .iterations_large = 100, .warmup = 1000, .warmup_large = 10

#endif
