/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts, gets, puts with signal and atomic operations, as whoever begins them asks for them: the API, collectives, deep
 * copy, the agents of streams and of kernels. Whether an operation is held back, which function of the driver carries it
 * out, and what orders a signal behind its payload is decided here and nowhere else. Functions return 0 or -errno,
 * logged.
 */
#ifndef SHMEMI_OPERATION_H
#define SHMEMI_OPERATION_H

#include "instrument/watch.h"
#include "transport/driver.h"

/* At least a byte. It may be held back with others until a fence or quiet of its context, if nothing waits for it. */
int shmemi_op_transfer(const struct shmemi_transfer *transfer);

/* A contiguous put, which may have no bytes, and the update of a word of the same PE that takes effect after it. */
int shmemi_op_put_signal(const struct shmemi_transfer *put, const struct shmemi_word_update *signal);

/* An atomic operation; old: where the old value belongs, NULL: nowhere. Otherwise the value is there on return if
 * is_blocking, and at quiet if not. */
int shmemi_op_amo(struct shmemi_context *context, const struct shmemi_word_update *update,
                  const struct shmemi_place *old, bool is_blocking);

/* Tells the watchdog and traces of a transfer that may have to wait (watched_transfer.c). */
struct shmemi_transfer_call {
    struct shmemi_call call;
    const struct shmemi_view *view;
    size_t offset, nbytes;
};
void shmemi_describe_transfer(const struct shmemi_call *call, char *text, size_t size);
static inline __attribute__((always_inline)) struct shmemi_transfer_call
shmemi_transfer_call(const char *routine, const struct shmemi_view *view, size_t offset, size_t nbytes)
{
    return (struct shmemi_transfer_call){
        {.routine = routine, .activity = SHMEMI_AT_TRANSFER, .describe = shmemi_describe_transfer},
        view,
        offset,
        nbytes};
}
/* Append "offset 64 of the symmetric heap" and the like. */
void shmemi_append_address(char *text, size_t size, uint32_t region, size_t offset);

#endif
