/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the library's threads are started. They block all signals, which are for the threads of the program.
 */
#ifndef SHMEMI_THREAD_START_H
#define SHMEMI_THREAD_START_H

#include <pthread.h>

/* pthread_create, tried again for a moment when there are too many threads: one that has been joined counts until the
 * kernel has put it away. 0 or -errno, not logged. */
int shmemi_thread_create(pthread_t *thread_p, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);

/* A thread without attributes, of which a message speaks as `what`, such as "the service thread". 0 or -errno, logged. */
int shmemi_thread_start(pthread_t *thread_p, const char *what, void *(*run)(void *), void *argument);

/* Whether this process may have so many more threads, at most 4. 0, or -errno, logged. Libraries that cannot start a
 * thread abort, or write pages. */
int shmemi_threads_check(unsigned n);

#endif
