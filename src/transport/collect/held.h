/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of what contexts hold back (hold_back.h), so that it leaves without the program: when a thread begins to wait in
 * the library, and after one or two milliseconds, by the service thread.
 */
#ifndef SHMEMI_HELD_H
#define SHMEMI_HELD_H

#include "transport/driver.h"
#include "transport/progress.h"

/* Something is held back from now on; `send` lets all of it leave. With the lock of `held`, as the next one; either may be
 * called again. */
void shmemi_held_begin(struct shmemi_context *context, struct shmemi_held *held,
                       int (*send)(struct shmemi_context *context));
void shmemi_held_end(struct shmemi_held *held);

/* The first error of what has left without the program; it is told once. */
int shmemi_held_take_failure(struct shmemi_held *held);

/* Lets everything leave that any context holds back, unless another thread is using it. A thread that begins to wait lets
 * all leave; the service thread only what the last sweep has found already. */
extern const struct shmemi_worker shmemi_worker_held;

#endif
