/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Command line of the benchmarks. Nothing here prints an error: the caller does, once for all PEs.
 */
#include "options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_RAW = 256, OPTION_NAIVE, OPTION_PREPARE, OPTION_ACTIVE_SET };

static const char short_options[] = ":d:m:i:x:t:o:fchv";

static const struct option long_options[] = {
    {"accelerator", required_argument, NULL, 'd'}, {"message-size", required_argument, NULL, 'm'},
    {"iterations", required_argument, NULL, 'i'},  {"warmup", required_argument, NULL, 'x'},
    {"full", no_argument, NULL, 'f'},              {"validation", no_argument, NULL, 'c'},
    {"raw", no_argument, NULL, OPTION_RAW},        {"naive", no_argument, NULL, OPTION_NAIVE},
    {"prepare", no_argument, NULL, OPTION_PREPARE},
    {"type", required_argument, NULL, 't'},        {"active-set", no_argument, NULL, OPTION_ACTIVE_SET},
    {"operation", required_argument, NULL, 'o'},   {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},           {NULL, 0, NULL, 0},
};

/* State of one parse: where results and the complaint go, and what the positional words said. */
struct parser {
    struct osu_options *options;
    const struct osu_program *program;
    char *message;
    size_t message_size;
    int n_sides;
    bool placed; /* heap or global was given */
};

static enum osu_parse bad(struct parser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));

static enum osu_parse bad(struct parser *parser, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(parser->message, parser->message_size, format, args);
    va_end(args);
    return OSU_BAD;
}

static enum osu_parse not_here(struct parser *parser, const char *option)
{
    return bad(parser, "%s is not an option of %s", option, parser->program->name);
}

/* A decimal number with an optional K, M or G, ended by a character of `ends`. Returns where it ends, or NULL. */
static const char *read_size(const char *text, const char *ends, size_t *size_p)
{
    static const char suffixes[] = "KMG";
    if (!isdigit((unsigned char)text[0]))
        return NULL;
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    int shift = suffix ? 10 * (int)(suffix - suffixes + 1) : 0;
    end += suffix != NULL;
    if (value > (SIZE_MAX / 4) >> shift || (*end && !strchr(ends, *end)))
        return NULL;
    *size_p = (size_t)value << shift;
    return end;
}

/* MAX, MIN: or MIN:MAX */
static enum osu_parse parse_sizes(struct parser *parser, const char *text)
{
    struct osu_options *options = parser->options;
    if (!osu_has_sizes(parser->program))
        return not_here(parser, "-m");
    size_t first, second = options->max_size;
    const char *end = read_size(text, ":", &first);
    if (end && *end == ':' && end[1])
        end = read_size(end + 1, "", &second);
    if (!end)
        return bad(parser, "-m %s: give MAX, MIN: or MIN:MAX in bytes (suffix K, M or G)", text);
    bool only_max = !strchr(text, ':');
    options->max_size = only_max ? first : second;
    options->min_size = only_max ? options->min_size : first;
    if (options->max_size == 0 || options->min_size > options->max_size)
        return bad(parser, "-m %s: the largest size must be at least 1 and not below the smallest", text);
    return OSU_RUN;
}

static enum osu_parse parse_count(struct parser *parser, const char *option, const char *text, long least,
                                  long *small_p, long *large_p)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < least || value > 1000000000)
        return bad(parser, "%s %s: give a number from %ld to 1000000000", option, text, least);
    *small_p = *large_p = value;
    return OSU_RUN;
}

static enum osu_parse parse_device(struct parser *parser, const char *text)
{
    if (parser->program->placement != OSU_ANY_MEMORY)
        return not_here(parser, "-d");
    if (strcmp(text, "cuda") && strcmp(text, "opencl"))
        return bad(parser, "-d %s: give cuda or opencl", text);
    parser->options->device = text;
    return OSU_RUN;
}

static enum osu_parse parse_type(struct parser *parser, const char *text)
{
    static const char *const types[] = {"int", "long", "float", "double"};
    if (!parser->program->typed)
        return not_here(parser, "-t");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (!strcmp(text, types[i])) {
            parser->options->type = types[i];
            return OSU_RUN;
        }
    }
    return bad(parser, "-t %s: give int, long, float or double", text);
}

/* An option that is a flag, and that only some programs have. */
static enum osu_parse parse_flag(struct parser *parser, const char *option, bool has_it, bool *flag_p)
{
    if (!has_it)
        return not_here(parser, option);
    *flag_p = true;
    return OSU_RUN;
}

static enum osu_parse parse_option(struct parser *parser, int option, const char *text, const char *word)
{
    struct osu_options *options = parser->options;
    switch (option) {
    case 'd':
        return parse_device(parser, text);
    case 'm':
        return parse_sizes(parser, text);
    case 'i':
        return parse_count(parser, "-i", text, 1, &options->iterations, &options->iterations_large);
    case 'x':
        return parse_count(parser, "-x", text, 0, &options->warmup, &options->warmup_large);
    case 't':
        return parse_type(parser, text);
    case 'o':
        options->operation = text;
        return parser->program->selects ? OSU_RUN : not_here(parser, "-o");
    case 'f':
        options->full = true;
        return OSU_RUN;
    case 'c':
        options->validate = true;
        return OSU_RUN;
    case OPTION_RAW:
        return parse_flag(parser, "--raw", parser->program->compares, &options->raw);
    case OPTION_NAIVE:
        return parse_flag(parser, "--naive", parser->program->compares, &options->naive);
    case OPTION_PREPARE:
        return parse_flag(parser, "--prepare", parser->program->compares, &options->prepare);
    case OPTION_ACTIVE_SET:
        return parse_flag(parser, "--active-set", parser->program->collective, &options->active_set);
    case 'h':
        return OSU_HELP;
    case 'v':
        return OSU_VERSION;
    case ':':
        return bad(parser, "%s needs a value", word);
    default:
        return bad(parser, "%s is not an option; -h lists them", word);
    }
}

static enum osu_parse parse_word(struct parser *parser, const char *word)
{
    struct osu_options *options = parser->options;
    if (parser->program->placement == OSU_HEAP_ONLY)
        return bad(parser, "unexpected argument %s: %s takes options only", word, parser->program->name);
    if (!strcmp(word, "heap") || !strcmp(word, "global")) {
        options->use_global = word[0] == 'g';
        parser->placed = true;
        return OSU_RUN;
    }
    if (parser->program->placement == OSU_HOST_MEMORY)
        return bad(parser, "unexpected argument %s: give heap or global", word);
    bool is_side = word[0] && strchr("HDP", word[0]) && word[1] == '\0';
    if (!is_side || parser->n_sides == 2)
        return bad(parser, "unexpected argument %s: give heap or global, or two of H, D and P", word);
    if (word[0] == 'P' && parser->n_sides == 1)
        return bad(parser, "P is for PE 0 only: PE 1's buffer has to be symmetric");
    options->side[parser->n_sides++] = word[0];
    return OSU_RUN;
}

static enum osu_parse check_together(struct parser *parser)
{
    struct osu_options *options = parser->options;
    if (parser->program->placement == OSU_HEAP_ONLY)
        return OSU_RUN;
    if (parser->program->placement == OSU_HOST_MEMORY && !parser->placed)
        return bad(parser, "say where the buffers are: heap or global");
    bool on_device = options->side[0] == 'D' || options->side[1] == 'D';
    if (parser->n_sides == 1)
        return bad(parser, "give two letters, one for PE 0 and one for PE 1: H H, H D, D H, D D or P D");
    if (parser->n_sides == 0 && options->device)
        return bad(parser, "-d %s needs two letters for the sides of PE 0 and PE 1, for example D D", options->device);
    if (parser->n_sides == 0 && !parser->placed)
        return bad(parser, "say where the buffers are: heap or global, or -d cuda|opencl with two of H and D");
    if (options->naive && !on_device)
        return bad(parser, "--naive compares transfers of GPU memory: give -d and at least one D");
    if (options->prepare && options->side[0] != 'P')
        return bad(parser, "--prepare is for PE 0's private memory: give P as its side");
    if (on_device && !options->device)
        options->device = "cuda";
    return OSU_RUN;
}

static void set_defaults(struct osu_options *options, const struct osu_program *program)
{
    *options = (struct osu_options){
        .min_size = program->min_size ? program->min_size : 1,
        .max_size = program->max_size,
        .iterations = program->iterations,
        .iterations_large = program->iterations_large,
        .warmup = program->warmup,
        .warmup_large = program->warmup_large,
        .type = "float",
        .side = {'H', 'H'},
    };
}

enum osu_parse osu_options_parse(struct osu_options *options, const struct osu_program *program, int argc, char **argv,
                                 char *message, size_t message_size)
{
    struct parser parser = {options, program, message, message_size, 0, false};
    enum osu_parse rc = OSU_RUN;
    int option;
    set_defaults(options, program);
    opterr = 0;
    while (rc == OSU_RUN && (option = getopt_long(argc, argv, short_options, long_options, NULL)) != -1)
        rc = parse_option(&parser, option, optarg, argv[optind - 1]);
    for (; rc == OSU_RUN && optind < argc; optind++)
        rc = parse_word(&parser, argv[optind]);
    return rc == OSU_RUN ? check_together(&parser) : rc;
}

static void usage(const struct osu_program *program)
{
    static const char *const words[] = {
        [OSU_ANY_MEMORY] = " heap|global", [OSU_HOST_MEMORY] = " heap|global", [OSU_HEAP_ONLY] = ""};
    printf("Usage: %s [options]%s\n", program->name, words[program->placement]);
    if (program->placement == OSU_ANY_MEMORY)
        printf("       %s [options] -d cuda|opencl [heap|global] PE0 PE1\n", program->name);
    printf("\n%s\n\n", program->summary);
    if (program->placement != OSU_HEAP_ONLY)
        printf("heap and global say where host buffers are: on the symmetric heap or in static data.\n");
    if (program->placement == OSU_ANY_MEMORY)
        printf("PE0 and PE1 are the sides of the transfer, H (host) or D (device). P, for PE0 only, is private host memory,\n"
               "which is pageable.\n\n"
               "  -d, --accelerator TYPE         device buffers are of TYPE cuda or opencl\n");
}

static void help_counts(const struct osu_program *program)
{
    if (!osu_has_sizes(program)) {
        printf("  -i, --iterations N             measured operations (%ld)\n"
               "  -x, --warmup N                 operations before the measurement (%ld)\n",
               program->iterations, program->warmup);
        return;
    }
    printf("  -m, --message-size [MIN:]MAX   sizes in bytes, doubling from MIN to MAX (%zu:%zu)\n"
           "  -i, --iterations N             measured operations per size (%ld; %ld from %zu bytes on)\n"
           "  -x, --warmup N                 operations before the measurement (%ld; %ld)\n",
           program->min_size ? program->min_size : 1, program->max_size, program->iterations,
           program->iterations_large, program->large_from, program->warmup, program->warmup_large);
}

void osu_options_help(const struct osu_program *program)
{
    usage(program);
    help_counts(program);
    printf("  -f, --full                     more columns\n"
           "  -c, --validation               check what arrived\n");
    if (program->selects)
        printf("  -o, --operation NAME           this operation only, by its name in the table\n");
    if (program->typed)
        printf("  -t, --type TYPE                elements are int, long, float (the default) or double\n");
    if (program->collective)
        printf("      --active-set               the routines with active sets, instead of those with teams\n");
    if (program->compares)
        printf("      --raw                      beside it the plain copy to the peer's memory: memcpy, CUDA driver\n"
               "      --prepare                  shmemx_prepare for PE 0's private memory\n"
               "      --naive                    beside it the way without shmmap: copy out, host transfer,\n"
               "                                 barrier, copy in\n");
    printf("  -h, --help                     this text\n"
           "  -v, --version                  the version\n");
}

bool osu_has_sizes(const struct osu_program *program)
{
    return program->max_size > 0;
}

long osu_iterations(const struct osu_options *options, const struct osu_program *program, size_t size)
{
    return size < program->large_from ? options->iterations : options->iterations_large;
}

long osu_warmup(const struct osu_options *options, const struct osu_program *program, size_t size)
{
    return size < program->large_from ? options->warmup : options->warmup_large;
}
