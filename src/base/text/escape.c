/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Text from outside, made harmless for where it goes.
 */
#include "base/text/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DELETE = 0x7f, CONTROLS_END = 0xa0, SEQUENCE_MAX = 8 };

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* The bytes of the UTF-8 character that text begins with, 0 if it is none [RFC 3629]. *code_p is its number. */
static size_t character(const unsigned char *text, uint32_t *code_p)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = text[0] < 0x80 ? 1 : text[0] < 0xc0 || text[0] >= 0xf8 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    uint32_t code = n > 1 ? text[0] & (0x7fu >> n) : text[0];
    for (size_t i = 1; i < n; i++) {
        if (!is_continuation(text[i]))
            return 0;
        code = code << 6 | (text[i] & 0x3fu);
    }
    if (!n || code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0;
    *code_p = code;
    return n;
}

static bool is_control(uint32_t code)
{
    return code < ' ' || (code >= DELETE && code < CONTROLS_END);
}

/* Makes a terminal show what follows in another order, or on another line. */
static bool turns_direction(uint32_t code)
{
    return (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* The character at text for JSON. Returns how many bytes of text it is. */
static size_t to_json(char sequence[SEQUENCE_MAX], const char *text)
{
    uint32_t code = 0;
    size_t n = character((const unsigned char *)text, &code);
    if (!n)
        strcpy(sequence, "\\ufffd");
    else if (is_control(code))
        snprintf(sequence, SEQUENCE_MAX, "\\u%04x", (unsigned)code);
    else
        snprintf(sequence, SEQUENCE_MAX, "%s%.*s", code == '"' || code == '\\' ? "\\" : "", (int)n, text);
    return n ? n : 1;
}

size_t shmemi_escape_json(char *out, size_t size, const char **text_p)
{
    char sequence[SEQUENCE_MAX];
    size_t used = 0;
    while (**text_p) {
        const size_t taken = to_json(sequence, *text_p), length = strlen(sequence);
        if (length > size - used)
            break;
        memcpy(out + used, sequence, length);
        used += length;
        *text_p += taken;
    }
    return used;
}

void shmemi_escape_line(char *line, size_t length)
{
    for (size_t i = 0, n; i < length; i += n) {
        uint32_t code = 0;
        n = character((const unsigned char *)line + i, &code);
        if (!n || n > length - i || is_control(code) || turns_direction(code))
            memset(line + i, '?', n = n && n <= length - i ? n : 1);
    }
}
