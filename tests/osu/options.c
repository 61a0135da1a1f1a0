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

enum { OPTION_RAW = 256, OPTION_NAIVE, OPTION_PREPARE, OPTION_ACTIVE_SET, OPTION_NBI, OPTION_ON_STREAM, OPTION_NUMBER };

static const char short_options[] = ":d:m:i:x:t:o:fchv";

static const struct option long_options[] = {
    {"accelerator", required_argument, NULL, 'd'},
    {"message-size", required_argument, NULL, 'm'},
    {"iterations", required_argument, NULL, 'i'},
    {"warmup", required_argument, NULL, 'x'},
    {"full", no_argument, NULL, 'f'},
    {"validation", no_argument, NULL, 'c'},
    {"raw", no_argument, NULL, OPTION_RAW},
    {"naive", no_argument, NULL, OPTION_NAIVE},
    {"prepare", no_argument, NULL, OPTION_PREPARE},
    {"type", required_argument, NULL, 't'},
    {"active-set", no_argument, NULL, OPTION_ACTIVE_SET},
    {"operation", required_argument, NULL, 'o'},
    {"nbi", no_argument, NULL, OPTION_NBI},
    {"on-stream", no_argument, NULL, OPTION_ON_STREAM},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'v'},
};

enum { N_LONG_OPTIONS = sizeof long_options / sizeof long_options[0] };

/* How the command line names the buffers of each placement. */
static const struct sides {
    const char *names;      /* of the two letters, for the usage; NULL: the program has no buffers */
    const char *letters[2]; /* that each can be                                                    */
    const char *pairs;      /* what they can be together                                           */
    bool may_be_silent;     /* heap may be left out, and D D after -d                              */
    const char *text;       /* for -h                                                              */
} all_sides[] = {
    [OSU_ANY_MEMORY] = {"PE0 PE1",
                        {"HDP", "HD"},
                        "one for PE 0 and one for PE 1: H H, H D, D H, D D or P D",
                        false,
                        "PE0 and PE1 are the sides of the transfer, H (host) or D (device). P, for PE0 only, is\n"
                        "private host memory, which is pageable.\n"},
    [OSU_SYMMETRIC_MEMORY] = {"PE0 PE1",
                              {"HD", "HD"},
                              "one for PE 0 and one for PE 1: H H, H D, D H or D D",
                              false,
                              "PE0 and PE1 are the sides of the transfers, H (host) or D (device).\n"},
    [OSU_PRIVATE_OBJECTS] = {"H PE1",
                             {"H", "HD"},
                             "one for PE 0 and one for PE 1: H H or H D",
                             false,
                             "PE 0's objects are in private memory, H. PE1 is H (host) or D (device).\n"},
    [OSU_COLLECTIVE_MEMORY] = {"SOURCE DEST",
                               {"HD", "HD"},
                               "for source and destination: H H, H D, D H or D D",
                               true,
                               "SOURCE and DEST are the buffers of every PE, H (host) or D (device); D D where\n"
                               "only -d is given.\n"},
    [OSU_ATOMIC_MEMORY] = {"RESULT WORD",
                           {"HD", "HD"},
                           "for results and words: H H, H D, D H or D D",
                           false,
                           "WORD is where the words are that the operations change, H (host) or D (device). RESULT is\n"
                           "where what they fetch goes: H is the routine's return value, D the device, by nonblocking\n"
                           "operations.\n"},
    [OSU_NO_MEMORY] = {.may_be_silent = true},
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

static const struct sides *sides_of(const struct osu_program *program)
{
    return &all_sides[program->placement];
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
    if (!sides_of(parser->program)->names)
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

/* The program's numbers are long options after those that all programs have. */
static enum osu_parse parse_number(struct parser *parser, int index, const char *text)
{
    const struct osu_number_option *number = &parser->program->numbers[index];
    size_t value;
    if (!read_size(text, "", &value) || value < number->least || value > number->most)
        return bad(parser, "--%s %s: give a number from %zu to %zu", number->name, text, number->least, number->most);
    parser->options->number[index] = value;
    return OSU_RUN;
}

static void list_options(struct option *all, const struct osu_program *program)
{
    const struct osu_number_option *number = program->numbers;
    memcpy(all, long_options, sizeof long_options);
    for (int i = 0; number && number[i].name; i++)
        all[N_LONG_OPTIONS + i] = (struct option){number[i].name, required_argument, NULL, OPTION_NUMBER + i};
}

static enum osu_parse parse_option(struct parser *parser, int option, const char *text, const char *word)
{
    struct osu_options *options = parser->options;
    if (option >= OPTION_NUMBER)
        return parse_number(parser, option - OPTION_NUMBER, text);
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
        return parse_flag(parser, "--raw", parser->program->raw_columns, &options->raw);
    case OPTION_NAIVE:
        return parse_flag(parser, "--naive", parser->program->naive_columns, &options->naive);
    case OPTION_PREPARE:
        return parse_flag(parser, "--prepare", parser->program->placement == OSU_ANY_MEMORY, &options->prepare);
    case OPTION_ACTIVE_SET:
        return parse_flag(parser, "--active-set", parser->program->collective, &options->active_set);
    case OPTION_NBI:
        return parse_flag(parser, "--nbi", parser->program->placement == OSU_ATOMIC_MEMORY, &options->nbi);
    case OPTION_ON_STREAM:
        return parse_flag(parser, "--on-stream", parser->program->streams, &options->on_stream);
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
    const struct sides *sides = sides_of(parser->program);
    if (!sides->names)
        return bad(parser, "unexpected argument %s: %s takes options only", word, parser->program->name);
    if (!strcmp(word, "heap") || !strcmp(word, "global")) {
        options->use_global = word[0] == 'g';
        parser->placed = true;
        return OSU_RUN;
    }
    if (!strcmp(word, "P") && parser->n_sides == 1)
        return bad(parser, "P is for PE 0 only: PE 1's buffer has to be symmetric");
    const char *letters = parser->n_sides < 2 ? sides->letters[parser->n_sides] : "";
    if (!word[0] || word[1] || !strchr(letters, word[0]))
        return bad(parser, "unexpected argument %s: give heap or global, or two letters, %s", word, sides->pairs);
    options->side[parser->n_sides++] = word[0];
    return OSU_RUN;
}

static enum osu_parse check_together(struct parser *parser)
{
    struct osu_options *options = parser->options;
    const struct sides *sides = sides_of(parser->program);
    if (parser->n_sides == 0 && options->device && sides->may_be_silent)
        options->side[0] = options->side[1] = 'D';
    bool on_device = options->side[0] == 'D' || options->side[1] == 'D';
    if (parser->n_sides == 1)
        return bad(parser, "give two letters, %s", sides->pairs);
    if (parser->n_sides == 0 && options->device && !sides->may_be_silent)
        return bad(parser, "-d %s needs two letters, %s", options->device, sides->pairs);
    if (parser->n_sides == 0 && !parser->placed && !sides->may_be_silent)
        return bad(parser, "say where the buffers are: heap or global, or -d cuda|opencl with two of H and D");
    if (options->naive && !on_device)
        return bad(parser, "--naive compares transfers of GPU memory: give -d and at least one D");
    if (options->prepare && options->side[0] != 'P')
        return bad(parser, "--prepare is for PE 0's private memory: give P as its side");
    if (options->on_stream && !on_device)
        return bad(parser, "--on-stream needs a device: give -d and at least one D");
    if (options->on_stream && options->naive)
        return bad(parser, "--naive does not work on a stream: leave one of the two out");
    if (parser->program->placement == OSU_ATOMIC_MEMORY && options->side[0] == 'D')
        options->nbi = true;
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
    for (int i = 0; program->numbers && program->numbers[i].name; i++)
        options->number[i] = program->numbers[i].usual;
}

enum osu_parse osu_options_parse(struct osu_options *options, const struct osu_program *program, int argc, char **argv,
                                 char *message, size_t message_size)
{
    struct option all_options[N_LONG_OPTIONS + OSU_MOST_NUMBERS + 1] = {{0}};
    struct parser parser = {options, program, message, message_size, 0, false};
    enum osu_parse rc = OSU_RUN;
    int option;
    set_defaults(options, program);
    list_options(all_options, program);
    opterr = 0;
    while (rc == OSU_RUN && (option = getopt_long(argc, argv, short_options, all_options, NULL)) != -1)
        rc = parse_option(&parser, option, optarg, argv[optind - 1]);
    for (; rc == OSU_RUN && optind < argc; optind++)
        rc = parse_word(&parser, argv[optind]);
    return rc == OSU_RUN ? check_together(&parser) : rc;
}

static void usage(const struct osu_program *program)
{
    const struct sides *sides = sides_of(program);
    printf("Usage: %s [options]%s\n", program->name,
           !sides->names          ? ""
           : sides->may_be_silent ? " [heap|global]"
                                  : " heap|global");
    if (sides->names)
        printf("       %s [options] -d cuda|opencl [heap|global] %s\n", program->name, sides->names);
    printf("\n%s\n\n", program->summary);
    if (sides->names)
        printf("heap and global say where host buffers are: on the symmetric heap or in static data.\n%s\n"
               "  -d, --accelerator TYPE         device buffers are of TYPE cuda or opencl\n",
               sides->text);
}

static void help_counts(const struct osu_program *program)
{
    if (!osu_has_sizes(program)) {
        printf("  -i, --iterations N             measured operations (%ld)\n"
               "  -x, --warmup N                 operations before the measurement (%ld)\n",
               program->iterations, program->warmup);
        return;
    }
    const char *counted = program->counted ? program->counted + strlen("# ") : "sizes in bytes";
    printf("  -m, --message-size [MIN:]MAX   %s, doubling from MIN to MAX (%zu:%zu)\n"
           "  -i, --iterations N             measured operations per size (%ld; %ld from %zu on)\n"
           "  -x, --warmup N                 operations before the measurement (%ld; %ld)\n",
           counted, program->min_size ? program->min_size : 1, program->max_size, program->iterations,
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
    if (program->placement == OSU_ATOMIC_MEMORY)
        printf("      --nbi                      nonblocking operations where something is fetched\n");
    if (program->placement == OSU_ANY_MEMORY)
        printf("      --prepare                  shmemx_prepare for PE 0's private memory\n");
    for (int i = 0; program->numbers && program->numbers[i].name; i++) {
        const struct osu_number_option *number = &program->numbers[i];
        int blanks = 22 - (int)strlen(number->name);
        printf("      --%s N%*s %s (%zu)\n", number->name, blanks, "", number->help, number->usual);
    }
    if (program->streams)
        printf("      --on-stream                enqueued in a CUDA stream or OpenCL queue, all of them together\n");
    if (program->raw_columns)
        printf("      --raw                      beside it the plain copy to the peer's memory: memcpy, CUDA driver\n");
    if (program->naive_columns)
        printf("      --naive                    beside it the way without shmmap: copy out, the same between host\n"
               "                                 buffers, copy in\n");
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
