/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls that access symmetric memory, or order accesses, and that the mode does not watch.
 */
#ifndef RACE_UNWATCHED_H
#define RACE_UNWATCHED_H

/* A line on stderr with those that the program and its libraries refer to; nothing if there are none. */
void race_tell_unwatched(void);

#endif
