/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text from outside (variables, names in files), made harmless for where it goes.
 */
#ifndef SHMEMI_ESCAPE_H
#define SHMEMI_ESCAPE_H

#include <stddef.h>

/* Write text as the inside of a JSON string into size bytes at out, without a terminating zero: as many of its characters
 * as fit there whole. What is no UTF-8 becomes U+FFFD. Returns how many bytes were written. *text_p is what is left. */
size_t shmemi_escape_json(char *out, size_t size, const char **text_p);

/* Replace what would end a line for a terminal, or steer it, and what is no UTF-8, by question marks. A zero, or any other
 * byte that continues no character, follows the line. */
void shmemi_escape_line(char *line, size_t length);

#endif
