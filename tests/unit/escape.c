/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text from outside, made harmless: every byte and every pair of bytes as JSON, what is no UTF-8, buffers that are too
 * small, lines for terminals.
 */
#include "base/text/escape.h"

#include "unit.h"

#include <string.h>

static const char *json(const char *text)
{
    static char out[256];
    out[shmemi_escape_json(out, sizeof out - 1, &text)] = '\0';
    CHECK(!*text);
    return out;
}

static void check_json(const char *text, const char *expected)
{
    if (strcmp(json(text), expected))
        fprintf(stderr, "%s became %s, expected %s\n", text, json(text), expected);
    CHECK(!strcmp(json(text), expected));
}

/* Bytes of which none is a control character, and quotation marks and backslashes come in sequences. */
static void check_is_inside_of_a_string(const char *text)
{
    for (; *text; text++) {
        CHECK((unsigned char)*text >= ' ' && *text != 0x7f && *text != '"');
        if (*text == '\\')
            CHECK(*++text == '"' || *text == '\\' || *text == 'u');
    }
}

static void check_all_pairs(void)
{
    for (int a = 1; a < 256; a++)
        for (int b = 0; b < 256; b++) {
            const char text[] = {(char)a, (char)b, '\0'};
            check_is_inside_of_a_string(json(text));
        }
}

static void check_sizes(void)
{
    char out[8] = "........";
    const char *text = "ab\n\xc3\xa4";
    CHECK(shmemi_escape_json(out, 7, &text) == 2 && !strncmp(out, "ab......", 8) && *text == '\n');
    CHECK(shmemi_escape_json(out, 0, &text) == 0 && *text == '\n');
    CHECK(shmemi_escape_json(out, 7, &text) == 6 && !strncmp(out, "\\u000a..", 8));
    CHECK(shmemi_escape_json(out, 1, &text) == 0 && shmemi_escape_json(out, 2, &text) == 2 && !*text);
}

static void check_line(const char *text, const char *expected)
{
    char line[64];
    strcpy(line, text);
    shmemi_escape_line(line, strlen(line));
    CHECK(!strcmp(line, expected));
}

int main(void)
{
    check_json("plain \"quoted\" \\ \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
               "plain \\\"quoted\\\" \\\\ \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    check_json("\x1b[31m\t\x7f", "\\u001b[31m\\u0009\\u007f");
    check_json("\xc2\x9b", "\\u009b");
    check_json("a\xffz", "a\\ufffdz");
    check_json("\xc3", "\\ufffd");
    check_json("\x90\x80", "\\ufffd\\ufffd");
    check_json("\xc0\xaf", "\\ufffd\\ufffd");
    check_json("\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"); /* half of a surrogate pair */
    check_json("\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd");
    check_all_pairs();
    check_sizes();
    check_line("a\nb\x1b[0m\x7f", "a?b?[0m?");
    check_line("\xc2\x9b\xc3\xa4\xc2", "??\xc3\xa4?");
    check_line("\xe2\x80\xae\xff\xe2\x82", "??????");
    return 0;
}
