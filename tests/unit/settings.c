/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings from the environment: defaults, sizes with suffixes, every kind of value, aliases, wrong values and unknown
 * variables with the line that reports them.
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
    check_defaults(); /* reading again forgets */
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
    setenv("SHMEM_BOOTSTRAP", "pmi", 1);
    setenv("SHMEM_MPI_MODULE", "/some/module.so", 1);
    setenv("SHMEM_TIMEOUT", "soon", 1);
    setenv("SHMEM_NO_SUCH", "1", 1);
    shmemi_settings_preview();
    CHECK(shmemi_settings.bootstrap == SHMEMI_BOOTSTRAP_PMI);
    CHECK(!strcmp(shmemi_settings.mpi_module, "/some/module.so"));
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
    CHECK(read_and_capture() == -EINVAL);
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

static void check_unknown(void)
{
    check_refused("SHMEM_SYMETRIC_SIZE", ""); /* value is not of interest */
    setenv("SHMEM_SYMETRIC_SIZE", "1m", 1);
    CHECK(read_and_capture() == -EINVAL && strstr(report, "SHMEM_SYMMETRIC_SIZE")); /* the nearest name */
    setenv("SHMEM_STRICT", "0", 1);
    CHECK(read_and_capture() == 0);
    check_lines("SHMEM_SYMETRIC_SIZE", "", 1);
    clear_environment();
    setenv("SHMEMX", "1", 1); /* not ours */
    CHECK(read_and_capture() == 0 && !report[0]);
    unsetenv("SHMEMX");
}

/* Every setting is in the list that SHMEM_INFO and oshinfo print. */
static void check_print(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    setenv("SHMEM_NODE_SIZE", "17", 1);
    shmemi_settings_print(stream);
    fclose(stream);
#define SETTING(field, name, kind, value, allowed, meaning) CHECK(strstr(text, name " ") && strstr(text, meaning));
#include "base/settings.def"
#undef SETTING
    CHECK(strstr(text, " 17 "));
    free(text);
    clear_environment();
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
    check_unknown();
    check_print();
    return 0;
}
