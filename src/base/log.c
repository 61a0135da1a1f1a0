/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1024 };

enum shmemi_log_level shmemi_log_level = SHMEMI_LOG_WARN;
void (*shmemi_log_abort)(int status);

static int log_pe = -1;
static bool is_muted;

void shmemi_log_set_pe(int pe)
{
    log_pe = pe;
}

void shmemi_log_mute(bool muted)
{
    is_muted = muted;
}

/* One write(2) for the whole line, so that lines of several PEs do not mix. */
static void write_line(const char *format, va_list args)
{
    char line[LINE_MAX_BYTES];
    int saved_errno = errno;
    int length = log_pe < 0 ? snprintf(line, sizeof line, "mapshmem: ")
                            : snprintf(line, sizeof line, "PE %d: ", log_pe);
    int room = (int)sizeof line - length;
    errno = saved_errno; /* for %m */
    int body = vsnprintf(line + length, (size_t)room, format, args);
    length += body < room ? body : room - 1;
    line[length < LINE_MAX_BYTES - 1 ? length : LINE_MAX_BYTES - 1] = '\n';
    if (length < LINE_MAX_BYTES - 1)
        length++;
    else
        length = LINE_MAX_BYTES;
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)length);
    (void)ignored;
    errno = saved_errno;
}

void shmemi_log_write(enum shmemi_log_level level, const char *format, ...)
{
    (void)level;
    va_list args;
    if (is_muted)
        return;
    va_start(args, format);
    write_line(format, args);
    va_end(args);
}

void shmemi_fatal(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_line(format, args);
    va_end(args);
    if (shmemi_log_abort)
        shmemi_log_abort(1);
    _exit(1);
}
