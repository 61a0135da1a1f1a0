/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output in the format of the OSU micro-benchmarks: header lines that start with #, then one line per size.
 */
#ifndef OSU_REPORT_H
#define OSU_REPORT_H

#include "session.h"

#define OSU_REPORT_VERSION "v1.0-mapshmem"

/* Which columns are printed; osu_report_columns says for a session. */
enum {
    OSU_SHOW_LATENCY = 1 << 0,
    OSU_SHOW_TAILS = 1 << 1,
    OSU_SHOW_RATE = 1 << 2,
    OSU_SHOW_BANDWIDTH = 1 << 3,
    OSU_SHOW_ITERATIONS = 1 << 4,
    OSU_SHOW_RAW = 1 << 5,
    OSU_SHOW_NAIVE = 1 << 6,
    OSU_SHOW_VALID = 1 << 7,
    OSU_SHOW_AVERAGE = 1 << 8,
    OSU_SHOW_EXTREMES = 1 << 9,
    OSU_SHOW_MILLIONS = 1 << 10,
    OSU_SHOW_LOCKED = 1 << 11,
    OSU_SHOW_RAW_RATE = 1 << 12,
    OSU_SHOW_OVERLAP = 1 << 13,
    OSU_SHOW_OVERALL = 1 << 14,
    OSU_SHOW_RAW_OVERLAP = 1 << 15,
};

/* Everything that a line can show. Times in microseconds of one operation; NAN where there is no figure. */
struct osu_row {
    size_t size;
    const char *operation;              /* if set, it stands in the place of the size; "" leaves that empty */
    double latency;                     /* of a collective: the mean of the PEs */
    double least, most;                 /* latency of the fastest and the slowest PE */
    double shortest, p50, p99, longest; /* of single operations, in a pass of its own */
    double rate;                        /* messages per second, all pairs together     */
    double millions;                    /* of operations per second, all pairs together */
    double bandwidth;                   /* MB/s                                        */
    double iterations;
    double raw, raw_ratio;                      /* the plain copy; how many times as long ours takes */
    double locked;                              /* the plain copy from the same buffer page-locked    */
    double raw_rate, rate_ratio;                /* the same of rates; how many times as many plain copies */
    double compute, begin, wait, communication; /* parts of a transfer beside computation, and the transfer alone */
    double overlap, raw_overlap;                /* percent of it; the same of the plain copy */
    double naive, less;                         /* the way without shmmap; percent less time of ours  */
    double valid;                               /* 1: the bytes were right                            */
};

unsigned osu_report_columns(const struct osu_session *session);

/* The lines above the table; route may be NULL when it is not known; form says which routines a collective or atomics
 * are done with. For PE 0. */
void osu_report_header(const struct osu_session *session, const char *route, unsigned columns);
void osu_report_atomics(const struct osu_session *session, const char *form, const char *route, unsigned columns);
void osu_report_collective(const struct osu_session *session, const char *form, const char *route, unsigned columns);
void osu_report_row(const struct osu_row *row, unsigned columns);

#endif
