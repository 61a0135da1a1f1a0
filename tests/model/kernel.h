/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The work areas of kernels that communicate, for programs that have such kernels; collective.
 */
#ifndef MODEL_KERNEL_H
#define MODEL_KERNEL_H

#include "tester.h"

void kernels_make(void);
void kernels_free(void);

#endif
