/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings from the environment: defaults, sizes with suffixes, every kind of value, aliases, wrong values and unknown
 * variables with the line that reports them, and what is printed.
 */
#define _GNU_SOURCE
#include "base/settings.h"

#include "base/log.h"
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void check_size(const char *text, size_t expected)
{
    size_t size = 0;
    CHECK(shmemi_parse_size(text, &size) == 0);
    if (size == expected)
        return;
    fprintf(stderr, "%s parsed as %zu, expected %zu\n", text, size, expected);
    exit(1);
}

static void check_sizes(void)
{
    static const char *const wrong[] = {"",     "m",   "-1",  "+1",   "1q",        "1 m",   " 1",
                                        "0x10", "nan", "inf", "1e30", "99999999t", "1.2.3", "."};
    size_t untouched = 42;
    check_size("0", 0);
    check_size("1", 1);
    check_size("1k", 1024);
    check_size("2K", 2048);
    check_size("3m", (size_t)3 << 20);
    check_size("3.1M", 3250586); /* rounded up, as the specification says */
    check_size("1g", (size_t)1 << 30);
    check_size("2T", (size_t)2 << 40);
    check_size(".5k", 512);
    check_size("20kk", 20 << 10); /* text after the suffix is ignored */
    check_size("1000000000000", 1000000000000);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (shmemi_parse_size(wrong[i], &untouched) != -EINVAL || untouched != 42) {
            fprintf(stderr, "'%s' was taken for a size\n", wrong[i]);
            exit(1);
        }
    }
}

static void clear_environment(void)
{
    static const char *const prefixes[] = {"SHMEM_", "SMA_"};
    extern char **environ;
    for (char **entry = environ; entry && *entry;) {
        char name[128];
        size_t length = strcspn(*entry, "=");
        bool ours = !strncmp(*entry, prefixes[0], 6) || !strncmp(*entry, prefixes[1], 4);
        if (!ours || length >= sizeof name) {
            entry++;
            continue;
        }
        memcpy(name, *entry, length);
        name[length] = '\0';
        unsetenv(name); /* moves the next entry here */
    }
}

static void check_defaults(void)
{
    CHECK(shmemi_settings_read() == 0);
    CHECK(shmemi_settings.symmetric_size == (size_t)256 << 20 && shmemi_settings.map_window == (size_t)1 << 40);
    CHECK(!shmemi_settings.version && !shmemi_settings.info && !shmemi_settings.debug && shmemi_settings.strict);
    CHECK(!shmemi_settings.gpu_strict && shmemi_settings.gpu_route == SHMEMI_ROUTE_AUTO &&
          shmemi_settings.node_size == 0);
    CHECK(shmemi_log_level == SHMEMI_LOG_WARN);
}

static void check_values(void)
{
    setenv("SHMEM_SYMMETRIC_SIZE", "1.5m", 1);
    setenv("SHMEM_GPU_ROUTE", "naive", 1);
    setenv("SHMEM_NODE_SIZE", "3", 1);
    setenv("SHMEM_STRICT", "0", 1);
    setenv("SHMEM_DEBUG", "", 1); /* set at all counts */
    CHECK(shmemi_settings_read() == 0);
    CHECK(shmemi_settings.symmetric_size == 1572864 && shmemi_settings.gpu_route == SHMEMI_ROUTE_NAIVE);
    CHECK(shmemi_settings.node_size == 3 && !shmemi_settings.strict && shmemi_settings.debug);
    CHECK(shmemi_log_level == SHMEMI_LOG_DEBUG);
    clear_environment();
    check_defaults(); /* reading again resets */
}

static void check_aliases(void)
{
    setenv("SMA_SYMMETRIC_SIZE", "2m", 1);
    CHECK(shmemi_settings_read() == 0 && shmemi_settings.symmetric_size == (size_t)2 << 20);
    setenv("SHMEM_SYMMETRIC_HEAP_SIZE", "3m", 1);
    setenv("SHMEM_SYMMETRIC_SIZE", "4m", 1);
    CHECK(shmemi_settings_read() == 0 && shmemi_settings.symmetric_size == (size_t)4 << 20);
    clear_environment();
}

/* Before the PE is known: what is valid counts, what is not waits for its report. */
static void check_preview(void)
{
    setenv("SHMEM_BOOTSTRAP", "mpi:/some/module.so", 1);
    setenv("SHMEM_TIMEOUT", "soon", 1);
    setenv("SHMEM_NO_SUCH", "1", 1);
    shmemi_settings_preview();
    CHECK(shmemi_settings.bootstrap == SHMEMI_BOOTSTRAP_MPI_FILE);
    CHECK(!strcmp(shmemi_settings_mpi_module(), "/some/module.so"));
    CHECK(shmemi_settings.timeout == 60);
    setenv("SHMEM_BOOTSTRAP", "p", 1);
    shmemi_settings_preview();
    CHECK(shmemi_settings.bootstrap == SHMEMI_BOOTSTRAP_AUTO);
    clear_environment();
}

/* ---- what is reported -------------------------------------------------------------------------------------------- */

static char report[4096];

/* Read the settings with stderr in a pipe; what was written is in report. */
static int read_and_capture(void)
{
    int pipe_ends[2], saved = dup(STDERR_FILENO);
    CHECK(saved >= 0 && pipe(pipe_ends) == 0);
    dup2(pipe_ends[1], STDERR_FILENO);
    int rc = shmemi_settings_read();
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(pipe_ends[1]);
    ssize_t got = read(pipe_ends[0], report, sizeof report - 1);
    report[got > 0 ? got : 0] = '\0';
    close(pipe_ends[0]);
    return rc;
}

static void check_lines(const char *name, const char *value, int n_lines)
{
    int found = 0;
    for (const char *c = report; *c; c++)
        found += *c == '\n';
    if (found == n_lines && strstr(report, name) && strstr(report, value))
        return;
    fprintf(stderr, "%s=%s was reported as: %s\n", name, value, report);
    exit(1);
}

static void check_refused(const char *name, const char *value)
{
    clear_environment();
    setenv(name, value, 1);
    if (read_and_capture() != -EINVAL) {
        fprintf(stderr, "%s=%s was not refused\n", name, value);
        exit(1);
    }
    check_lines(name, value, 1);
    clear_environment();
}

static void check_wrong_values(void)
{
    check_refused("SHMEM_SYMMETRIC_SIZE", "lots");
    check_refused("SHMEM_SYMMETRIC_SIZE", "-5");
    check_refused("SMA_SYMMETRIC_SIZE", "5x");
    check_refused("SHMEM_GPU_ROUTE", "fast");
    check_refused("SHMEM_GPU_ROUTE", "ip"); /* a prefix is not the word */
    check_refused("SHMEM_GPU_ROUTE", "ipc|staged");
    check_refused("SHMEM_STRICT", "yes");
    check_refused("SHMEM_NODE_SIZE", "-1");
    check_refused("SHMEM_NODE_SIZE", "2x");
    check_refused("SHMEM_NODE_SIZE", "99999999999999999999");
    check_refused("SHMEM_LOG", "loud");
    check_refused("SHMEM_STAGING_SLOTS", "1");
    check_refused("SHMEM_STAGING_SLOTS", "65");
    check_refused("SHMEM_GPU_BATCH", "4097");
    check_refused("SHMEM_GPU_BATCH_SIZE", "33k");
    check_refused("SHMEM_GPU_BATCH_SIZE", "0");
    check_refused("SHMEM_STAGING_CHUNK", "100");
    check_refused("SHMEM_MAP_WINDOW", "1m");
}

/* Of every setting with a range: the values at its ends, the next ones outside, and what the message says. */
static const struct border {
    const char *name;
    const size_t *field;
    const char *below, *least, *most, *above; /* below, most and above may be NULL */
    size_t least_value, most_value;
    const char *allowed;
} borders[] = {
    {"SHMEM_STAGING_SLOTS", &shmemi_settings.staging_slots, "1", "2", "64", "65", 2, 64, " 2 to 64"},
    {"SHMEM_STAGING_CHUNK", &shmemi_settings.staging_chunk, "4095", "4k", "1g", "1073741825", 4096, 1 << 30,
     " 4k to 1g"},
    {"SHMEM_COPY_THREADS", &shmemi_settings.copy_threads, NULL, "0", "32", "33", 0, 32, " 0 to 32"},
    {"SHMEM_COPY_CHUNK", &shmemi_settings.copy_chunk, NULL, "0", "67108864", "67108865", 0, 64 << 20, " 0 to 64m"},
    {"SHMEM_GPU_BATCH", &shmemi_settings.gpu_batch, NULL, "0", "4096", "4097", 0, 4096, " 0 to 4096"},
    {"SHMEM_GPU_BATCH_SIZE", &shmemi_settings.gpu_batch_size, "0", "1", "32k", "32769", 1, 32 << 10, " 1 to 32k"},
    /* the heap of 256m must lie in it; its true lower end is below */
    {"SHMEM_MAP_WINDOW", &shmemi_settings.map_window, "67108863", "512m", "16t", "17592186044417", 512 << 20,
     (size_t)16 << 40, " 64m to 16t"},
    {"SHMEM_STATS", &shmemi_settings.stats, NULL, "0", "2", "3", 0, 2, " 0 to 2"},
    {"SHMEM_NODE_SIZE", &shmemi_settings.node_size, "-1", "0", "2147483647", "2147483648", 0, 2147483647, "0 or more"},
    {"SHMEM_WATCHDOG", &shmemi_settings.watchdog, "-1", "0", NULL, "1s", 0, 0, "a whole number, 0 or more"},
    {"SHMEM_TIMEOUT", &shmemi_settings.timeout, "-1", "0", NULL, "1.5", 0, 0, "a whole number, 0 or more"},
    {"SHMEM_SYMMETRIC_SIZE", &shmemi_settings.symmetric_size, "-1", "0", NULL, "8388608t", 0, 0, "0 or more"},
    {"SHMEM_STAGING_PIECE", &shmemi_settings.staging_piece, "-1", "0", NULL, "8388608t", 0, 0, "suffix k, m, g or t"},
};

static void check_accepted(const char *name, const char *text, const size_t *field, size_t value)
{
    setenv(name, text, 1);
    CHECK(shmemi_settings_read() == 0);
    clear_environment();
    if (*field == value)
        return;
    fprintf(stderr, "%s=%s was read as %zu\n", name, text, *field);
    exit(1);
}

static void check_borders(void)
{
    for (const struct border *b = borders; b < borders + sizeof borders / sizeof borders[0]; b++) {
        check_accepted(b->name, b->least, b->field, b->least_value);
        if (b->most)
            check_accepted(b->name, b->most, b->field, b->most_value);
        if (b->below)
            check_refused(b->name, b->below);
        check_refused(b->name, b->above);
        CHECK(strstr(report, b->allowed));
    }
    setenv("SHMEM_MAP_WINDOW", "64m", 1);
    setenv("SHMEM_SYMMETRIC_SIZE", "0", 1);
    CHECK(shmemi_settings_read() == 0 && shmemi_settings.map_window == 64 << 20);
    clear_environment();
}

/* Every word of a choice stands for its value, 0 to last; nothing else is a word. */
static void check_choice(const char *name, const int *field, const char *words, int last)
{
    char copy[128], wrong[136], *rest = NULL;
    int value = 0;
    strcpy(copy, words);
    for (const char *word = strtok_r(copy, "|", &rest); word; word = strtok_r(NULL, "|", &rest), value++) {
        setenv(name, word, 1);
        CHECK(shmemi_settings_read() == 0 && *field == value);
        snprintf(wrong, sizeof wrong, "%s,", word);
        check_refused(name, wrong);
        CHECK(strstr(report, words));
    }
    CHECK(value == last + 1);
    check_refused(name, "");
    check_refused(name, words);
    check_refused(name, "|");
}

static void check_choices(void)
{
    check_choice("SHMEM_LOG", &shmemi_settings.log, "error|warn|info|debug", SHMEMI_LOG_DEBUG);
    check_choice("SHMEM_GPU_ROUTE", &shmemi_settings.gpu_route, "auto|ipc|shadow|gdr|staged|naive", SHMEMI_ROUTE_NAIVE);
    check_choice("SHMEM_YIELD", &shmemi_settings.yield, "auto|0|1", SHMEMI_YIELD_ALWAYS);
    check_choice("SHMEM_STREAM_PUT", &shmemi_settings.stream_put, "auto|engine|kernel", SHMEMI_STREAM_PUT_KERNEL);
}

/* One word of the bootstrap takes a file. */
static void check_bootstrap(void)
{
    static const char *const words[] = {"auto", "pmix", "mpi", "pmi", "torchrun", "single", "mpi:x"};
    for (int i = 0; i <= SHMEMI_BOOTSTRAP_MPI_FILE; i++) {
        setenv("SHMEM_BOOTSTRAP", words[i], 1);
        CHECK(shmemi_settings_read() == 0 && shmemi_settings.bootstrap == i);
        CHECK(!strcmp(shmemi_settings_mpi_module(), i == SHMEMI_BOOTSTRAP_MPI_FILE ? "x" : ""));
    }
    check_refused("SHMEM_BOOTSTRAP", "mpi:");
    CHECK(strstr(report, "auto|pmix|mpi|pmi|torchrun|single|mpi:FILE"));
    check_refused("SHMEM_BOOTSTRAP", "single,");
    check_refused("SHMEM_BOOTSTRAP", "");
}

static void check_flag(const char *name, const int *field)
{
    static const char *const wrong[] = {"", "2", "01", "yes", "0|1"};
    for (int i = 0; i < 2; i++) {
        setenv(name, i ? "1" : "0", 1);
        CHECK(shmemi_settings_read() == 0 && *field == i);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        check_refused(name, wrong[i]);
        CHECK(strstr(report, "0|1"));
    }
}

static void check_flags_and_texts(void)
{
    check_flag("SHMEM_STRICT", &shmemi_settings.strict);
    check_flag("SHMEM_GPU_STRICT", &shmemi_settings.gpu_strict);
    check_flag("SHMEM_CHECK", &shmemi_settings.check);
    check_flag("SHMEM_CHECK_TYPES", &shmemi_settings.check_types);
    CHECK(shmemi_settings_read() == 0);
    CHECK(!*shmemi_settings.trace && !*shmemi_settings_mpi_module() && !*shmemi_settings.collective);
    setenv("SHMEM_TRACE", "a b", 1);
    setenv("SHMEM_INFO", "0", 1); /* set at all counts */
    setenv("SHMEM_VERSION", "", 1);
    CHECK(shmemi_settings_read() == 0 && !strcmp(shmemi_settings.trace, "a b"));
    CHECK(shmemi_settings.info && shmemi_settings.version && !shmemi_settings.debug);
    clear_environment();
}

/* One letter more, less or other, or two neighbours that have changed places, is taken for a typing error. */
static void check_near_names(void)
{
    check_refused("SHMEM_TIMEOUTS", "");
    check_refused("SHMEM_TIMEOT", "");
    check_refused("SHMEM_TIMEOVT", "");
    check_refused("SHMEM_TIEMOUT", "");
    CHECK(strstr(report, "SHMEM_TIMEOUT?"));
    check_refused("SHMEM_SYMMETRIC_HEAPSIZE", ""); /* beside an alias */
}

/* Other names may be meant for others: they are reported, and the settings beside them count. */
static void check_far_names(void)
{
    static const char *const names[] = {"SHMEM_NO_SUCH", "SHMEM_", "SHMEM_TIMEOUT_MS", "SHMEM_TIOUTME"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        setenv(names[i], "7", 1);
        setenv("SHMEM_TIMEOUT", "5", 1);
        CHECK(read_and_capture() == 0 && shmemi_settings.timeout == 5);
        check_lines(names[i], "has no effect", 1);
        setenv("SHMEM_LOG", "error", 1);
        CHECK(read_and_capture() == 0 && !report[0]);
        setenv("SHMEM_STRICT", "1", 1);
        CHECK(read_and_capture() == -EINVAL);
        check_lines(names[i], "did you mean", 1);
        clear_environment();
    }
}

/* A setting that is now part of another one is refused by a line that says of which. */
static void check_replaced(void)
{
    setenv("SHMEM_MPI_MODULE", "/some/module.so", 1);
    CHECK(read_and_capture() == -EINVAL);
    check_lines("SHMEM_MPI_MODULE", "use SHMEM_BOOTSTRAP=mpi:FILE", 1);
    setenv("SHMEM_STRICT", "0", 1);
    CHECK(read_and_capture() == 0);
    check_lines("SHMEM_MPI_MODULE", "use SHMEM_BOOTSTRAP=mpi:FILE", 1);
    clear_environment();
}

static void check_unknown(void)
{
    check_refused("SHMEM_SYMETRIC_SIZE", ""); /* the value does not matter */
    setenv("SHMEM_SYMETRIC_SIZE", "1m", 1);
    CHECK(read_and_capture() == -EINVAL && strstr(report, "SHMEM_SYMMETRIC_SIZE")); /* the nearest name */
    setenv("SHMEM_STRICT", "0", 1);
    CHECK(read_and_capture() == 0);
    check_lines("SHMEM_SYMETRIC_SIZE", "", 1);
    clear_environment();
    check_near_names();
    check_far_names();
    check_replaced();
    setenv("SHMEMX", "1", 1); /* not ours */
    CHECK(read_and_capture() == 0 && !report[0]);
    unsetenv("SHMEMX");
}

static void check_internal(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    enum { USER, INTERNAL };
    shmemi_settings_print(stream, true);
    fclose(stream);
#define SETTING(field, name, type, allowed, value, audience, meaning)                                                  \
    CHECK((strstr(text, "  " name " ") && strstr(text, meaning)) == (audience == INTERNAL));
#include "base/settings.def"
#undef SETTING
    free(text);
}

/* The list that SHMEM_INFO and oshinfo print has the settings for users, and what else is set; the other list, of oshinfo
 * --tuning, has the rest. */
static void check_print(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    setenv("SHMEM_NODE_SIZE", "17", 1);
    setenv("SHMEM_GPU_BATCH", "18", 1);
    shmemi_settings_print(stream, false);
    fclose(stream);
    enum { USER, INTERNAL };
#define SETTING(field, name, type, allowed, value, audience, meaning)                                                  \
    CHECK((strstr(text, "  " name " ") && strstr(text, meaning)) ==                                                    \
          (audience == USER || !strcmp(name, "SHMEM_GPU_BATCH")));
#include "base/settings.def"
#undef SETTING
    CHECK(strstr(text, " 17 ") && strstr(text, " 18 "));
    CHECK(strstr(text, "[2 to 64]\n") && strstr(text, "[0 or more]\n") && strstr(text, "[auto|bound]\n"));
    free(text);
    check_internal();
    clear_environment();
}

/* The page has a row for every setting for users. */
static void check_page(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    shmemi_settings_print_page(stream);
    fclose(stream);
    const char *row;
    enum { USER, INTERNAL };
#define SETTING(field, name, type, allowed, value, audience, meaning)                                                  \
    row = strstr(text, "\n| `" name "` | ");                                                                           \
    CHECK((row == NULL) == (audience == INTERNAL) && (!row || strstr(row, " | " meaning " |\n")));
#include "base/settings.def"
#undef SETTING
    CHECK(strstr(text, "| `SHMEM_STAGING_SLOTS` | 8 | 2 to 64 | "));
    CHECK(strstr(text, "| `SHMEM_THREAD_CORES` | auto | auto, bound | "));
    CHECK(strstr(text, "| `SHMEM_TRACE` | not set | any text | "));
    CHECK(strstr(text, "- `SMA_SYMMETRIC_SIZE` is read when `SHMEM_SYMMETRIC_SIZE` is not set\n"));
    free(text);
}

int main(void)
{
    clear_environment();
    check_sizes();
    check_defaults();
    check_values();
    check_aliases();
    check_preview();
    check_wrong_values();
    check_borders();
    check_choices();
    check_bootstrap();
    check_flags_and_texts();
    check_unknown();
    check_print();
    check_page();
    return 0;
}
