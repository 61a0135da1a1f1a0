/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The places of the library's threads: which PEs of this machine are bound to what, and what that leaves
 * (gpu/thread_cores.h).
 */
#ifndef SHMEMI_THREADS_H
#define SHMEMI_THREADS_H

#include <stdbool.h>
#include <stddef.h>

/* After the node segment was joined, and before the first thread that is to be placed. */
void shmemi_threads_place(void);

/* Write where this PE is bound and where its threads run: "PE on processors 0, threads on 1: cores of their own". */
void shmemi_threads_describe(char *text, size_t size);

/* The calling thread goes to its place, and gets a name for traces, which is not copied, and one of at most 15
 * characters for tools such as ps. */
void shmemi_threads_enter(const char *name, const char *short_name);
bool shmemi_thread_is_librarys(void); /* has this thread done so? */

#endif
