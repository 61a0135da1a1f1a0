/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages to the user: one line each on stderr, which starts with the PE's number and is written by one call.
 *
 * Inside the library a function returns 0 or -errno. The function that first sees an error logs it, once; its callers
 * only pass the code up. shmemi_fatal is for public routines that have no way to return an error.
 */
#ifndef SHMEMI_LOG_H
#define SHMEMI_LOG_H

#include "base/choices.h"

#include <stdbool.h>

extern enum shmemi_log_level shmemi_log_level;

/* Ends the job. The bootstrap sets it as soon as it can. */
extern void (*shmemi_log_abort)(int status);

/* Called before the library ends this process because of an error; may be NULL. */
extern void (*shmemi_log_last_words)(void);

/* Set the PE number that messages show; -1 before it is known. */
void shmemi_log_set_pe(int pe);

/* hold(true): keep a line instead of writing it, the first of the most serious ones, and drop the others; release writes
 * the line that was kept. For errors that PE 0 is likely to report as well: if it ends the job, the other PEs need not
 * repeat them. Fatal errors are always written. */
void shmemi_log_hold(bool hold);
void shmemi_log_release(void);

/* Whether a line of level error was written or kept since the process began. */
bool shmemi_log_has_error(void);

/* The last line of level error of the calling thread, without a newline, also if it was held or dropped; each line is
 * given out once. Empty if there is none. Valid until the thread's next error. */
const char *shmemi_log_take_error(void);

void shmemi_log_write(enum shmemi_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define shmemi_log(_level, ...)                                                                                        \
    do {                                                                                                               \
        if ((_level) <= shmemi_log_level)                                                                              \
            shmemi_log_write((_level), __VA_ARGS__);                                                                   \
    } while (0)

#define shmemi_error(...) shmemi_log(SHMEMI_LOG_ERROR, __VA_ARGS__)
#define shmemi_warn(...) shmemi_log(SHMEMI_LOG_WARN, __VA_ARGS__)
#define shmemi_info(...) shmemi_log(SHMEMI_LOG_INFO, __VA_ARGS__)
#define shmemi_debug(...) shmemi_log(SHMEMI_LOG_DEBUG, __VA_ARGS__)

/* Log one line and end the whole job with status 1. */
_Noreturn void shmemi_fatal(const char *format, ...) __attribute__((format(printf, 1, 2), cold));

#endif
