/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drawing, running and printing a program.
 */
#ifndef MODEL_PROGRAM_H
#define MODEL_PROGRAM_H

#include "tester.h"

void program_draw(uint64_t seed);
void program_run(void);
void step_print(const struct drawn_step *step, FILE *out);
void program_print(FILE *out);

#endif
