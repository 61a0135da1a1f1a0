/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files of a trace: for each PE a JSON array, which is complete after every append, and one array that joins those
 * of all PEs.
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

/* Make this PE's part of the file with this name. -errno, logged, when it cannot be made; a failure to write to it is
 * logged like later ones. */
int shmemi_trace_file_open(struct shmemi_trace_file *file, const char *name);
/* Append elements, each preceded by ",\n". After them the buffer needs SHMEMI_TRACE_FILE_ROOM bytes for the end of the
 * array. 0 or -errno; the first error is logged. */
enum { SHMEMI_TRACE_FILE_ROOM = 16 };
int shmemi_trace_file_append(struct shmemi_trace_file *file, char *elements, size_t size);
void shmemi_trace_file_close(struct shmemi_trace_file *file);

/* Join the parts of all PEs and remove them. If one is missing, this is logged and the others are kept. */
void shmemi_trace_files_merge(const char *name);

#endif
