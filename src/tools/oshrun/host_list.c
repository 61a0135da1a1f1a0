/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host lists and the lines of host files. host_file.c reads the files.
 */
#define _GNU_SOURCE
#include "tools/oshrun/host_list.h"

#include "tools/complain.h"
#include "tools/oshrun/word_list.h"

#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAME = 255 };

/* Part of a text. */
struct span {
    const char *at;
    size_t length;
};

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-[]@+%";
static const char blanks[] = " \t\r\v\f";
/* what host files of Open MPI and MPICH may say besides, and oshrun needs not know */
static const char *const other_keys[] = {"max_slots", "max-slots", "user", "ifname", "binding"};

static int fail(struct host_fault *fault, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(struct host_fault *fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

/* For messages: not more than somebody wants to read. */
static int shown(struct span span)
{
    return span.length < 60 ? (int)span.length : 60;
}

static bool is_name(struct span name)
{
    if (!name.length || name.length > MOST_NAME || name.at[0] == '-')
        return false;
    for (size_t i = 0; i < name.length; i++)
        if (!name.at[i] || !strchr(letters, name.at[i]))
            return false;
    return true;
}

static int read_slots(struct span text, int *slots, struct host_fault *fault)
{
    if (word_is_count(text.at, text.length, OSHRUN_MOST_PES, slots))
        return 0;
    return fail(fault, "'%.*s' is not a number of PEs from 1 to %d", shown(text), text.at, OSHRUN_MOST_PES);
}

static int add_host(struct host_list *list, struct span name, int slots, struct host_fault *fault)
{
    struct host_entry *host;
    if (slots > OSHRUN_MOST_PES - list->slots)
        return fail(fault, "these are more than %d PEs altogether", OSHRUN_MOST_PES);
    HASH_FIND(hh, list->first, name.at, name.length, host);
    if (!host) {
        host = calloc(1, sizeof *host + name.length + 1);
        if (!host)
            return fail(fault, "no memory is left");
        memcpy(host->name, name.at, name.length);
        HASH_ADD_KEYPTR(hh, list->first, host->name, name.length, host);
        list->n++;
    }
    host->slots += slots;
    list->slots += slots;
    return 0;
}

/* Split "A:2", which gives *slots, or "A", which leaves it at 0. */
static int read_name(struct span word, struct span *name, int *slots, struct host_fault *fault)
{
    const char *colon = memchr(word.at, ':', word.length);
    *name = word;
    *slots = 0;
    if (colon)
        name->length = (size_t)(colon - word.at);
    if (!is_name(*name))
        return fail(fault, "'%.*s' is not the name of a host", shown(*name), name->at);
    if (!colon)
        return 0;
    return read_slots((struct span){colon + 1, word.length - name->length - 1}, slots, fault);
}

int host_list_add_words(struct host_list *list, const char *text, struct host_fault *fault)
{
    for (const char *at = text;; at++) {
        struct span word = {at, strcspn(at, ",")}, name;
        int slots;
        int rc = read_name(word, &name, &slots, fault);
        if (!rc)
            rc = add_host(list, name, slots ? slots : 1, fault);
        if (rc)
            return rc;
        at += word.length;
        if (!*at)
            return 0;
    }
}

static bool is_blank(char c)
{
    return c && strchr(blanks, c);
}

/* Take the next word off the line; with "=", one ends in front of it. */
static struct span next_word(struct span *line, bool ends_at_equals)
{
    while (line->length && is_blank(*line->at)) {
        line->at++;
        line->length--;
    }
    struct span word = {line->at, 0};
    while (word.length < line->length && !is_blank(word.at[word.length]) &&
           !(ends_at_equals && word.at[word.length] == '='))
        word.length++;
    line->at += word.length;
    line->length -= word.length;
    return word;
}

static bool is_word(struct span span, const char *word)
{
    return strlen(word) == span.length && !memcmp(span.at, word, span.length);
}

static bool is_other_key(struct span key)
{
    for (size_t i = 0; i < sizeof other_keys / sizeof other_keys[0]; i++)
        if (is_word(key, other_keys[i]))
            return true;
    return false;
}

/* What stands behind the name: "slots=2", blanks around "=" or not. */
static int read_keys(struct span line, int *slots, struct host_fault *fault)
{
    for (;;) {
        struct span key = next_word(&line, true);
        struct span equals = line;
        if (!key.length && !line.length)
            return 0;
        equals = next_word(&equals, false);
        if (!equals.length || *equals.at != '=')
            return fail(fault, "'%.*s' is not understood: a line is such as \"A\", \"A:2\" or \"A slots=2\"",
                        shown(key), key.at);
        line.length -= (size_t)(equals.at + 1 - line.at);
        line.at = equals.at + 1;
        struct span value = next_word(&line, false);
        if (is_word(key, "slots")) {
            if (*slots)
                return fail(fault, "a second number of PEs");
            int rc = read_slots(value, slots, fault);
            if (rc)
                return rc;
        } else if (!is_other_key(key)) {
            return fail(fault, "'%.*s=' is not understood: a line is such as \"A\", \"A:2\" or \"A slots=2\"",
                        shown(key), key.at);
        }
    }
}

static int add_line(struct host_list *list, struct span line, struct host_fault *fault)
{
    struct span name;
    int slots;
    const char *comment = memchr(line.at, '#', line.length);
    if (memchr(line.at, 0, line.length))
        return fail(fault, "there is a NUL byte: this is no text");
    if (comment)
        line.length = (size_t)(comment - line.at);
    struct span word = next_word(&line, false);
    if (!word.length)
        return 0;
    int rc = read_name(word, &name, &slots, fault);
    if (!rc)
        rc = read_keys(line, &slots, fault);
    return rc ? rc : add_host(list, name, slots ? slots : 1, fault);
}

int host_list_add_lines(struct host_list *list, const char *text, size_t length, struct host_fault *fault)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some editors put it in front of UTF-8 */
    const char *end = text + length;
    if (length >= 3 && !memcmp(text, mark, 3))
        text += 3;
    for (fault->line = 1; text < end; fault->line++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        struct span line = {text, (size_t)((newline ? newline : end) - text)};
        int rc = add_line(list, line, fault);
        if (rc)
            return rc;
        text = line.at + line.length + 1;
    }
    return 0;
}

int host_list_set_slots(struct host_list *list, int slots)
{
    if (slots > OSHRUN_MOST_PES / list->n)
        return -ERANGE;
    for (struct host_entry *host = list->first; host; host = host->hh.next)
        host->slots = slots;
    list->slots = slots * list->n;
    return 0;
}

char *host_list_text(const struct host_list *list, bool with_slots)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    for (const struct host_entry *host = out ? list->first : NULL; host; host = host->hh.next) {
        fprintf(out, host == list->first ? "%s" : ",%s", host->name);
        if (with_slots)
            fprintf(out, ":%d", host->slots);
    }
    if (!out || fclose(out))
        complain_and_exit(1, "no memory is left");
    return text;
}

void host_list_free(struct host_list *list)
{
    struct host_entry *host, *next;
    HASH_ITER(hh, list->first, host, next)
    {
        HASH_DEL(list->first, host);
        free(host);
    }
    *list = (struct host_list){0};
}

const char *host_list_unknown(const struct host_list *list)
{
    for (const struct host_entry *host = list->first; host; host = host->hh.next) {
        struct addrinfo *found = NULL;
        int rc = getaddrinfo(host->name, NULL, NULL, &found);
        if (rc)
            return word_text("%s: %s", host->name, gai_strerror(rc));
        freeaddrinfo(found);
    }
    return NULL;
}
