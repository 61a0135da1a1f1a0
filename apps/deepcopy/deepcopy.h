/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deep copies of pointer-linked structures, measured: to this PE's GPU by each technique, and to another PE.
 */
#ifndef DEEPCOPY_H
#define DEEPCOPY_H

#include "graph.h"
#include "support/plain.h"
#include "support/util.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { DEEPCOPY_TECHNIQUES = 5, DEEPCOPY_SIZES_MAX = 16, DEEPCOPY_SHAPES_MAX = 8 };

struct technique {
    const char *name;
    int id; /* SHMEMX_DEEP_* */
};
extern const struct technique techniques[DEEPCOPY_TECHNIQUES]; /* in the order of the paper, ours last */

struct options {
    const char *device; /* cuda, opencl */
    const char *shapes[DEEPCOPY_SHAPES_MAX];
    size_t n_shapes;
    size_t sizes[DEEPCOPY_SIZES_MAX];
    size_t n_sizes;
    bool techniques[DEEPCOPY_TECHNIQUES];
    size_t nodes;     /* 0: as in the paper */
    double scale;     /* of umt             */
    long repetitions; /* at most            */
    double seconds;   /* for one line, unless fewer than 3 repetitions are done by then */
    bool own, peer, asynchronous, has_goals, help, version;
    const char *csv;
};

/* Returns 0, or -1 after a line on standard error. */
int options_read(struct options *options, int argc, char **argv);
void options_help(void);

/* ---- Times ---- */

enum { REPETITIONS_MAX = 1000 };

/* In microseconds. */
struct times {
    double first; /* of a call that is not among the others */
    double all[REPETITIONS_MAX];
    long n;
};
void times_add(struct times *times, double microseconds);
double times_median(struct times *times); /* NAN without any */
double times_best(const struct times *times);

/* Lets a loop run for the repetitions and seconds of the options. */
struct repetition {
    long n;
    double start;
};
bool repeat(const struct options *options, struct repetition *repetition);

enum direction { TO, FROM, DIRECTIONS };

/* ---- Transfers by hand, which know all addresses beforehand ---- */

struct by_hand {
    struct device *device;
    const struct graph *graph;
    bool asynchronous;
    void *memory;             /* of the device */
    size_t *at;               /* where each object is in it */
    uint64_t base;            /* value of a pointer to its first byte */
    void **objects;           /* separate memory for each, for BASE */
    char *packed, *temporary; /* page-locked where that exists; as large as an object */
    size_t packed_size;
};

void by_hand_open(struct by_hand *hand, struct device *device, const struct graph *graph, bool asynchronous);
void by_hand_close(struct by_hand *hand);
/* The allocations and transfers of a technique; IMAGE: packing and one copy. */
void by_hand_copy(struct by_hand *hand, int technique, enum direction direction);
/* One copy of all bytes that are packed. */
void by_hand_one_copy(struct by_hand *hand, enum direction direction);
/* The host's part of IMAGE. */
void by_hand_pack(struct by_hand *hand);
void by_hand_unpack(struct by_hand *hand);

/* ---- Check ---- */

/* How to reach a copy. The address is a value of a pointer. */
struct copy_access {
    void *context;
    void (*read)(void *context, uint64_t address, void *bytes, size_t size);
    void (*write)(void *context, uint64_t address, const void *bytes, size_t size);
};

/* Follow all pointers of the copy from its root and compare; then write other values there, of samples if it is large.
 * False after a line. */
bool check_copy(struct graph *graph, const struct copy_access *access, uint64_t root);
/* Whether the objects now hold those values, and their pointers are as before. Sets the objects back. */
bool check_back(struct graph *graph);

/* ---- Measurement ---- */

struct result {
    const char *shape, *technique, *place; /* place: own, heap, or a route */
    enum direction direction;
    size_t node_size, n_objects, bytes, image;
    long n;
    double first, median, best, by_hand, one_copy; /* us; NAN: not measured */
};

struct run {
    struct options options;
    struct device *device;
    int me, n_pes;
    struct result *results;
    size_t n_results;
    FILE *csv;
    bool right;
};

/* Measures transfers to and from the own GPU. */
void measure_own(struct run *run, struct graph *graph);

/* Memory on the other PE into which images are put. */
struct peer {
    void *heap, *mapped; /* symmetric; NULL: none */
    void *object;        /* what is mapped */
    size_t heap_size, mapped_size;
};
/* Collective. */
void peer_open(struct peer *peer, const struct run *run, size_t capacity);
void peer_close(struct peer *peer, const struct run *run);
void measure_peer(struct run *run, struct graph *graph, const struct peer *peer);

/* ---- Report ---- */

void report_title(struct run *run);
void report_add(struct run *run, const struct result *result);
void report_goals(const struct run *run);

#endif
