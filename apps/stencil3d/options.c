/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line. It is read before shmem_init; an error is kept as text, so that one PE alone reports it.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stencil3d.h"

enum { MOST_CELLS = 1 << 20, OPT_SIZE = 256, OPT_GRID, OPT_ITERATIONS, OPT_FACES, OPT_VERIFY, OPT_VERSION };

static const struct option long_options[] = {
    {"size", required_argument, NULL, OPT_SIZE},
    {"grid", required_argument, NULL, OPT_GRID},
    {"faces", required_argument, NULL, OPT_FACES},
    {"iterations", required_argument, NULL, OPT_ITERATIONS},
    {"verify", no_argument, NULL, OPT_VERIFY},
    {"version", no_argument, NULL, OPT_VERSION},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char help_text[] =
    "Usage: stencil3d [options]\n"
    "Diffusion on a grid of three dimensions that is spread over the GPUs of all PEs.\n"
    "\n"
    "  -d cuda|opencl|auto   programming interface (auto: CUDA if every PE has a device)\n"
    "      --size XxYxZ      cells of the grid (64x64x64); the PEs along an axis divide its cells\n"
    "      --grid PxQxR      PEs along x, y and z (near a cube)\n"
    "      --iterations N    (100)\n"
    "      --faces box|layers|hand\n"
    "                        put each face as one box; by one strided put for each layer; or through host memory,\n"
    "                        by copies, put and barrier (box)\n"
    "      --verify          compare with a serial run on the CPU, bit for bit; status 1 if a cell differs\n"
    "      --version         print the version\n"
    "  -h, --help            print this text\n";

void options_help(void)
{
    fputs(help_text, stdout);
}

static bool parse_triple(const char *text, int triple[AXES])
{
    char rest;
    if (sscanf(text, "%dx%dx%d%c", &triple[X], &triple[Y], &triple[Z], &rest) != AXES)
        return false;
    for (int axis = X; axis < AXES; axis++)
        if (triple[axis] < 1 || triple[axis] > MOST_CELLS)
            return false;
    return true;
}

static bool parse_faces(const char *text, enum manner *manner)
{
    static const char *const names[] = {[AS_BOXES] = "box", [BY_LAYERS] = "layers", [BY_HAND] = "hand"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(text, names[i])) {
            *manner = (enum manner)i;
            return true;
        }
    return false;
}

static bool parse_device(const char *text, struct options *opt)
{
    opt->device = text;
    return !strcmp(text, "auto") || !strcmp(text, "cuda") || !strcmp(text, "opencl");
}

/* Returns false if the value makes no sense. */
static bool take(int code, const char *value, struct options *opt)
{
    char *end;
    switch (code) {
    case 'd':
        return parse_device(value, opt);
    case OPT_SIZE:
        return parse_triple(value, opt->size);
    case OPT_GRID:
        return parse_triple(value, opt->grid);
    case OPT_FACES:
        return parse_faces(value, &opt->manner);
    case OPT_ITERATIONS:
        opt->iterations = strtol(value, &end, 10);
        return !*end && end != value && opt->iterations > 0;
    case OPT_VERIFY:
        return opt->verify = true;
    case OPT_VERSION:
        return opt->version = true;
    default:
        return opt->help = true;
    }
}

void options_parse(int argc, char **argv, struct options *opt)
{
    int code;
    *opt = (struct options){.device = "auto", .size = {64, 64, 64}, .iterations = 100};
    opterr = 0;
    while ((code = getopt_long(argc, argv, ":d:h", long_options, NULL)) != -1) {
        const char *shown = argv[optind - 1];
        if (code == '?')
            snprintf(opt->error, sizeof opt->error, "unknown option %.60s", shown);
        else if (code == ':')
            snprintf(opt->error, sizeof opt->error, "option %.60s needs a value", shown);
        else if (!take(code, optarg, opt))
            snprintf(opt->error, sizeof opt->error, "'%.60s' makes no sense", optarg);
        if (opt->error[0])
            return;
    }
    if (optind < argc)
        snprintf(opt->error, sizeof opt->error, "unexpected argument %.60s", argv[optind]);
}
