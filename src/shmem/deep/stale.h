/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHMEM_CHECK_TYPES: types that oshtypes has written against the debug information of the program.
 */
#ifndef SHMEMI_DEEP_STALE_H
#define SHMEMI_DEEP_STALE_H

/* Let oshtypes --check look at the file that the address, of the types' tables, was loaded from. 0; -ESTALE when they
 * differ, -ENOENT when there is no oshtypes; logged. */
int shmemi_deep_check_program(const char *routine, const void *address);

#endif
