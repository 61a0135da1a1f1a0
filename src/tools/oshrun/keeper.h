/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ends a launcher that hangs, and what a launcher that was killed has left. mpirun can lock itself up when a PE fails
 * while it starts, and then reacts to no signal but SIGKILL; its own children and folders stay behind.
 *
 * That is the work of a process of its own, the keeper, which also sees when oshrun itself has been killed: it reads
 * orders from a pipe whose other end only oshrun has.
 */
#ifndef KEEPER_H
#define KEEPER_H

#include "tools/oshrun/oshrun.h"

#include <sys/types.h>

struct keeper {
    pid_t pid; /* 0: there is none */
    int orders;
};

enum keeper_order {
    KEEPER_END = 'e',    /* the launcher has to end now */
    KEEPER_DONE = 'd',   /* it has ended, and the job was good */
    KEEPER_FAILED = 'f', /* it has ended, and the job was not */
};

/* Start the keeper; ends the process if that fails. The first order is the launcher's pid, a pid_t. It exits with 1 if
 * the launcher had to be ended, otherwise with 0. */
void keeper_open(struct keeper *keeper, const struct oshrun_job *job);
void keeper_tell_launcher(const struct keeper *keeper, pid_t launcher);
void keeper_order(const struct keeper *keeper, enum keeper_order order);

/* sweep.c: processes of the launcher's session, which it has for itself, and its folders. */
void oshrun_sweep(pid_t launcher);
/* Whether the process has ended, though perhaps nobody has waited for it. */
bool oshrun_has_ended(pid_t pid);
void oshrun_sleep_ms(long milliseconds);

#endif
