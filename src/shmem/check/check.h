/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHMEM_CHECK=1: what is looked at besides the arguments that are always checked. Each of these ends the job with one
 * line when it finds a mistake of the program, and is one test that fails when SHMEM_CHECK is off. Blocks of the heap are
 * in shmmap/guarded.h.
 */
#ifndef SHMEMI_CHECK_H
#define SHMEMI_CHECK_H

#include "base/settings.h"
#include "shmem/internal.h"

struct shmemi_team;

enum { SHMEMI_CHECK_ARGUMENTS = 6 };

/* Arguments that all PEs of a team must pass alike, with names for messages. */
struct shmemi_check_arguments {
    struct {
        const char *name;
        uint64_t value;
    } of[SHMEMI_CHECK_ARGUMENTS];
};
#define SHMEMI_ARGUMENTS(...) (&(const struct shmemi_check_arguments){{__VA_ARGS__}})

/* Compare routine and arguments (NULL: none) over the team before a collective: all members call this, or the job ends
 * with a line of the team's first PE that names the first PE that differs from it. */
void shmemi_compare_calls(const char *routine, struct shmemi_team *team,
                          const struct shmemi_check_arguments *arguments);
static inline void shmemi_check_equal(const char *routine, struct shmemi_team *team,
                                      const struct shmemi_check_arguments *arguments)
{
    if (shmemi_unlikely(shmemi_settings.check))
        shmemi_compare_calls(routine, team, arguments);
}

/* Two ranges must not overlap, or only be the same if may_be_same. */
void shmemi_refuse_overlap(const char *routine, const void *dest, size_t dest_bytes, const void *source,
                           size_t source_bytes, bool may_be_same);
static inline void shmemi_check_overlap(const char *routine, const void *dest, size_t dest_bytes, const void *source,
                                        size_t source_bytes, bool may_be_same)
{
    if (shmemi_unlikely(shmemi_settings.check))
        shmemi_refuse_overlap(routine, dest, dest_bytes, source, source_bytes, may_be_same);
}

/* Whether this thread may use the context now: the thread level of the library, and the promises that the program made
 * with SHMEM_CTX_PRIVATE and SHMEM_CTX_SERIALIZED. begin claims the context until end, so that another thread that
 * comes meanwhile is found; it returns whether end must be called. */
void shmemi_refuse_thread(const char *routine, const struct shmemi_context *context);
static inline void shmemi_check_thread(const char *routine, const struct shmemi_context *context)
{
    if (shmemi_unlikely(shmemi_settings.check))
        shmemi_refuse_thread(routine, context);
}
bool shmemi_check_begin(const char *routine, struct shmemi_context *context);
void shmemi_check_end(struct shmemi_context *context);

/* Both for a transfer between these addresses. Returns whether end must be called. */
bool shmemi_check_addresses(const struct shmemi_transfer *transfer, const void *symmetric, const void *local);

/* Carry out a transfer between these addresses, or, unless signal is NULL, a put with signal. Ends the job on errors. */
static inline void shmemi_transfer_checked(const struct shmemi_transfer *transfer, const void *symmetric,
                                           const void *local, const struct shmemi_word_update *signal)
{
    const bool is_claimed =
        shmemi_unlikely(shmemi_settings.check) && shmemi_check_addresses(transfer, symmetric, local);
    shmemi_require(signal ? shmemi_op_put_signal(transfer, signal) : shmemi_op_transfer(transfer));
    if (shmemi_unlikely(is_claimed))
        shmemi_check_end(transfer->context);
}

/* What a barrier over all PEs looks at. */
void shmemi_check_heap(const char *routine);

#endif
