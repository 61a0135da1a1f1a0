/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures this process at intervals: memory, descriptors, threads, mappings. The first third of the samples, in which
 * caches and arenas fill, does not count. The others are cut into windows, of which the least sample counts.
 */
#include "soak.h"

#include <dirent.h>
#include <limits.h>

enum { SAMPLES_MAX = 128, SAMPLES = 100, WINDOWS = 8 };

enum quantity { ANONYMOUS, RESIDENT, PROPORTIONAL, DESCRIPTORS, THREADS, MAPPINGS, QUANTITIES };

/* What it may grow by steadily, from the end of the warm-up to the end of the run; in all it may be so many times more.
 * The symmetric heap, which is shared, is touched little by little; the C library returns memory when it likes. */
enum { TIMES_IN_ALL = 8, NOT_JUDGED = -1 }; /* other processes' share changes the proportional size */
static const struct {
    const char *name;
    long allowed;
} quantities[QUANTITIES] = {
    [ANONYMOUS] = {"anonymous KiB", 512},
    [RESIDENT] = {"resident KiB", 2048},
    [PROPORTIONAL] = {"proportional KiB", NOT_JUDGED},
    [DESCRIPTORS] = {"descriptors", 0},
    [THREADS] = {"threads", 0},
    [MAPPINGS] = {"mappings", 8},
};

struct sample {
    double at;
    long values[QUANTITIES];
};

static struct sample samples[SAMPLES_MAX];
static int n_samples;
static double interval;
static bool is_brief;

/* The number after a word at the start of a line; -1 if there is none. */
static long field(const char *file, const char *word)
{
    char line[512];
    long value = -1;
    FILE *f = fopen(file, "r");
    while (f && value < 0 && fgets(line, sizeof line, f))
        if (!strncmp(line, word, strlen(word)))
            value = atol(line + strlen(word));
    if (f)
        fclose(f);
    return value;
}

static long count_lines(const char *file)
{
    long n = 0;
    FILE *f = fopen(file, "r");
    for (int c; f && (c = getc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

static long count_entries(const char *folder)
{
    long n = 0;
    DIR *dir = opendir(folder);
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

void watch_start(double total, bool is_too_brief)
{
    interval = total / SAMPLES;
    is_brief = is_too_brief;
    n_samples = 0;
}

void watch_look(double done)
{
    if (n_samples == SAMPLES_MAX || done < n_samples * interval)
        return;
    struct sample *sample = &samples[n_samples++];
    sample->at = done;
    sample->values[ANONYMOUS] = field("/proc/self/status", "RssAnon:");
    sample->values[RESIDENT] = field("/proc/self/status", "VmRSS:");
    sample->values[PROPORTIONAL] = field("/proc/self/smaps_rollup", "Pss:");
    sample->values[DESCRIPTORS] = count_entries("/proc/self/fd");
    sample->values[THREADS] = field("/proc/self/status", "Threads:");
    sample->values[MAPPINGS] = count_lines("/proc/self/maps");
}

/* The least of the samples in a window after the warm-up. */
static long least(enum quantity quantity, int window)
{
    const int first = n_samples / 3, n = n_samples - first;
    long value = LONG_MAX;
    for (int i = first + n * window / WINDOWS; i < first + n * (window + 1) / WINDOWS; i++)
        value = samples[i].values[quantity] < value ? samples[i].values[quantity] : value;
    return value;
}

static int compare(const void *a, const void *b)
{
    const long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

/* What leaks grows from each window to the next. What grows once or twice, such as a pool of the network's or an arena
 * of the C library's, leaves the median of these steps alone. */
static long steady_growth(enum quantity quantity)
{
    long steps[WINDOWS - 1];
    for (int i = 0; i < WINDOWS - 1; i++)
        steps[i] = least(quantity, i + 1) - least(quantity, i);
    qsort(steps, WINDOWS - 1, sizeof *steps, compare);
    return steps[(WINDOWS - 1) / 2] * (WINDOWS - 1);
}

static void print_samples(enum quantity quantity)
{
    printf("PE %d: %s:", soak.me, quantities[quantity].name);
    for (int i = 0; i < n_samples; i++)
        printf(" %ld", samples[i].values[quantity]);
    printf("\n");
}

bool watch_verdict(const char *unit, long expected)
{
    char text[512];
    int at = 0;
    bool is_flat = true;
    if (n_samples < 2 * WINDOWS) {
        printf("PE %d: only %d samples, so growth is not judged\n", soak.me, n_samples);
        return true;
    }
    for (int i = 0; i < QUANTITIES; i++) {
        const enum quantity quantity = (enum quantity)i;
        const long from = least(quantity, 0), to = least(quantity, WINDOWS - 1), steady = steady_growth(quantity);
        const long allowed = quantities[i].allowed + (quantity < DESCRIPTORS ? expected : 0);
        const bool is_too_much = quantities[i].allowed != NOT_JUDGED &&
                                 ((steady > allowed && !is_brief) || to - from > allowed * TIMES_IN_ALL);
        at += snprintf(text + at, sizeof text - (size_t)at, ", %s %ld to %ld (%+ld steady%s)", quantities[i].name, from,
                       to, steady, is_too_much ? ": TOO MUCH" : "");
        is_flat &= !is_too_much;
        if (is_too_much)
            print_samples(quantity);
    }
    printf("PE %d: %.0f to %.0f %s%s\n", soak.me, samples[n_samples / 3].at, samples[n_samples - 1].at, unit, text);
    fflush(stdout);
    return is_flat;
}
