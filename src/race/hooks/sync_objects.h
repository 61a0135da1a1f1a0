/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Order between threads of a process, through objects known by their addresses.
 */
#ifndef RACE_SYNC_OBJECTS_H
#define RACE_SYNC_OBJECTS_H

#include "race/clocks.h"

/* What the calling thread knows becomes known to who acquires the object after this. Nothing happens inside of the
 * library. */
void race_sync_release(uintptr_t object);
void race_sync_acquire(uintptr_t object);

/* The definition that the program would use if the mode were not there. */
void *race_next(const char *name);

#endif
