/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads a text line by line, and the numbers in a line.
 */
#include "text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SHOWN_BYTES 24 /* of a word that a message shows */

bool text_is_empty(const struct text *text)
{
    return text->at == text->end;
}

bool text_line(struct text *text, struct text *line)
{
    const char *end;

    if (text_is_empty(text))
        return false;
    end = memchr(text->at, '\n', (size_t)(text->end - text->at));
    *line = (struct text){text->at, end ? end : text->end};
    text->at = end ? end + 1 : text->end;
    return true;
}

uint64_t text_count_lines(struct text text)
{
    struct text line;
    uint64_t n = 0;

    while (text_line(&text, &line))
        n++;
    return n;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == ',' || c == '\r';
}

struct text text_word(struct text *line)
{
    struct text word;

    while (line->at < line->end && is_blank(*line->at))
        line->at++;
    word.at = line->at;
    while (line->at < line->end && !is_blank(*line->at))
        line->at++;
    word.end = line->at;
    return word;
}

bool text_has_word(const struct text *line)
{
    struct text rest = *line;
    struct text word = text_word(&rest);

    return !text_is_empty(&word);
}

size_t text_count_words(struct text line)
{
    struct text word = text_word(&line);
    size_t n = 0;

    for (; !text_is_empty(&word); word = text_word(&line))
        n++;
    return n;
}

bool text_begins(const struct text *text, const char *prefix)
{
    size_t n = strlen(prefix);

    return (size_t)(text->end - text->at) >= n && strncasecmp(text->at, prefix, n) == 0;
}

/* What a message can show of a word: '...' after a long one, '?' for a byte that cannot be printed. */
static const char *shown(const struct text *word, char *copy)
{
    size_t n = (size_t)(word->end - word->at);
    size_t kept = n < SHOWN_BYTES ? n : SHOWN_BYTES;

    for (size_t i = 0; i < kept; i++)
        copy[i] = isprint((unsigned char)word->at[i]) ? word->at[i] : '?';
    strcpy(copy + kept, n > kept ? "..." : "");
    return copy;
}

static bool wrong(const struct text *word, const char *what, char *problem)
{
    char copy[SHOWN_BYTES + 4];

    snprintf(problem, PROBLEM_BYTES, "'%s' is %s", shown(word, copy), what);
    return false;
}

bool text_number(struct text *line, const char *what, uint64_t *number, char *problem)
{
    struct text word = text_word(line);
    uint64_t value = 0;

    if (text_is_empty(&word)) {
        snprintf(problem, PROBLEM_BYTES, "%s is missing", what);
        return false;
    }
    for (const char *c = word.at; c < word.end; c++) {
        uint64_t digit = (uint64_t)(unsigned char)*c - '0';

        if (*c < '0' || *c > '9')
            return wrong(&word, "not a whole number from 0 on", problem);
        if (value > (UINT64_MAX - digit) / 10)
            return wrong(&word, "more than 2^64 - 1", problem);
        value = 10 * value + digit;
    }
    *number = value;
    return true;
}

static bool is_value(const struct text *word)
{
    for (const char *c = word->at; c < word->end; c++)
        if (!strchr("0123456789+-.eEdD", *c) || *c == '\0')
            return text_begins(word, "nan") || text_begins(word, "inf") || text_begins(word, "-inf");
    return !text_is_empty(word);
}

bool text_values(struct text *line, int n, char *problem)
{
    for (int i = 0; i < n; i++) {
        struct text word = text_word(line);

        if (text_is_empty(&word)) {
            snprintf(problem, PROBLEM_BYTES, "a value is missing");
            return false;
        }
        if (!is_value(&word))
            return wrong(&word, "no number", problem);
    }
    return text_ends(line, problem);
}

bool text_ends(struct text *line, char *problem)
{
    struct text word = text_word(line);

    return text_is_empty(&word) || wrong(&word, "too much for this line", problem);
}
