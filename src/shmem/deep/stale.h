/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHMEM_CHECK_TYPES: compares the types that oshtypes wrote with the debug information of the program.
 */
#ifndef SHMEMI_DEEP_STALE_H
#define SHMEMI_DEEP_STALE_H

/* Run oshtypes --check on the file that holds the address of the types' tables. Returns 0, or logs the cause and
 * returns -ESTALE if the types differ, -ENOENT if there is no oshtypes. */
int shmemi_deep_check_program(const char *routine, const void *address);

#endif
