/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Message rates between pairs of PEs: put_mr, get_mr and their nonblocking forms differ in the routine only.
 */
#ifndef OSU_MESSAGE_RATE_H
#define OSU_MESSAGE_RATE_H

#include "session.h"

/* The messages of one size, each at its own place until the buffer is full. */
struct message_series {
    char *dest;
    const char *source;
    size_t size, last; /* bytes of a message; offset of the last place */
    long count;
    int partner;
};

struct message_rate_test {
    struct osu_program program;
    bool gets;  /* the source is on the second half of the PEs       */
    bool waits; /* each message is complete before the next one begins */
    /* All messages of the series, without a quiet; this is what is timed. */
    void (*repeat)(const struct message_series *series);
};

enum { MESSAGE_RATE_LARGEST = 1 << 22, MESSAGE_RATE_LARGE_FROM = 8192, MESSAGE_RATE_LARGE_COUNT = 50 };

/* Defaults that the published message rate programs have. */
#define MESSAGE_RATE_DEFAULTS                                                                                          \
    .columns = OSU_SHOW_RATE, .full_columns = OSU_SHOW_BANDWIDTH | OSU_SHOW_ITERATIONS,                                \
    .raw_columns = OSU_SHOW_RAW_RATE, .two_pes = false, .max_size = MESSAGE_RATE_LARGEST,                              \
    .large_from = MESSAGE_RATE_LARGE_FROM, .iterations = 500, .iterations_large = MESSAGE_RATE_LARGE_COUNT,            \
    .warmup = MESSAGE_RATE_LARGE_COUNT, .warmup_large = MESSAGE_RATE_LARGE_COUNT

/* The body of repeat; `transfer` is a constant there, so that it is called directly. */
static inline void message_rate_repeat(const struct message_series *series,
                                       void (*transfer)(void *dest, const void *source, size_t size, int pe))
{
    size_t offset = 0;
    for (long i = 0; i < series->count; i++) {
        transfer(series->dest + offset, series->source + offset, series->size, series->partner);
        offset = offset < series->last ? offset + series->size : 0;
    }
}

int message_rate_main(const struct message_rate_test *test, int argc, char **argv);

#endif
