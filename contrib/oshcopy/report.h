/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What oshcopy has done, for OSHCOPY_LOG: 1: a line at the end of each process that has looked for the CUDA driver; 2:
 * also a line for each copy of OSHCOPY_MIN bytes and more. On stderr. Any thread may call these functions.
 */
#ifndef SHMEMI_REPORT_H
#define SHMEMI_REPORT_H

#include "contrib/oshcopy/takeover.h"

/* Read OSHCOPY_LOG. */
void shmemi_report_open(void);
/* The process has looked for the CUDA driver. */
void shmemi_report_driver(void);
/* Seconds on some clock; 0 when nothing is reported. */
double shmemi_report_now(void);
/* A copy, and when it began. */
void shmemi_report_copy(const struct shmemi_program_copy *copy, enum shmemi_outcome outcome, double begun);
/* In the child of a fork: what its parent has done is not reported again. */
void shmemi_report_forked(void);
/* At the end of the process. */
void shmemi_report_close(void);

#endif
