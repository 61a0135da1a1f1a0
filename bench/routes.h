/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of gpu_routes share: the buffers that its lines work on, a line of its table, and how one is measured.
 */
#ifndef OSU_ROUTES_H
#define OSU_ROUTES_H

#include "tests/osu/latency.h"
#include "tests/osu/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    ROUTES_WORDS = 4096,            /* operations of a burst, elements of a strided put */
    ROUTES_DISTANCE = 64,           /* bytes between the words of a burst               */
    ROUTES_ENQUEUED = 32,           /* calls on a stream before it is waited for        */
    ROUTES_CHECKED = 64 << 20,      /* larger blocks are not compared                   */
    ROUTES_HOST_MAX = 64 << 20,     /* bytes of a block on the symmetric heap           */
    ROUTES_PRIVATE_MAX = 256 << 20, /* of a block of private host memory            */
};

struct routes {
    struct osu_session session;
    struct latency_buffers buffers; /* local: source of puts, dest of gets; mapped, too. stage: on the heap */
    struct osu_memory host_source;  /* on the heap, as large as the stage                                   */
    size_t host_size, private_size;
    char *pageable, *pinned; /* private host memory; NULL: none           */
    long *fetched;           /* static data: results of fetching atomics  */
    char *peer;              /* on PE 0: PE 1's object as a pointer of this process */
    bool has_peer;           /* there is one; both PEs know               */
    size_t stride;           /* of the strided put, in elements           */
    int n_devices;           /* 1: both PEs use the same                  */
    bool quick;              /* few repetitions: the figures mean nothing */
    char route[32];          /* of the mapped memory                      */
};

/* One way of doing a line's operation: either PE 0 alone does it, `act`, and is timed; or both PEs, `timed`, whose
 * result on PE 0 counts. Times are microseconds of `count` operations. */
struct routes_way {
    const char *name;
    void (*act)(const struct routes *routes, size_t size, long count);
    double (*timed)(struct routes *routes, size_t size, long count);
    bool (*possible)(const struct routes *routes, size_t size); /* the same answer on both PEs */
};

/* `prepare` sets the contents before an operation, `right` compares them after it. Both PEs call both; the answer on PE
 * 0 counts. */
struct routes_check {
    void (*prepare)(struct routes *routes, size_t size);
    bool (*right)(struct routes *routes, size_t size);
};

extern const struct routes_check routes_check_put, routes_check_get, routes_check_burst, routes_check_strided,
    routes_check_sum;

enum routes_unit { UNIT_US, UNIT_GB_S, UNIT_PERCENT };

enum routes_goal {
    GOAL_NONE,
    GOAL_TIME_RATIO,      /* ours takes at most `goal` times as long      */
    GOAL_BANDWIDTH_RATIO, /* ours has at least `goal` times the bandwidth */
    GOAL_LESS_TIME,       /* ours takes at least `goal` per cent less time */
    GOAL_AT_MOST,         /* ours is at most `goal`, in the line's unit   */
};

struct routes_line {
    const char *group; /* named on the command line */
    const char *what;
    size_t size;                          /* bytes of one operation; 0: a line for each of many sizes */
    long operations;                      /* that one call of a way makes; the figure is that of one of them */
    const struct routes_way *ours, *peer; /* peer may be NULL */
    enum routes_unit unit;
    enum routes_goal goal_kind;
    double goal;
    bool below_nvshmem;               /* the goal includes this; gpu_routes.sh has NVSHMEM's figure */
    const struct routes_check *check; /* NULL: nothing is compared */
};

struct routes_result {
    double ours, peer; /* in the line's unit; NAN where there is none */
    bool right;
};

extern const struct routes_line routes_lines[];
extern const size_t routes_n_lines;

/* Called by both PEs; the result on PE 0 counts. */
struct routes_result routes_measure(struct routes *routes, const struct routes_line *line);

/* Called by PE 0: print the table, and append the same as CSV to the file unless it is NULL. */
void routes_report_title(FILE *csv, const struct routes *routes);
void routes_report_line(FILE *csv, const struct routes *routes, const struct routes_line *line,
                        const struct routes_result *result);

#endif
