/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps that refusals.c takes while calls are refused, and what must work before and after each.
 */
#ifndef STEPS_H
#define STEPS_H

#include "../api/check.h"
#include "refuse.h"

#include <shmemx.h>
#include <stdbool.h>

enum fails_on { ON_ALL_PES, ON_ITS_PE };

struct step {
    const char *name;
    enum fails_on fails_on;
    bool is_fresh;        /* taken for the first time after shmem_init */
    bool (*exists)(void); /* here; the same on all PEs */
    int (*take)(void);    /* 0, or it has failed on this PE */
    void (*undo)(void);   /* when take has returned 0 */
};
extern const struct step steps[]; /* the last one has no name */

/* A step that ends the job when it fails. */
struct ending {
    const char *name;
    void (*prepare)(void);
    void (*take)(void);
    void (*finish)(void);
};
extern const struct ending endings[];

/* Collective: what the checks use; the library is initialised. */
void steps_open(void);
void steps_close(void);
/* shmem_finalize, and all anew. What is held after shmem_init. */
struct refuse_held steps_start_again(void);

/* Collective: shmmap refuses an object for which the window has no room, and one more than there are numbers. */
void steps_fill_window(void);
void steps_take_all_numbers(void);

/* Collective: transfers, atomic operations, teams, contexts and mapped memory that are there do what they should. */
void steps_check_all(const char *when);

#endif
