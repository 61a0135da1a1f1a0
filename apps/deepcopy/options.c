/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line.
 */
#include "deepcopy.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_CSV = 256,
    OPTION_SCALE,
    OPTION_NODES,
    OPTION_OWN,
    OPTION_PEER,
    OPTION_ASYNCHRONOUS,
    OPTION_GOALS,
    OPTION_VERSION,
    OPTION_SECONDS
};

static const char help_text[] =
    "usage: deepcopy [option...]\n"
    "Deep copies to this PE's GPU and back by each technique, beside the same transfers by hand; with two PEs also "
    "to\n"
    "the other PE's heap and mapped GPU memory and back. PE 0 measures; medians.\n"
    "  -d cuda|opencl    memory (cuda)\n"
    "  -s SHAPE,...      list, splitlist, tree, umt (all)\n"
    "  -m SIZE,...       bytes of a node (128,1K,1M); umt has its own\n"
    "  -t TECHNIQUE,...  base, base+, tcpy, pcpy, image (all)\n"
    "  --nodes N         1024; of umt 2000\n"
    "  --scale F         of umt's arrays (1: about 2.2 GB)\n"
    "  -i N              repetitions, at most (11)\n"
    "  --seconds S       for a line, after three repetitions, or two if they are long (1)\n"
    "  --own, --peer     only to this PE's GPU; only to the other PE\n"
    "  --asynchronous    techniques but image wait at the end of a call only\n"
    "  --goals           say which goals are reached\n"
    "  --csv FILE        all figures, behind what the file has\n"
    "  --version         print the version\n"
    "  -h, --help        print this text\n"
    "Columns: first: the first call; us: the others' median. by hand: the technique's allocations and transfers "
    "alone;\n"
    "for image, put_deep and get_deep a loop that packs or unpacks, and one transfer. one copy: of as many bytes from "
    "or\n"
    "to page-locked memory; to the other PE, one put or get. % compares bandwidths with ours.\n";

void options_help(void)
{
    fputs(help_text, stdout);
}

static bool read_size(const char *text, size_t *size_p)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    const char *units = "KMG", *unit = *end ? strchr(units, *end) : NULL;
    if (unit)
        end++;
    *size_p = (size_t)value << (unit ? 10 * (unit - units + 1) : 0);
    return end != text && *end == '\0' && *size_p >= 32 && *size_p % 16 == 0;
}

static bool add_shape(struct options *options, const char *word)
{
    for (size_t i = 0; graph_shapes[i]; i++) {
        if (strcmp(graph_shapes[i], word) || options->n_shapes == DEEPCOPY_SHAPES_MAX)
            continue;
        options->shapes[options->n_shapes++] = graph_shapes[i];
        return true;
    }
    return false;
}

static bool add_node_size(struct options *options, const char *word)
{
    return options->n_sizes < DEEPCOPY_SIZES_MAX && read_size(word, &options->sizes[options->n_sizes++]);
}

static bool add_technique(struct options *options, const char *word)
{
    for (size_t i = 0; i < DEEPCOPY_TECHNIQUES; i++) {
        if (!strcmp(techniques[i].name, word))
            return options->techniques[i] = true;
    }
    return false;
}

static bool read_list(struct options *options, char *text, bool (*add)(struct options *, const char *))
{
    char *rest = NULL;
    bool good = false;
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        good = add(options, word);
        if (!good)
            break;
    }
    return good;
}

static bool read_number(const char *text, double least, double *value_p)
{
    char *end;
    *value_p = strtod(text, &end);
    return end != text && *end == '\0' && *value_p >= least && *value_p <= 1e9;
}

static bool take(struct options *options, int option)
{
    double number = 0;
    switch (option) {
    case 'd':
        options->device = optarg;
        return !strcmp(optarg, "cuda") || !strcmp(optarg, "opencl");
    case 's':
        return read_list(options, optarg, add_shape);
    case 'm':
        return read_list(options, optarg, add_node_size);
    case 't':
        return read_list(options, optarg, add_technique);
    case 'i':
        if (!read_number(optarg, 1, &number) || number > REPETITIONS_MAX)
            return false;
        options->repetitions = (long)number;
        return true;
    case OPTION_NODES:
        if (!read_number(optarg, 1, &number))
            return false;
        options->nodes = (size_t)number;
        return true;
    case OPTION_SCALE:
        return read_number(optarg, 1e-6, &options->scale);
    case OPTION_SECONDS:
        return read_number(optarg, 0, &options->seconds);
    case OPTION_CSV:
        options->csv = optarg;
        return true;
    case OPTION_OWN:
        options->peer = false;
        return true;
    case OPTION_PEER:
        options->own = false;
        return true;
    case OPTION_ASYNCHRONOUS:
        return options->asynchronous = true;
    case OPTION_GOALS:
        return options->has_goals = true;
    case OPTION_VERSION:
        return options->version = true;
    case 'h':
        return options->help = true;
    default:
        return false;
    }
}

static void set_defaults(struct options *options)
{
    static char sizes[] = "128,1K,1M", shapes[] = "list,splitlist,tree,umt", all[] = "base,base+,tcpy,pcpy,image";
    bool any = false;
    for (size_t i = 0; i < DEEPCOPY_TECHNIQUES; i++)
        any |= options->techniques[i];
    if (!options->n_sizes)
        read_list(options, sizes, add_node_size);
    if (!options->n_shapes)
        read_list(options, shapes, add_shape);
    if (!any)
        read_list(options, all, add_technique);
}

int options_read(struct options *options, int argc, char **argv)
{
    static const struct option longs[] = {{"csv", required_argument, NULL, OPTION_CSV},
                                          {"scale", required_argument, NULL, OPTION_SCALE},
                                          {"nodes", required_argument, NULL, OPTION_NODES},
                                          {"seconds", required_argument, NULL, OPTION_SECONDS},
                                          {"own", no_argument, NULL, OPTION_OWN},
                                          {"peer", no_argument, NULL, OPTION_PEER},
                                          {"asynchronous", no_argument, NULL, OPTION_ASYNCHRONOUS},
                                          {"goals", no_argument, NULL, OPTION_GOALS},
                                          {"version", no_argument, NULL, OPTION_VERSION},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int option;
    *options =
        (struct options){.device = "cuda", .scale = 1, .repetitions = 11, .seconds = 1, .own = true, .peer = true};
    while ((option = getopt_long(argc, argv, "d:s:m:t:i:h", longs, NULL)) != -1) {
        if (take(options, option))
            continue;
        if (option != '?')
            fprintf(stderr, "deepcopy: %s: bad value %s\n", argv[optind - 1], optarg);
        return -1;
    }
    if (optind < argc || !(options->own || options->peer)) {
        fprintf(stderr, "deepcopy: %s\n", optind < argc ? argv[optind] : "--own and --peer exclude each other");
        return -1;
    }
    set_defaults(options);
    return 0;
}
