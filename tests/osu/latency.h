/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of one kind of transfer from PE 0's point of view: put, get and put_nb differ in a few lines only.
 */
#ifndef OSU_LATENCY_H
#define OSU_LATENCY_H

#include "session.h"

/* PE 0 puts to PE 1, or gets from it: who has the source decides. */
enum { OSU_PUT_SOURCE = 0, OSU_GET_SOURCE = 1 };

struct latency_test {
    struct osu_program program;
    int source_pe;
    /* Transfer size bytes count times; this is what is timed. For a put, dest is symmetric; for a get, source is. */
    void (*repeat)(void *dest, const void *source, size_t size, long count);
};

/* The two buffers: PE 0 works on local, PE 1 owns remote. */
struct latency_buffers {
    struct osu_memory local;
    struct osu_memory remote;
    struct osu_memory stage; /* host, symmetric; for the naive way only */
};

/* Defaults that the published latency programs have. */
#define LATENCY_DEFAULTS                                                                                               \
    .columns = OSU_SHOW_LATENCY, .full_columns = OSU_SHOW_TAILS | OSU_SHOW_ITERATIONS, .compares = true,               \
    .two_pes = true, .max_size = 1 << 20, .large_from = 8193, .iterations = 10000, .iterations_large = 100,            \
    .warmup = 1000, .warmup_large = 0

int latency_main(const struct latency_test *test, int argc, char **argv);

/* PE 0: microseconds that count plain copies take, or NAN where there are none (compare.c). */
double compare_raw(const struct latency_test *test, const struct latency_buffers *buffers, size_t size, long count);

/* The same with PE 0's pageable buffer page-locked meanwhile. */
double compare_locked(const struct latency_test *test, const struct latency_buffers *buffers, size_t size, long count);

/* PE 0 and PE 1: microseconds per transfer of the way without shmmap; the result is on PE 0 (compare.c). */
double compare_naive(const struct latency_test *test, struct latency_buffers *buffers, size_t size, long count);

#endif
