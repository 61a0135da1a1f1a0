/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshinfo --settings-man: the settings as the manual page shmem_settings(7), from the rows of settings.def.
 */
#include "tools/oshinfo.h"

#include "base/settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char head[] = ".\\\" SPDX-License-Identifier: BSD-3-Clause\n.\\\"\n"
                           ".\\\" Made from src/base/settings.def by oshinfo --settings-man: do not edit.\n"
                           ".Dd November 23, 2026\n.Dt SHMEM_SETTINGS 7\n.Os MapSHMEM\n.Sh NAME\n.Nm shmem_settings\n"
                           ".Nd environment variables of MapSHMEM\n.Sh DESCRIPTION\n"
                           "The library reads these environment variables when a program starts.\n"
                           ".Ql oshinfo --settings\nprints their present values, and\n.Xr oshrun 1\n"
                           "passes them on to all PEs, also on other hosts.\n"
                           "Sizes are bytes, with an optional suffix k, m, g or t (1k is 1024).\n"
                           "An invalid value ends the program with a message, and so does a name that is\n"
                           "one letter off one of these\n.Pq Ev SHMEM_STRICT .\n"
                           "Other variables that begin with SHMEM_ are reported, and the program goes on.\n";

static const char tail[] = ".Sh SEE ALSO\n.Xr oshinfo 1 ,\n.Xr oshrun 1 ,\n.Xr shmem 7 ,\n.Xr shmem_routes 7\n";

/* A line may not begin with a dot or an apostrophe, so none may begin with anything but a letter. Lines are folded. */
static void print_text(const char *text)
{
    enum { COLUMNS = 76 };
    size_t column = 0;
    for (const char *word = text; *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        if (column + length >= COLUMNS)
            column = 0;
        printf("%s%.*s", column ? " " : word == text ? "" : "\n", (int)length, word);
        column += length + 1;
        word += length;
    }
}

/* Words of a choice have a | between them. */
static void print_allowed(const char *allowed)
{
    fputs(*allowed ? "Allowed: " : "Any text", stdout);
    for (; *allowed; allowed++)
        fputs(*allowed == '|' ? ", " : (char[]){*allowed, '\0'}, stdout);
    puts(".");
}

static void print_list(void)
{
    struct shmemi_setting_info info;
    puts(".Bl -tag -width Ds");
    for (int i = 0; shmemi_setting_at(i, &info); i++) {
        if (info.tuning)
            continue;
        printf(".It Ev %s\n", info.name);
        print_text(info.meaning);
        puts(".");
        print_allowed(info.allowed);
        printf("Default: %s.\n", *info.usual ? info.usual : "not set");
    }
    puts(".El");
}

void oshinfo_settings_man(void)
{
    const char *alias, *name;
    fputs(head, stdout);
    puts(".Sh ENVIRONMENT");
    print_list();
    puts(".Ss Other names");
    puts(".Bl -tag -width Ds");
    for (int i = 0; shmemi_setting_alias_at(i, &alias, &name); i++)
        printf(".It Ev %s\nis read when\n.Ev %s\nis not set.\n", alias, name);
    puts(".El");
    fputs(tail, stdout);
}
