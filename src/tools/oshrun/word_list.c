/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words, texts, and how words are written so that a shell takes them for what they are.
 */
#define _GNU_SOURCE
#include "tools/oshrun/word_list.h"

#include "tools/complain.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=,:+@%-";

static struct word_list texts; /* all that word_text has made, so that they can be reached */

static void *checked(void *memory)
{
    if (!memory)
        complain_and_exit(1, "no memory is left");
    return memory;
}

char *word_text(const char *format, ...)
{
    char *text;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    word_list_add(&texts, checked(text));
    return text;
}

void word_list_add(struct word_list *list, const char *word)
{
    if (list->n + 1 >= list->room) {
        list->room = list->room ? 2 * list->room : 16;
        list->all = checked(realloc(list->all, list->room * sizeof list->all[0]));
    }
    list->all[list->n++] = (char *)word;
    list->all[list->n] = NULL;
}

void word_list_add_two(struct word_list *list, const char *first, const char *second)
{
    word_list_add(list, first);
    word_list_add(list, second);
}

void word_list_add_all(struct word_list *list, char *const words[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        word_list_add(list, words[i]);
}

bool word_list_matches(const struct word_list *list, const char *const patterns[])
{
    for (size_t i = 0; i < list->n; i++)
        for (size_t k = 0; patterns[k]; k++)
            if (!fnmatch(patterns[k], list->all[i], 0))
                return true;
    return false;
}

static void print_word(FILE *out, const char *word)
{
    bool printable = true;
    for (const char *c = word; *c; c++)
        printable = printable && *c >= ' ' && *c <= '~';
    if (!printable) { /* $'...' of bash and others */
        fputs("$'", out);
        for (const char *c = word; *c; c++)
            fprintf(out,
                    *c == '\'' || *c == '\\' ? "\\%c"
                    : *c >= ' ' && *c <= '~' ? "%c"
                                             : "\\%03o",
                    (unsigned char)*c);
        fputc('\'', out);
    } else if (!*word) {
        fputs("''", out);
    } else {
        for (const char *c = word; *c; c++)
            fprintf(out, strchr(plain, *c) ? "%c" : "\\%c", *c);
    }
}

void word_list_print(FILE *out, const struct word_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (i)
            fputc(' ', out);
        print_word(out, list->all[i]);
    }
}

bool word_is_count(const char *text, size_t length, int most, int *value)
{
    long number = 0;
    if (!length)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
        number = 10 * number + (text[i] - '0');
        if (number > most)
            return false;
    }
    *value = (int)number;
    return number > 0;
}
