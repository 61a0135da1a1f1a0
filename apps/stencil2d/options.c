/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line. It is read before shmem_init; an error is kept as text, so that one PE alone reports it.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"
#include "stencil2d.h"

#define MAX_HALO_WIDTH 1024
#define MAX_GPUS_PER_PE 64

/* Options without a short form. */
enum {
    OPT_SIZE = 256,
    OPT_ITERATIONS,
    OPT_WARMUP,
    OPT_GRID,
    OPT_FIELD,
    OPT_SEED,
    OPT_WEIGHTS,
    OPT_HALO_VALUE,
    OPT_SYNC,
    OPT_VERIFY,
    OPT_TOLERANCE,
    OPT_INJECT_ERROR,
    OPT_VARIANT,
    OPT_HALO_WIDTH,
    OPT_GPUS_PER_PE,
    OPT_NAIVE,
    OPT_BOTH,
    OPT_PICTURE,
    OPT_CSV,
    OPT_DEVICE,
    OPT_VERSION,
};

static const struct option long_options[] = {
    {"size", required_argument, NULL, OPT_SIZE},
    {"iterations", required_argument, NULL, OPT_ITERATIONS},
    {"warmup", required_argument, NULL, OPT_WARMUP},
    {"grid", required_argument, NULL, OPT_GRID},
    {"field", required_argument, NULL, OPT_FIELD},
    {"seed", required_argument, NULL, OPT_SEED},
    {"weights", required_argument, NULL, OPT_WEIGHTS},
    {"halo-value", required_argument, NULL, OPT_HALO_VALUE},
    {"sync", required_argument, NULL, OPT_SYNC},
    {"verify", no_argument, NULL, OPT_VERIFY},
    {"tolerance", required_argument, NULL, OPT_TOLERANCE},
    {"inject-error", no_argument, NULL, OPT_INJECT_ERROR},
    {"variant", required_argument, NULL, OPT_VARIANT},
    {"halo-width", required_argument, NULL, OPT_HALO_WIDTH},
    {"gpus-per-pe", required_argument, NULL, OPT_GPUS_PER_PE},
    {"naive", no_argument, NULL, OPT_NAIVE},
    {"both", no_argument, NULL, OPT_BOTH},
    {"picture", required_argument, NULL, OPT_PICTURE},
    {"csv", no_argument, NULL, OPT_CSV},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* The defaults of the problem are those of SHOC, but for the weights: their sum is 1, so that values stay between the
 * least and the greatest that there are, however long it runs. --inject-error is for testing the check and not listed. */
static const char help_text[] =
    "Usage: stencil2d [options]\n"
    "9-point stencil on a matrix that is spread over the GPUs of all PEs.\n"
    "\n"
    "  -d cuda|opencl|auto   programming interface (auto: CUDA if every PE has a device)\n"
    "      --device I        use device I on every PE (one is chosen near each PE)\n"
    "      --gpus-per-pe G   cut each PE's part into G tiles, on devices from I on (1)\n"
    "      --size RxC        rows and columns of the matrix (1024x1024)\n"
    "  -s RxC                rows and columns per PE instead\n"
    "      --grid PxQ        PEs along rows and columns (near square)\n"
    "      --halo-width W    iterations per exchange (1)\n"
    "      --iterations N    (1000)\n"
    "      --warmup N        iterations before the clock starts (10)\n"
    "  -p sp|dp|both         precision (sp)\n"
    "      --weights C,N,D   of the cell, its four direct and its four diagonal neighbours (0.2,0.15,0.05)\n"
    "      --halo-value X    of the fixed border around the matrix (0)\n"
    "      --field noise|plate\n"
    "                        the initial matrix: noise, in which any wrong cell shows, or a plate with hot and cold\n"
    "                        shapes, 0 to 100 degrees (noise; with --picture the plate)\n"
    "      --seed N          of the noise (71594)\n"
    "      --variant mapped|overlapped|kernel|strided|graph|naive|auto|all\n"
    "                        mapped: exchange between mapped GPU buffers, then compute; overlapped: both at the\n"
    "                        same time; kernel: kernels exchange by themselves (CUDA, one node); strided: as\n"
    "                        mapped, columns by strided puts instead of packing; graph: as mapped, 100 iterations\n"
    "                        as one CUDA graph; naive: through host memory by hand; auto: what is fastest here,\n"
    "                        tried at the start; all: the first three that are possible, and naive (mapped)\n"
    "      --naive, --both   the same as --variant naive; mapped and naive\n"
    "      --sync signal|barrier|queue\n"
    "                        order the mapped exchange by the host's signals, by barriers or in the device's queue;\n"
    "                        signal, queue: the overlapped one, too (what suits the device)\n"
    "      --verify          compare with a serial run on the CPU; status 1 if a cell differs\n"
    "      --tolerance X     relative error that passes the check (0: bit for bit)\n"
    "      --picture FILE    draw the matrix after the run, as PNG; of several runs the last\n"
    "      --csv             print comma-separated values\n"
    "      --version         print the version\n"
    "  -h, --help            print this text\n";

void options_help(void)
{
    fputs(help_text, stdout);
}

static bool parse_long(const char *text, long min, long max, long *value)
{
    char *end;

    errno = 0;
    *value = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *value >= min && *value <= max;
}

static bool parse_int(const char *text, int min, int max, int *value)
{
    long n;

    if (!parse_long(text, min, max, &n))
        return false;
    *value = (int)n;
    return true;
}

static bool parse_seed(const char *text, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && text[0] != '-';
}

static bool parse_field(const char *text, struct options *opt)
{
    opt->plate = strcmp(text, "plate") == 0;
    opt->field_given = true;
    return opt->plate || strcmp(text, "noise") == 0;
}

static bool parse_real(const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

/* "RxC" or, for a square, "N". */
static bool parse_pair(const char *text, long pair[2])
{
    char first[32];
    const char *x = strchr(text, 'x');
    size_t n = x ? (size_t)(x - text) : strlen(text);

    if (n >= sizeof(first))
        return false;
    memcpy(first, text, n);
    first[n] = '\0';
    return parse_long(first, 1, INT_MAX, &pair[0]) && parse_long(x ? x + 1 : first, 1, INT_MAX, &pair[1]);
}

static bool parse_size(const char *text, bool per_pe, struct options *opt)
{
    long pair[2];

    if (!parse_pair(text, pair))
        return false;
    opt->rows = pair[0];
    opt->cols = pair[1];
    opt->per_pe = per_pe;
    return true;
}

static bool parse_grid(const char *text, struct options *opt)
{
    long pair[2];

    if (!strchr(text, 'x') || !parse_pair(text, pair))
        return false;
    opt->grid_rows = (int)pair[0];
    opt->grid_cols = (int)pair[1];
    return true;
}

static bool parse_weights(const char *text, double weights[3])
{
    char rest;

    return sscanf(text, "%lf,%lf,%lf%c", &weights[0], &weights[1], &weights[2], &rest) == 3 && isfinite(weights[0]) &&
           isfinite(weights[1]) && isfinite(weights[2]);
}

static bool parse_device(const char *text, struct options *opt)
{
    opt->device = text;
    return strcmp(text, "auto") == 0 || strcmp(text, "cuda") == 0 || strcmp(text, "opencl") == 0;
}

static bool parse_precision(const char *text, struct options *opt)
{
    opt->single = strcmp(text, "sp") == 0;
    opt->both_precisions = strcmp(text, "both") == 0;
    return opt->single || opt->both_precisions || strcmp(text, "dp") == 0;
}

static bool parse_sync(const char *text, struct options *opt)
{
    static const char *const names[] = {[BY_SIGNALS] = "signal", [BY_BARRIERS] = "barrier", [IN_QUEUE] = "queue"};

    for (size_t i = BY_SIGNALS; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(text, names[i]) == 0) {
            opt->sync = (enum sync)i;
            return true;
        }
    return false;
}

static bool parse_variant(const char *text, struct options *opt)
{
    static const char *const names[] = {
        [MAPPED] = "mapped", [OVERLAPPED] = "overlapped", [KERNEL] = "kernel", [STRIDED] = "strided",
        [GRAPH] = "graph",   [NAIVE] = "naive",           [AUTO] = "auto",
    };
    bool all = strcmp(text, "all") == 0;
    bool known = all;

    for (int v = 0; v < VARIANTS; v++) {
        bool is_meant = (all && v != STRIDED && v != GRAPH && v != AUTO) || strcmp(text, names[v]) == 0;

        opt->variant[v] = opt->variant[v] || is_meant;
        known = known || is_meant;
    }
    opt->all = opt->all || all;
    return known;
}

static bool set_flag(bool *flag)
{
    *flag = true;
    return true;
}

/* Returns false if the value makes no sense. */
static bool take(int code, const char *value, struct options *opt)
{
    switch (code) {
    case 'd':
        return parse_device(value, opt);
    case 's':
        return parse_size(value, true, opt);
    case 'p':
        return parse_precision(value, opt);
    case 'h':
        return set_flag(&opt->help);
    case OPT_SIZE:
        return parse_size(value, false, opt);
    case OPT_ITERATIONS:
        return parse_long(value, 1, LONG_MAX, &opt->iterations);
    case OPT_WARMUP:
        return parse_long(value, 0, LONG_MAX, &opt->warmup);
    case OPT_GRID:
        return parse_grid(value, opt);
    case OPT_FIELD:
        return parse_field(value, opt);
    case OPT_SEED:
        return parse_seed(value, &opt->seed);
    case OPT_WEIGHTS:
        return parse_weights(value, opt->weights);
    case OPT_HALO_VALUE:
        return parse_real(value, &opt->halo_value);
    case OPT_SYNC:
        return parse_sync(value, opt);
    case OPT_VERIFY:
        return set_flag(&opt->verify);
    case OPT_TOLERANCE:
        return parse_real(value, &opt->tolerance) && opt->tolerance >= 0;
    case OPT_INJECT_ERROR:
        return set_flag(&opt->inject_error);
    case OPT_NAIVE:
        return parse_variant("naive", opt);
    case OPT_BOTH:
        return parse_variant("mapped", opt) && parse_variant("naive", opt);
    case OPT_VARIANT:
        return parse_variant(value, opt);
    case OPT_HALO_WIDTH:
        return parse_int(value, 1, MAX_HALO_WIDTH, &opt->halo_width);
    case OPT_GPUS_PER_PE:
        return parse_int(value, 1, MAX_GPUS_PER_PE, &opt->gpus_per_pe);
    case OPT_PICTURE:
        opt->picture = value;
        return *value != '\0';
    case OPT_CSV:
        return set_flag(&opt->csv);
    case OPT_VERSION:
        return set_flag(&opt->version);
    case OPT_DEVICE:
        return parse_int(value, 0, INT_MAX, &opt->device_index);
    default:
        return false;
    }
}

static void set_defaults(struct options *opt)
{
    *opt = (struct options){
        .device = "auto",
        .device_index = -1,
        .rows = 1024,
        .cols = 1024,
        .gpus_per_pe = 1,
        .halo_width = 1,
        .iterations = 1000,
        .warmup = 10,
        .seed = 71594,
        .single = true,
        .weights = {0.2, 0.15, 0.05},
    };
}

static bool any_variant(const struct options *opt)
{
    for (int v = 0; v < VARIANTS; v++)
        if (opt->variant[v])
            return true;
    return false;
}

void options_parse(int argc, char **argv, struct options *opt)
{
    int code;
    int index = -1;

    set_defaults(opt);
    opterr = 0;
    while ((code = getopt_long(argc, argv, ":d:s:p:h", long_options, &index)) != -1) {
        const char *shown = argv[optind - 1];
        const char short_name[2] = {(char)code, '\0'};

        if (code == '?')
            snprintf(opt->error, sizeof(opt->error), "unknown option %s", shown);
        else if (code == ':')
            snprintf(opt->error, sizeof(opt->error), "option %s needs a value", shown);
        else if (!take(code, optarg, opt))
            snprintf(opt->error, sizeof(opt->error), "'%s' is no value for -%s%s", optarg, index < 0 ? "" : "-",
                     index < 0 ? short_name : long_options[index].name);
        else {
            index = -1;
            continue;
        }
        return;
    }
    if (!any_variant(opt))
        opt->variant[MAPPED] = true;
    opt->plate = opt->plate || (opt->picture && !opt->field_given);
    if (optind < argc)
        snprintf(opt->error, sizeof(opt->error), "unexpected argument %s", argv[optind]);
    else if (opt->inject_error && !opt->verify)
        snprintf(opt->error, sizeof(opt->error), "--inject-error needs --verify");
    else if (opt->picture && picture_refusal)
        snprintf(opt->error, sizeof(opt->error), "--picture: %s", picture_refusal);
}
