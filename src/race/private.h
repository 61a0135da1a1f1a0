/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of this process that is not symmetric: buffers of nbi operations, and, once there are several threads, what any
 * of them uses.
 */
#ifndef RACE_PRIVATE_H
#define RACE_PRIVATE_H

#include "race/area.h"

void race_private_enter_thread(void);

/* The word of the shadow for an address; NULL: its page is not watched. makes: watch it, unless there is no room. */
struct race_word *race_private_word(uintptr_t address, bool makes);

/* Watch the pages of a range from now on, which is private unless it is symmetric. */
void race_private_watch(uintptr_t address, size_t size);

/* Check an access, and keep it where its page is watched. watches: watch its pages from now on. */
void race_private_check(uintptr_t address, size_t size, const struct race_access *access, bool watches);

/* The memory is given back. */
void race_private_clear(uintptr_t address, size_t size);

/* The address that a word's number stands for. */
uintptr_t race_private_address(uint64_t number);

#endif
