/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What commands say about mistakes: one line on stderr each, "NAME: TEXT". The text may hold what somebody else has
 * written; control characters in it are shown as \ooo, so that the line stays one line and does nothing to a terminal.
 */
#ifndef COMPLAIN_H
#define COMPLAIN_H

/* NAME: each command defines it. */
extern const char complain_name[];

/* Print a line about a mistake. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Print a line about a mistake, and end this process. */
_Noreturn void complain_and_exit(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
