/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of one kind of transfer from PE 0's point of view: put, get and put_nb differ in a few lines only.
 */
#ifndef OSU_LATENCY_H
#define OSU_LATENCY_H

#include "session.h"

struct osu_row;

/* The PE that has the source: PE 0 for a put to PE 1, PE 1 for a get by PE 0. */
enum { OSU_PUT_SOURCE = 0, OSU_GET_SOURCE = 1 };

/* The two buffers: PE 0 works on local, PE 1 owns remote. */
struct latency_buffers {
    struct osu_memory local;
    struct osu_memory remote;
    struct osu_memory stage; /* host, symmetric; for the naive way only */
};

/* Where the bytes of a transfer are in a buffer. `size` is what the table's first column says. */
struct latency_layout {
    size_t (*bytes)(size_t size); /* that travel              */
    size_t (*span)(size_t size);  /* from the first to the last */
    /* As osu_memory_fill, _clear and _check. */
    void (*fill)(struct osu_memory *memory, size_t size, unsigned seed);
    void (*clear)(struct osu_memory *memory, size_t size, unsigned seed);
    bool (*check)(struct osu_memory *memory, size_t size, unsigned seed);
    /* The plain copy, count times; false: there is none. */
    bool (*copy)(struct device *device, const struct device_copy *copy, size_t size, long count);
    /* To and from consecutive bytes of host memory. */
    void (*copy_out)(struct osu_memory *memory, void *host, size_t size);
    void (*copy_in)(struct osu_memory *memory, const void *host, size_t size);
};

extern const struct latency_layout latency_consecutive;

struct latency_test;

struct latency_run {
    const struct latency_test *test;
    const struct osu_session *session;
    struct latency_buffers *buffers;
};

struct latency_test {
    struct osu_program program;
    int source_pe;
    /* Transfer size bytes count times; this is what is timed. For a put, dest is symmetric; for a get, source is. */
    void (*repeat)(void *dest, const void *source, size_t size, long count);

    /* The members from here on are optional. */
    const struct latency_layout *layout;
    /* Checks the options. False, after PE 0 has said why, ends the program with an error. */
    bool (*set_up)(const struct osu_session *session);
    /* What PE 1 does meanwhile, from its own buffer to PE 0's, which is symmetric then. Each of the count transfers
     * goes there and back, and its latency is half of the time. */
    void (*answer)(void *dest, const void *source, size_t size, long count);
    /* Begin one transfer, which shmem_quiet completes. */
    void (*begin)(void *dest, const void *source, size_t size);
    /* Called on both PEs. measure fills in the row on PE 0. raw: microseconds of count plain transfers on PE 0. naive:
     * those that this PE adds to one transfer by the naive way. validate: whether the bytes were right, on PE 0. */
    void (*measure)(const struct latency_run *run, struct osu_row *row, long count, long warmup);
    double (*raw)(const struct latency_test *test, const struct latency_buffers *buffers, size_t size, long count);
    double (*naive)(const struct latency_test *test, struct latency_buffers *buffers, size_t size);
    bool (*validate)(const struct latency_run *run, size_t size);
};

/* Defaults that the published latency programs have. */
#define LATENCY_DEFAULTS                                                                                               \
    .columns = OSU_SHOW_LATENCY, .full_columns = OSU_SHOW_TAILS | OSU_SHOW_ITERATIONS, .raw_columns = OSU_SHOW_RAW,    \
    .naive_columns = OSU_SHOW_NAIVE, .two_pes = true, .max_size = 1 << 20, .large_from = 8193, .iterations = 10000,    \
    .iterations_large = 100, .warmup = 1000, .warmup_large = 0

int latency_main(const struct latency_test *test, int argc, char **argv);

/* For programs with functions of their own above. PE `source_pe` fills its buffer, the other one clears its own; a
 * barrier follows. */
void latency_prepare(const struct latency_run *run, int source_pe, size_t size, unsigned seed);
/* This PE's buffer. */
struct osu_memory *latency_memory(const struct latency_run *run);
/* This PE's part of count transfers; the time that it takes. */
double latency_transfer(const struct latency_run *run, size_t size, long count);
enum { LATENCY_VALIDATION_ROUNDS = 5 }; /* transfers of -c */

/* PE 0: the plain copy that equals a transfer; false where the peer's memory has no address here (compare.c). */
bool compare_copy(const struct latency_test *test, const struct latency_buffers *buffers, struct device_copy *copy);
/* The device whose calls make that copy. */
struct device *compare_device(const struct latency_buffers *buffers);

/* PE 0: microseconds that count plain copies take, or NAN where there are none; 0 on PE 1. */
double compare_raw(const struct latency_test *test, const struct latency_buffers *buffers, size_t size, long count);

/* PE 0: the same with its pageable buffer page-locked meanwhile. */
double compare_locked(const struct latency_test *test, const struct latency_buffers *buffers, size_t size, long count);

#endif
