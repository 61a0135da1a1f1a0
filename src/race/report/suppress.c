/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The file of suppressions: a pattern of the shell on each line, which may match any part of a text. What begins with #
 * is a comment.
 */
#include "race/race.h"
#include "race/report/suppress.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERNS_MOST = 1024 };
static char *patterns[PATTERNS_MOST];
static size_t n_patterns;

static void add_pattern(const char *line)
{
    char *pattern = NULL;
    if (*line && *line != '#' && n_patterns < PATTERNS_MOST && asprintf(&pattern, "*%s*", line) > 0)
        patterns[n_patterns++] = pattern;
}

static void read_patterns(void)
{
    const char *path = getenv("MAPSHMEM_RACE_SUPPRESSIONS");
    FILE *file = path && *path ? fopen(path, "r") : NULL;
    char line[1024];
    if (path && *path && !file)
        fprintf(stderr, "MapSHMEM race, PE %d: cannot read %s (MAPSHMEM_RACE_SUPPRESSIONS)\n", race.pe, path);
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        add_pattern(line);
    }
    if (file)
        fclose(file);
}

bool race_is_suppressed(const char *const texts[RACE_REPORT_TEXTS])
{
    static bool is_read;
    if (!is_read)
        read_patterns();
    is_read = true;
    for (size_t i = 0; i < n_patterns; i++)
        for (int k = 0; k < RACE_REPORT_TEXTS; k++)
            if (texts[k] && !fnmatch(patterns[i], texts[k], 0))
                return true;
    return false;
}
