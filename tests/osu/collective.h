/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of a collective over all PEs: the programs differ in the routine and in what a right result is.
 */
#ifndef OSU_COLLECTIVE_H
#define OSU_COLLECTIVE_H

#include "collective_calls.h"
#include "osu_report.h"
#include "session.h"

struct collective_test {
    struct osu_program program;
    /* The routine that the options ask for. */
    collective_func_t (*routine)(const struct collective_calls *calls, const struct osu_options *options);
    bool source_of_each; /* the source has a block for each PE, else one block           */
    bool dest_of_each;   /* the destination has a block from each PE, else one block     */
    /* Whole elements: bytes of one. NULL stands for 4, the elements of the published programs. */
    size_t (*element)(const struct osu_options *options);
    /* Contents of a source, and whether a destination holds what must come of them. NULL: blocks are moved as they
     * are, by rank. */
    void (*fill)(const struct osu_session *session, void *source, size_t size);
    bool (*check)(const struct osu_session *session, const void *dest, size_t size);
};

/* Defaults of the published programs. */
#define COLLECTIVE_DEFAULTS                                                                                            \
    .columns = OSU_SHOW_AVERAGE, .full_columns = OSU_SHOW_EXTREMES | OSU_SHOW_ITERATIONS, .collective = true,          \
    .placement = OSU_HEAP_ONLY, .large_from = 8193, .iterations = 1000, .iterations_large = 100, .warmup = 200,        \
    .warmup_large = 10

int collective_main(const struct collective_test *test, int argc, char **argv);

#endif
