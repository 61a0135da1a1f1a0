/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads a text line by line, and the numbers in a line.
 */
#ifndef BFS_TEXT_H
#define BFS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBLEM_BYTES 160 /* text of what is wrong with a line */

/* The bytes that are not read yet. */
struct text {
    const char *at, *end;
};

/* The next line, without its end, if there is one. */
bool text_line(struct text *text, struct text *line);
/* The number of lines; the last one may lack its end. */
uint64_t text_count_lines(struct text text);

/* The next word, between blanks, tabs and commas; empty at the end of the line. */
struct text text_word(struct text *line);
bool text_is_empty(const struct text *text);
bool text_has_word(const struct text *line);
size_t text_count_words(struct text line);
bool text_begins(const struct text *text, const char *prefix); /* letters of either case */

/* The next word as a number; else false, and problem says what is wrong. what names the number there: "a vertex". */
bool text_number(struct text *line, const char *what, uint64_t *number, char *problem);
/* The next words are n numbers of any kind, and then the line ends. */
bool text_values(struct text *line, int n, char *problem);
/* The line ends here. */
bool text_ends(struct text *line, char *problem);

#endif
