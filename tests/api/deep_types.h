/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks of the routines about types, in the order in which a program calls them.
 */
#ifndef DEEP_TYPES_H
#define DEEP_TYPES_H

void check_types_before_init(void);
void check_types_in_job(void); /* collective */
void check_types_after_finalize(void);

#endif
