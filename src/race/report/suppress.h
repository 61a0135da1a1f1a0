/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Races that the user does not want to hear of.
 */
#ifndef RACE_SUPPRESS_H
#define RACE_SUPPRESS_H

#include <stdbool.h>

enum { RACE_REPORT_TEXTS = 5 };

/* Whether a line of the file of MAPSHMEM_RACE_SUPPRESSIONS is found in one of the texts of a report; NULL: none. */
bool race_is_suppressed(const char *const texts[RACE_REPORT_TEXTS]);

#endif
