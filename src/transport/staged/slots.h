/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The origin's side of staging slots (request.h describes their states): who holds them, what they wait for,
 * and when they are complete.
 *
 * A thread holds the slot that it has claimed. It frees the slot itself, or leaves it with the request: then the thread
 * that finds the request finished - in the context's quiet, or in need of a slot - starts to copy the answer to its
 * destination, and one that finds the copy complete frees the slot.
 */
#ifndef SHMEMI_SLOTS_H
#define SHMEMI_SLOTS_H

#include "transport/driver.h"
#include "transport/progress.h"
#include "transport/request.h"

/* Mark all slots free and set all counts to 0, before the first operation. */
void shmemi_slots_open(void);

/* A free slot for an operation on this context; -EAGAIN when there is none, even after finished ones were freed. */
int shmemi_slot_claim(struct shmemi_context *context);
/* Does this thread hold slots, or is it sending the request of one? A thread that has left a slot with its request says so
 * when that has been sent. */
bool shmemi_slots_are_in_hand(void);
void shmemi_slot_let_go(void);
/* Give back a slot whose request is finished or was not sent. */
void shmemi_slot_free(unsigned slot);
/* Wait until the owner, the PE of the view, has answered. 0: the answer lies in the slot, which the caller frees; -EIO,
 * logged: the request has failed, the slot is free again. */
int shmemi_slot_wait(const struct shmemi_view *view, unsigned slot);

/* Leave a slot with its request, before that is sent. dest is where rows of the answer go; NULL when none is expected.
 * If the request cannot be sent, the slot is the caller's again. */
void shmemi_slot_leave(unsigned slot, const struct shmemi_place *dest, const struct shmemi_shape *shape);

/* Leave a slot that is still being filled: a thread that makes progress sends the request when the event has completed.
 * Quiet reports failures. */
void shmemi_slot_leave_loading(unsigned slot, const struct shmemi_event *event, const struct shmemi_transfer *put,
                               const struct shmemi_request *request);
/* Are any slots being filled? */
bool shmemi_slots_are_loading(void);
/* Wait until at most so many slots are being filled for this put, which is blocking: others of its context, maybe of other
 * threads, may go on. -EIO: one of the context could not be filled, or its request not be sent, which has been logged. */
int shmemi_slots_await_filled(const struct shmemi_transfer *put, unsigned most);
/* Sends the requests of slots that have been filled. */
extern const struct shmemi_worker shmemi_worker_slots;

/* Copy the answers for this context that have arrived to their destinations. -EAGAIN when some are still expected or
 * slots are still being filled, else 0. */
int shmemi_slots_poll(struct shmemi_context *context);
/* Where requests have failed: what fails here is logged where it does. */
enum { SHMEMI_FAILED_HERE = 1, SHMEMI_FAILED_AT_OWNER = 2 };
/* Wait for the slots left on this context. Returns where its requests have failed; 0: nowhere. */
unsigned shmemi_slots_await(struct shmemi_context *context);
/* Wait for the slots left on this context and for the requests without a slot that any context sent before the call,
 * since those are not counted by context. -EIO, logged, when one has failed. */
int shmemi_slots_complete(struct shmemi_context *context);

#endif
