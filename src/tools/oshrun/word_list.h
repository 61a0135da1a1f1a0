/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words of a command line or an environment, and texts, all of which live until the process ends.
 */
#ifndef WORD_LIST_H
#define WORD_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* all[n] is NULL once there is a word. */
struct word_list {
    char **all;
    size_t n, room;
};

/* A new text that lives until the process ends. */
char *word_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The words themselves are not copied. */
void word_list_add(struct word_list *list, const char *word);
void word_list_add_two(struct word_list *list, const char *first, const char *second);
void word_list_add_all(struct word_list *list, char *const words[], size_t n);

/* Whether one of the words matches one of the patterns (fnmatch), the last of which is followed by NULL. */
bool word_list_matches(const struct word_list *list, const char *const patterns[]);

/* Write the words with blanks between, each quoted for a shell if it needs that. */
void word_list_print(FILE *out, const struct word_list *list);

/* A number from 1 to most in decimal digits, of which the first may be 0. */
bool word_is_count(const char *text, size_t length, int most, int *value);

#endif
