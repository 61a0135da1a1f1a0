/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lines about mistakes, each written by one call.
 */
#define _GNU_SOURCE
#include "tools/complain.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Whether a terminal would act on the byte: C0, DEL, and C1 in UTF-8. */
static bool is_control(const unsigned char *byte)
{
    return *byte < ' ' || *byte == 0x7f || (byte[0] == 0xc2 && byte[1] >= 0x80 && byte[1] < 0xa0);
}

static void complain_with(const char *format, va_list arguments)
{
    char *text = NULL, *line = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&line, &length);
    if (!out || vasprintf(&text, format, arguments) < 0)
        abort();
    fprintf(out, "%s: ", complain_name);
    for (const unsigned char *byte = (unsigned char *)text; *byte; byte++)
        fprintf(out, is_control(byte) ? "\\%03o" : "%c", *byte);
    fputc('\n', out);
    fclose(out);
    if (write(STDERR_FILENO, line, length) < 0) {
        /* there is nobody who could be told */
    }
    free(line);
    free(text);
}

void complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    complain_with(format, arguments);
    va_end(arguments);
}

void complain_and_exit(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    complain_with(format, arguments);
    va_end(arguments);
    exit(status);
}
