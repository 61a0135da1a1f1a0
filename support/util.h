/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clock, messages, the job and symmetric memory, as the applications, the benchmarks and the tests use them.
 */
#ifndef SUPPORT_UTIL_H
#define SUPPORT_UTIL_H

#include <stddef.h>

/* In front of every message; a program may set it at its start. NULL: the name of its file. */
extern const char *program_name;

/* A clock that never goes back. */
double now(void); /* seconds */
double now_us(void);

/* The job. barrier and max (the largest of all processes' numbers) are collective; abort ends all processes after a
 * failure of this one; leave ends this one when all leave. job.c and job_max.c define them over SHMEM; a program may
 * define all of them itself. */
int job_rank(void);
int job_size(void);
void job_barrier(void);
double job_max(double number);
void job_abort(void) __attribute__((noreturn));
void job_leave(void) __attribute__((noreturn));

/* Print one line and end the whole job with status 1. Any PE may call it. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The same, called by all PEs with the same cause: PE 0 prints, all leave in good order. */
void quit_all(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Never NULL: the first is for free(), the second is collective and for shmem_free(). */
void *host_alloc(size_t bytes);
void *symmetric_alloc(size_t bytes);

/* Name and version, as --version prints them. */
void print_version(void);

/* At most one line in two seconds, on PE 0. */
void progress_line(double *last, const char *what, long done, long total);

#endif
