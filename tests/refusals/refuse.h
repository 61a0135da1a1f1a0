/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Refuses calls for resources: memory, threads, descriptors, mappings, what UCX and OpenCL give. The linker puts the
 * functions of refuse.c in front of those that the library calls (ld --wrap); what UCX and OpenCL call themselves goes
 * past them. The program is linked with the library's code for this.
 */
#ifndef REFUSE_H
#define REFUSE_H

#include <stdbool.h>

/* From now on count the calls, of all threads, and refuse the k-th, and all later ones of the same function if `forever`. */
void refuse_arm(int k, bool forever);

/* Refuse nothing from now on. The name of the function that was refused; NULL: there were not so many calls. */
const char *refuse_disarm(void);

/* Calls since refuse_arm. */
int refuse_count(void);

/* What the library holds at the moment, and the process has open. */
struct refuse_held {
    long blocks;  /* of memory */
    long n_taken; /* blocks so far */
    long mapped;  /* bytes */
    long objects; /* references to objects of OpenCL */
    long files, threads;
};
struct refuse_held refuse_held(void);

/* Print where the blocks were taken that are held and came after so many. */
void refuse_print_since(long n_taken);

#endif
