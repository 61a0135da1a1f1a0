/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Limits that the system sets to a process: of the size of files, of open files, of threads. They are looked at before
 * they are met, because some of them end a process without a word, and each gets a message that says how to raise it.
 */
#ifndef SHMEMI_LIMITS_H
#define SHMEMI_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

/* How to raise the limit that has caused this errno, as the end of a message: "; ..." or "". */
const char *shmemi_remedy(int error);

/* Whether a file may have so many bytes (ulimit -f). Beyond its limit a write or ftruncate is answered with SIGXFSZ,
 * which kills. */
bool shmemi_file_may_have(size_t size);

/* Give a file of memory (memfd) its size. The limit of file sizes counts for it, too: the soft one is lifted meanwhile.
 * 0, or -errno: -EFBIG when the hard limit is too low. */
int shmemi_memory_file_resize(int fd, size_t size);

/* Open those of the files 0, 1 and 2 that are closed: what is opened later would get their numbers, and lines that are
 * meant for stderr would be written into it. */
void shmemi_standard_files_fill(void);

/* See to it that this process can open about so many more files: raises the soft limit when it has to, and as far as
 * the hard one allows. Returns how many more it can open. */
size_t shmemi_descriptors_reserve(size_t wanted);

#endif
