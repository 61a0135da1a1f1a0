/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Compares messages with the patterns.
 */
#include "tools/oshrun/patterns.h"

#include "tools/complain.h"
#include "tools/oshrun/word_list.h"

#include <stdlib.h>

static const char *const expressions[N_PATTERNS] = {
#define PATTERN(_name, _expression) _expression,
    PATTERNS(PATTERN)
#undef PATTERN
};

bool pattern_matches(enum message_pattern pattern, const char *text, struct pattern_match *match)
{
    static struct {
        regex_t regex;
        bool compiled;
    } all[N_PATTERNS];
    struct pattern_match unused;
    if (!match)
        match = &unused;
    if (!all[pattern].compiled && regcomp(&all[pattern].regex, expressions[pattern], REG_EXTENDED))
        complain_and_exit(1, "no memory is left");
    all[pattern].compiled = true;
    match->text = text;
    return !regexec(&all[pattern].regex, text, sizeof match->at / sizeof match->at[0], match->at, 0);
}

char *pattern_part(const struct pattern_match *match, int part)
{
    return word_text("%.*s", (int)(match->at[part].rm_eo - match->at[part].rm_so), match->text + match->at[part].rm_so);
}

int pattern_number(const struct pattern_match *match, int part)
{
    regoff_t length = match->at[part].rm_eo - match->at[part].rm_so;
    return length <= 9 ? atoi(match->text + match->at[part].rm_so) : -1;
}
