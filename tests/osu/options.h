/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Command line of the benchmarks: that of the OSU micro-benchmarks, and two comparisons of our own.
 */
#ifndef OSU_OPTIONS_H
#define OSU_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* What the two letters of the command line stand for. Each names the memory of one buffer: H or P (host) or D (device). */
enum osu_placement {
    OSU_ANY_MEMORY,        /* the sides of PE 0 and PE 1                                                    */
    OSU_SYMMETRIC_MEMORY,  /* the same where PE 0's buffer has to be symmetric, too                         */
    OSU_PRIVATE_OBJECTS,   /* the same where PE 0 has objects in private memory: H                          */
    OSU_COLLECTIVE_MEMORY, /* source and destination; without a word both are on the symmetric heap         */
    OSU_ATOMIC_MEMORY,     /* where the origins fetch to (H: what the routine returns), the targets' words  */
    OSU_NO_MEMORY,         /* there are no buffers                                                          */
};

/* An option --name NUMBER of one program. */
struct osu_number_option {
    const char *name, *help;
    size_t least, most, usual;
};

enum { OSU_MOST_NUMBERS = 4 };

/* What one program is and the defaults that it gives to the options. */
struct osu_program {
    const char *name;                        /* osu_oshm_put                                         */
    const char *title;                       /* of the header line                                   */
    const char *summary;                     /* what is measured, for -h                             */
    unsigned columns;                        /* OSU_SHOW_... that are always shown                   */
    unsigned full_columns;                   /* OSU_SHOW_... that -f adds                            */
    unsigned raw_columns;                    /* OSU_SHOW_... that --raw adds; 0: does not take it    */
    unsigned naive_columns;                  /* the same for --naive                                 */
    bool two_pes;                            /* runs with exactly two PEs; otherwise two or more     */
    bool collective;                         /* takes --active-set                                   */
    bool typed;                              /* takes -t                                             */
    bool selects;                            /* takes -o                                             */
    bool streams;                            /* takes --on-stream                                    */
    const struct osu_number_option *numbers; /* the last has no name; NULL: none    */
    const char *counted;                     /* title of the first column, as "# Rows"; NULL: bytes   */
    enum osu_placement placement;
    size_t min_size;   /* smallest message, bytes; 0 stands for 1              */
    size_t max_size;   /* largest message; 0: there are no messages, nor -m    */
    size_t large_from; /* messages from this size on use the _large counts     */
    long iterations;   /* measured operations                                  */
    long iterations_large;
    long warmup; /* operations before the measurement                    */
    long warmup_large;
};

struct osu_options {
    size_t min_size, max_size;
    long iterations, iterations_large;
    long warmup, warmup_large;
    bool use_global; /* host buffers are static data, else on the symmetric heap */
    bool full, validate, raw, naive;
    bool prepare;                    /* PE 0's private memory                                    */
    bool on_stream;                  /* operations enqueued in a stream or queue                 */
    size_t number[OSU_MOST_NUMBERS]; /* in the program's order                       */
    bool active_set;                 /* collectives by active sets, else by teams  */
    bool nbi;                        /* atomics that fetch: the nonblocking ones   */
    const char *type;                /* of the elements: "int", "long", "float", "double" */
    const char *operation;           /* the only one to be measured, or NULL: all */
    const char *device;              /* "cuda", "opencl", or NULL: none is needed */
    char side[2];                    /* 'H', 'D' or 'P'; see enum osu_placement   */
};

enum osu_parse { OSU_RUN, OSU_HELP, OSU_VERSION, OSU_BAD };

/* Reads argv into *options. On OSU_BAD, message holds one line that says what is wrong. */
enum osu_parse osu_options_parse(struct osu_options *options, const struct osu_program *program, int argc, char **argv,
                                 char *message, size_t message_size);

void osu_options_help(const struct osu_program *program);

/* Whether the program prints a line for each of several message sizes. */
bool osu_has_sizes(const struct osu_program *program);

/* How many operations are measured, and how many come before them, for messages of one size. */
long osu_iterations(const struct osu_options *options, const struct osu_program *program, size_t size);
long osu_warmup(const struct osu_options *options, const struct osu_program *program, size_t size);

#endif
