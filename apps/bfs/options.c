/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line. It is read before shmem_init; an error is kept as text, so that one PE alone reports it.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bfs.h"

#define MAX_SCALE 31 /* see MAX_VERTICES */
#define MAX_EDGE_FACTOR 4096
#define MAX_ROOTS 4096
#define MAX_THREADS 256
#define RULES 5

#define FIRST_CODE 256 /* getopt's code of the first line of the table */

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static bool to_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && text[0] >= '0' && text[0] <= '9' && *end == '\0' && *number >= min && *number <= max;
}

static bool to_int(const char *text, int min, int max, int *number)
{
    uint64_t wide = 0;
    bool good = to_number(text, (uint64_t)min, (uint64_t)max, &wide);

    *number = (int)wide;
    return good;
}

static bool to_positive_real(const char *text, double *number)
{
    char *end;

    *number = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*number) && *number > 0;
}

/* ---- What each option sets: false if the value makes no sense ---------------------------------------------------- */

#define INT_OPTION(function, field, min, max)                                                                          \
    static bool function(const char *value, struct options *opt)                                                       \
    {                                                                                                                  \
        return to_int(value, min, max, &opt->field);                                                                   \
    }
#define FLAG_OPTION(function, field)                                                                                   \
    static bool function(const char *value, struct options *opt)                                                       \
    {                                                                                                                  \
        (void)value;                                                                                                   \
        return opt->field = true;                                                                                      \
    }
#define REAL_OPTION(function, field)                                                                                   \
    static bool function(const char *value, struct options *opt)                                                       \
    {                                                                                                                  \
        return to_positive_real(value, &opt->field);                                                                   \
    }

INT_OPTION(take_device_index, device_index, 0, INT_MAX)
INT_OPTION(take_edge_factor, edge_factor, 1, MAX_EDGE_FACTOR)
INT_OPTION(take_roots, n_roots, 1, MAX_ROOTS)
INT_OPTION(take_threads, threads, 1, MAX_THREADS)
INT_OPTION(take_inject_error, inject_error, 1, RULES)
FLAG_OPTION(take_direction, direction_optimising)
FLAG_OPTION(take_verify, verify)
FLAG_OPTION(take_csv, csv)
FLAG_OPTION(take_memory, memory)
FLAG_OPTION(take_searches, searches)
FLAG_OPTION(take_help, help)
FLAG_OPTION(take_version, version)
REAL_OPTION(take_alpha, alpha)
REAL_OPTION(take_beta, beta)

static bool take_device(const char *value, struct options *opt)
{
    static const char *const devices[] = {"auto", "cuda", "opencl", NULL};

    opt->device = value;
    return is_one_of(value, devices);
}

static bool take_scale(const char *value, struct options *opt)
{
    opt->n_sources++;
    return to_int(value, 1, MAX_SCALE, &opt->scale);
}

static bool take_file(const char *value, struct options *opt)
{
    opt->n_sources++;
    opt->file = value;
    return value[0] != '\0';
}

static bool take_root(const char *value, struct options *opt)
{
    opt->one_root = true;
    return to_number(value, 0, UINT64_MAX, &opt->root);
}

static bool take_seed(const char *value, struct options *opt)
{
    return to_number(value, 0, UINT64_MAX, &opt->seed);
}

static bool take_variant(const char *value, struct options *opt)
{
    const bool is_all = strcmp(value, "all") == 0;
    bool is_known = is_all;

    opt->all = is_all;
    for (int kind = 0; kind < N_EXCHANGES; kind++) {
        opt->exchanges[kind] = (is_all && kind != GRID) || strcmp(value, exchange_name((enum exchange_kind)kind)) == 0;
        is_known = is_known || opt->exchanges[kind];
    }
    return is_known;
}

static bool take_naive(const char *value, struct options *opt)
{
    (void)value;
    return take_variant("naive", opt);
}

static bool take_both(const char *value, struct options *opt)
{
    (void)value;
    return take_variant("mapped", opt) && (opt->exchanges[NAIVE] = true);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static const struct line {
    char letter;
    const char *name;
    const char *value; /* what the help text calls it; NULL: the option takes none */
    bool (*take)(const char *value, struct options *opt);
    const char *help; /* NULL: not listed */
} lines[] = {
    {'d', "device-type", "TYPE", take_device, "cuda, opencl, or auto: CUDA if every PE has a device (auto)"},
    {0, "device", "I", take_device_index, "use device I on every PE (one is chosen near each PE)"},
    {0, "scale", "S", take_scale, "Kronecker graph of 2^S vertices (12)"},
    {0, "edgefactor", "E", take_edge_factor, "with E edges for each vertex (16)"},
    {0, "file", "FILE", take_file, "graph from a file: a line for each edge, with the numbers of two vertices"},
    {0, "roots", "N", take_roots, "searches, from vertices that are drawn (64)"},
    {0, "root", "V", take_root, "one search, from vertex V"},
    {0, "seed", "N", take_seed, "of the graph and the roots (1)"},
    {0, "variant", "V", take_variant,
     "mapped, atomic, kernel (CUDA, one node), naive (by hand), all of these that can be, or grid (mapped)"},
    {0, "naive", NULL, take_naive, "--variant naive"},
    {0, "both", NULL, take_both, "mapped, then naive"},
    {0, "direction-optimising", NULL, take_direction, "search bottom-up where that is less work"},
    {0, "alpha", "X", take_alpha, "bottom-up when the frontier has 1/X of the unexplored edges (14)"},
    {0, "beta", "X", take_beta, "top-down again when it has 1/X of the vertices (24)"},
    {0, "verify", NULL, take_verify, "check each search by the rules of Graph500; status 1 if one is broken"},
    {0, "threads", "N", take_threads, "that build and check on each PE (the cores that it may use)"},
    {0, "memory", NULL, take_memory, "say what the search needs, and stop"},
    {0, "searches", NULL, take_searches, "print a line for each search as well"},
    {0, "csv", NULL, take_csv, "print comma-separated values"},
    {0, "inject-error", "RULE", take_inject_error, NULL},
    {0, "version", NULL, take_version, "print the version"},
    {'h', "help", NULL, take_help, "print this text"},
};

#define N_LINES (sizeof(lines) / sizeof(lines[0]))

void options_help(void)
{
    puts("Usage: bfs [options]\n"
         "Breadth-first search of a graph that is spread over the GPUs of all PEs.\n");
    for (size_t i = 0; i < N_LINES; i++) {
        const struct line *line = &lines[i];
        const char short_name[] = {'-', line->letter, ',', '\0'};
        char name[40];

        if (!line->help)
            continue;
        snprintf(name, sizeof(name), "--%s %s", line->name, line->value ? line->value : "");
        printf("  %-3s %-23s %s\n", line->letter ? short_name : "", name, line->help);
    }
}

static const struct line *line_of(int code)
{
    for (size_t i = 0; i < N_LINES; i++)
        if (code == FIRST_CODE + (int)i || (lines[i].letter && code == lines[i].letter))
            return &lines[i];
    return NULL;
}

static void set_defaults(struct options *opt)
{
    *opt = (struct options){
        .device = "auto",
        .device_index = -1,
        .scale = 12,
        .edge_factor = 16,
        .seed = 1,
        .n_roots = 64,
        .exchanges = {[IS_WIDE ? GRID : MAPPED] = true},
        .alpha = 14,
        .beta = 24,
    };
}

/* What getopt takes, made from the table. */
static void list_for_getopt(struct option *longs, char *letters)
{
    *letters++ = ':';
    for (size_t i = 0; i < N_LINES; i++) {
        longs[i] =
            (struct option){lines[i].name, lines[i].value ? required_argument : no_argument, NULL, FIRST_CODE + (int)i};
        if (!lines[i].letter)
            continue;
        *letters++ = lines[i].letter;
        if (lines[i].value)
            *letters++ = ':';
    }
    *letters = '\0';
    longs[N_LINES] = (struct option){NULL, 0, NULL, 0};
}

/* Returns false, with the cause in opt->error, after an error. */
static bool take_next(int code, const char *shown, struct options *opt)
{
    const struct line *line = line_of(code);

    if (code == ':')
        snprintf(opt->error, sizeof(opt->error), "option %s needs a value", shown);
    else if (!line)
        snprintf(opt->error, sizeof(opt->error), "unknown option %s", shown);
    else if (!line->take(optarg, opt))
        snprintf(opt->error, sizeof(opt->error), "'%s' is no value for --%s", optarg, line->name);
    return opt->error[0] == '\0';
}

void options_parse(int argc, char **argv, struct options *opt)
{
    struct option longs[N_LINES + 1];
    char letters[2 * N_LINES + 2];
    int code;

    set_defaults(opt);
    list_for_getopt(longs, letters);
    opterr = 0;
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1)
        if (!take_next(code, argv[optind - 1], opt))
            return;
    if (optind < argc)
        snprintf(opt->error, sizeof(opt->error), "unexpected argument %s", argv[optind]);
    else if (opt->n_sources > 1)
        snprintf(opt->error, sizeof(opt->error), "one of --scale and --file, not both");
    else if (opt->inject_error && !opt->verify)
        snprintf(opt->error, sizeof(opt->error), "--inject-error needs --verify");
}
