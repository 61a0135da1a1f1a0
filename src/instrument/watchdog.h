/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The watchdog's thread: it looks at what waits while no thread of the program need be in a call of the library, in
 * streams and in kernels, and at the steps of shmem_init. Calls are looked at by the threads that wait in them
 * (instrument/watch.h). There is no thread before something is to be watched.
 */
#ifndef SHMEMI_WATCHDOG_H
#define SHMEMI_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

/* Reports what has waited for too long, at this time; false when nothing waits any more. */
typedef bool shmemi_watchdog_look(uint64_t now);

/* Something waits: the thread calls the function soon, and every SHMEMI_WATCHDOG_LOOK_NS until it has returned false. False:
 * there is no such thread; a warning says so of `what`, unless that is NULL. */
bool shmemi_watchdog_call(shmemi_watchdog_look *look, const char *what);

/* End the thread, and forget the functions. */
void shmemi_watchdog_stop(void);

#endif
