/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints the settings: as lines with their present values, and as the page doc/settings.md.
 */
#include "base/settings.h"

#include "base/text/escape.h"

#include <stdlib.h>
#include <string.h>

/* The value that the user has given may have any characters; what it shows is the same line for all. */
static void print_value(FILE *stream, const char *text)
{
    char *value = strdup(text);
    if (!value)
        return;
    shmemi_escape_line(value, strlen(value));
    fprintf(stream, "%-10s", value);
    free(value);
}

void shmemi_settings_print(FILE *stream, bool internal)
{
    struct shmemi_setting_info info;
    for (int i = 0; shmemi_setting_at(i, &info); i++) {
        if (internal ? !info.tuning : info.tuning && !info.set_by)
            continue;
        const char *usual = *info.usual ? info.usual : "(not set)";
        fprintf(stream, "  %-22s ", info.name);
        print_value(stream, info.set_by ? info.value : usual);
        fprintf(stream, " default %-10s %s%s%s%s\n", usual, info.meaning, *info.allowed ? " [" : "", info.allowed,
                *info.allowed ? "]" : "");
    }
}

/* A | would end the cell of the table, so words are separated by commas. */
static void print_allowed(FILE *stream, const char *values)
{
    fputs(*values ? "" : "any text", stream);
    for (; *values; values++)
        fprintf(stream, *values == '|' ? ", " : "%c", *values);
}

static void print_table(FILE *stream)
{
    struct shmemi_setting_info info;
    fputs("| variable | default | allowed | meaning |\n|---|---|---|---|\n", stream);
    for (int i = 0; shmemi_setting_at(i, &info); i++) {
        if (info.tuning)
            continue;
        fprintf(stream, "| `%s` | %s | ", info.name, *info.usual ? info.usual : "not set");
        print_allowed(stream, info.allowed);
        fprintf(stream, " | %s |\n", info.meaning);
    }
}

void shmemi_settings_print_page(FILE *stream)
{
    const char *alias, *name;
    fputs("<!-- Made from src/base/settings.def by `oshinfo --settings-page`: do not edit. -->\n\n# Settings\n\n"
          "MapSHMEM reads its settings from environment variables when a program starts. `oshinfo --settings` prints "
          "their\npresent values. `oshrun` passes them on to all PEs, also on other hosts. Sizes are bytes, with an "
          "optional suffix k, m,\ng or t (1k is 1024). An invalid value ends the program with a message, and so does a "
          "name that is one letter off one of\nthose below (`SHMEM_STRICT`). Other variables that begin with `SHMEM_` "
          "are reported, and the program goes on.\n\n",
          stream);
    print_table(stream);
    fputs("\n## Other names\n\n", stream);
    for (int i = 0; shmemi_setting_alias_at(i, &alias, &name); i++)
        fprintf(stream, "- `%s` is read when `%s` is not set\n", alias, name);
}
