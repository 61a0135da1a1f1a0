/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Passes on what comes from stderr of a launcher, and takes the launcher's own messages out. The program's text stays
 * as it is, byte by byte, and is not held up, but for what may be the beginning of a message: that waits for its end.
 */
#ifndef STDERR_FILTER_H
#define STDERR_FILTER_H

#include "tools/oshrun/failures.h"

enum { OSHRUN_MOST_LINE = 65536 };

/* What has come of a line. */
struct partial_line {
    size_t length;
    char text[OSHRUN_MOST_LINE + 1];
};

struct stderr_filter {
    struct failures *failures;
    struct partial_line line;
    char *held;   /* a line of dashes; the next line shows whose it is */
    bool mid;     /* the beginning of the line has been passed on */
    bool in_box;  /* of the launcher */
    long expires; /* in ms, when what is held is passed on; 0: nothing is held */
};

/* Milliseconds of a clock that is not set. */
long oshrun_now(void);

/* Write all of it. */
void oshrun_write(int fd, const char *bytes, size_t length);

void stderr_filter_add(struct stderr_filter *filter, const char *bytes, size_t length);

/* The time has come, or the end: nothing is held any longer. */
void stderr_filter_release(struct stderr_filter *filter);

#endif
