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
    bool source_of_root; /* only that of PE 0 matters                                    */
    /* Whole elements: bytes of one. NULL stands for 4, the elements of the published programs. */
    size_t (*element)(const struct osu_options *options);
    /* Contents of a source, and whether a destination holds the right result. NULL: blocks are moved as they are, by
     * rank. Both see host memory. */
    void (*fill)(const struct osu_session *session, void *source, size_t size);
    bool (*check)(const struct osu_session *session, const void *dest, size_t size);
};

/* Defaults of the published programs. */
#define COLLECTIVE_DEFAULTS                                                                                            \
    .columns = OSU_SHOW_AVERAGE, .full_columns = OSU_SHOW_EXTREMES | OSU_SHOW_ITERATIONS, .collective = true,          \
    .large_from = 8193, .iterations = 1000, .iterations_large = 100, .warmup = 200, .warmup_large = 10
#define COLLECTIVE_OF_BUFFERS                                                                                          \
    COLLECTIVE_DEFAULTS, .naive_columns = OSU_SHOW_NAIVE, .placement = OSU_COLLECTIVE_MEMORY, .min_size = 4,           \
                         .max_size = 1 << 20

/* One program as it runs on this PE. */
struct collective_run {
    const struct collective_test *test;
    const struct osu_session *session;
    const struct collective_calls *calls;
    collective_func_t routine;
    size_t element;
    struct osu_memory source, dest;
    struct osu_memory source_stage, dest_stage; /* --naive: symmetric host memory in their place */
    unsigned char *filled, *seen;               /* -c: what the source has, what is in either buffer */
};

size_t collective_source_bytes(const struct collective_run *run, size_t size);
size_t collective_dest_bytes(const struct collective_run *run, size_t size);

/* Whether this PE's destination gets anything. With active sets that of a broadcast's root does not. */
bool collective_has_result(const struct collective_run *run);

/* The collective on the buffers, or by copies to and from host memory around it: what is measured and checked. */
typedef void (*collective_way_t)(const struct collective_run *run, size_t size);

/* Collective. Whether the results are right, and the memory behind them and the sources unchanged; known on PE 0. */
bool collective_validate(const struct collective_run *run, size_t size, collective_way_t way);
bool collective_validate_barrier(const struct collective_run *run);

int collective_main(const struct collective_test *test, int argc, char **argv);

#endif
