/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files of a trace: a JSON array that is closed again after each piece that is appended, and the array that all
 * PEs' files together make.
 */
#ifndef SHMEMI_TRACE_FILE_H
#define SHMEMI_TRACE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct shmemi_trace_file {
    int fd;
    bool failed;
    off_t length; /* without the end of the array */
    char path[PATH_MAX];
};

/* Make this PE's part of the file with this name. -errno, logged, when there can be none; one that cannot be written is
 * told like a later error. */
int shmemi_trace_file_open(struct shmemi_trace_file *file, const char *name);
/* Append elements, each with ",\n" in front; behind them there is room for the end of the array. -errno; the first
 * error is logged. */
enum { SHMEMI_TRACE_FILE_ROOM = 16 };
int shmemi_trace_file_append(struct shmemi_trace_file *file, char *elements, size_t size);
void shmemi_trace_file_close(struct shmemi_trace_file *file);

/* Put the parts of all PEs together and remove them. They stay when one is missing, which is told. */
void shmemi_trace_files_merge(const char *name);

#endif
