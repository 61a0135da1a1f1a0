/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages on stderr.
 */
#include "base/log.h"

#include "base/text/escape.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1024 };

enum shmemi_log_level shmemi_log_level = SHMEMI_LOG_WARN;
void (*shmemi_log_abort)(int status);
void (*shmemi_log_last_words)(void);

static int log_pe = -1;
static bool is_held;
static char held_line[LINE_MAX_BYTES];
static size_t held_length;
static enum shmemi_log_level held_level;
static atomic_bool has_error;
static _Thread_local char last_error[LINE_MAX_BYTES];
static _Thread_local bool has_been_taken;

void shmemi_log_set_pe(int pe)
{
    log_pe = pe;
}

void shmemi_log_hold(bool hold)
{
    is_held = hold;
    held_length = 0;
}

/* Format the line, with the PE in front and a newline at its end, and return its length. */
static size_t format_line(char *line, const char *format, va_list args)
{
    const size_t room = LINE_MAX_BYTES - 1; /* for the newline */
    int saved_errno = errno;
    int prefix = log_pe < 0 ? snprintf(line, room, "mapshmem: ") : snprintf(line, room, "PE %d: ", log_pe);
    errno = saved_errno; /* for %m */
    int body = vsnprintf(line + prefix, room - (size_t)prefix, format, args);
    size_t length = (size_t)prefix + (size_t)body;
    if (length > room - 1)
        length = room - 1;
    shmemi_escape_line(line, length); /* values of variables, names of files */
    line[length] = '\n';
    errno = saved_errno;
    return length + 1;
}

/* One write(2) for the whole line, so that lines of several PEs do not mix. */
static void write_line(const char *line, size_t length)
{
    int saved_errno = errno;
    ssize_t ignored = write(STDERR_FILENO, line, length);
    (void)ignored;
    errno = saved_errno;
}

static void note_error(const char *line, size_t length)
{
    atomic_store(&has_error, true);
    memcpy(last_error, line, length - 1);
    last_error[length - 1] = '\0';
    has_been_taken = false;
}

const char *shmemi_log_take_error(void)
{
    if (has_been_taken)
        return "";
    has_been_taken = true;
    return last_error;
}

void shmemi_log_write(enum shmemi_log_level level, const char *format, ...)
{
    va_list args;
    char line[LINE_MAX_BYTES];
    va_start(args, format);
    size_t length = format_line(line, format, args);
    va_end(args);
    if (level == SHMEMI_LOG_ERROR)
        note_error(line, length);
    if (!is_held) {
        write_line(line, length);
    } else if (!held_length || level < held_level) {
        memcpy(held_line, line, length);
        held_length = length;
        held_level = level;
    }
}

bool shmemi_log_has_error(void)
{
    return atomic_load(&has_error);
}

void shmemi_log_release(void)
{
    write_line(held_line, held_length);
    shmemi_log_hold(false);
}

void shmemi_fatal(const char *format, ...)
{
    va_list args;
    char line[LINE_MAX_BYTES];
    va_start(args, format);
    size_t length = format_line(line, format, args);
    va_end(args);
    note_error(line, length);
    write_line(line, length);
    if (shmemi_log_last_words)
        shmemi_log_last_words();
    if (shmemi_log_abort)
        shmemi_log_abort(1);
    _exit(1);
}
