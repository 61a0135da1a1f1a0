/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts the program's copies and prints what became of them.
 */
#define _GNU_SOURCE
#include "contrib/oshcopy/report.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char *const outcomes[SHMEMI_OUTCOMES] = {
    [SHMEMI_COPY_TAKEN] = "taken over",
    [SHMEMI_COPY_SMALL] = "small",
    [SHMEMI_COPY_OTHER] = "not between pageable memory and a GPU",
    [SHMEMI_COPY_CAPTURED] = "captured",
    [SHMEMI_COPY_EARLY] = "early: the copy threads are being made",
    [SHMEMI_COPY_REFUSED] = "refused",
};

static struct {
    pthread_mutex_t lock;
    int level; /* OSHCOPY_LOG */
    bool has_driver;
    bool is_first; /* the process that oshcopy has become, not one that it has started */
    unsigned long count[SHMEMI_OUTCOMES];
    struct {
        unsigned long copies;
        double bytes, seconds;
    } taken[2]; /* by direction */
} report = {.lock = PTHREAD_MUTEX_INITIALIZER};

void shmemi_report_open(void)
{
    const char *text = getenv("OSHCOPY_LOG");
    report.level = text ? atoi(text) : 0;
    text = getenv("OSHCOPY_PROCESS");
    report.is_first = text && atol(text) == (long)getpid();
}

void shmemi_report_driver(void)
{
    report.has_driver = true;
}

double shmemi_report_now(void)
{
    return report.level ? shmemi_seconds() : 0;
}

static void print_copy(const struct shmemi_program_copy *copy, enum shmemi_outcome outcome, double seconds)
{
    static const char *const directions[] = {"to the GPU", "from the GPU", "to or from the GPU"};
    if (outcome == SHMEMI_COPY_TAKEN)
        dprintf(STDERR_FILENO, "oshcopy: %zu bytes %s: taken over, %.1f GB/s\n", copy->nbytes,
                directions[copy->direction], (double)copy->nbytes / seconds * 1e-9);
    else
        dprintf(STDERR_FILENO, "oshcopy: %zu bytes %s: left to the driver (%s)\n", copy->nbytes,
                directions[copy->direction], outcomes[outcome]);
}

void shmemi_report_copy(const struct shmemi_program_copy *copy, enum shmemi_outcome outcome, double begun)
{
    if (!report.level)
        return;
    double seconds = shmemi_report_now() - begun;
    pthread_mutex_lock(&report.lock);
    report.count[outcome]++;
    if (outcome == SHMEMI_COPY_TAKEN) {
        report.taken[copy->direction].copies++;
        report.taken[copy->direction].bytes += (double)copy->nbytes;
        report.taken[copy->direction].seconds += seconds;
    }
    pthread_mutex_unlock(&report.lock);
    if (report.level > 1 && outcome != SHMEMI_COPY_SMALL)
        print_copy(copy, outcome, seconds);
}

void shmemi_report_forked(void)
{
    for (int i = 0; i < SHMEMI_OUTCOMES; i++)
        report.count[i] = 0;
    for (int i = 0; i < 2; i++)
        report.taken[i].copies = 0, report.taken[i].bytes = report.taken[i].seconds = 0;
    report.has_driver = report.is_first = false;
}

static double rate(enum shmemi_direction direction)
{
    double seconds = report.taken[direction].seconds;
    return seconds > 0 ? report.taken[direction].bytes / seconds * 1e-9 : 0;
}

void shmemi_report_close(void)
{
    if (!report.level)
        return;
    if (!report.has_driver) {
        if (report.is_first)
            dprintf(STDERR_FILENO, "oshcopy: %s has not used CUDA's driver\n", program_invocation_short_name);
        return;
    }
    dprintf(STDERR_FILENO,
            "oshcopy: %s, process %d: taken over: %lu copies to the GPU (%.1f MiB, %.1f GB/s), %lu from it (%.1f MiB, "
            "%.1f GB/s); left to the driver: %lu small, %lu not between pageable memory and a GPU, %lu captured, %lu "
            "early, %lu refused\n",
            program_invocation_short_name, (int)getpid(), report.taken[SHMEMI_TO_GPU].copies,
            report.taken[SHMEMI_TO_GPU].bytes / 1048576, rate(SHMEMI_TO_GPU), report.taken[SHMEMI_FROM_GPU].copies,
            report.taken[SHMEMI_FROM_GPU].bytes / 1048576, rate(SHMEMI_FROM_GPU), report.count[SHMEMI_COPY_SMALL],
            report.count[SHMEMI_COPY_OTHER], report.count[SHMEMI_COPY_CAPTURED], report.count[SHMEMI_COPY_EARLY],
            report.count[SHMEMI_COPY_REFUSED]);
}
