/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a PE still takes part in the job. Each says so in a word of its heap, which the others read: a PE that calls
 * shmem_finalize, or whose program ends, comes to no other call any more, and who waits for it would wait for ever.
 *
 * Before it writes that word, a PE has completed all that it has sent. So whoever has read it, and then still misses
 * what it awaits from that PE, waits in vain: no time limit is needed, and no right program is ended.
 */
#ifndef SHMEMI_PRESENCE_H
#define SHMEMI_PRESENCE_H

#include "transport/driver.h"

#include <stdbool.h>
#include <stdint.h>

/* Where the word is in each heap, in the part of the exchange (transport/drivers/exchange.h). */
enum { SHMEMI_PRESENCE_OFFSET = 60 << 10 };

enum shmemi_presence {
    SHMEMI_STARTS, /* 0: in shmem_init */
    SHMEMI_TAKES_PART,
    SHMEMI_FINALIZES,   /* has called shmem_finalize */
    SHMEMI_HAS_RETURNED /* its program has ended, or called exit, without shmem_finalize */
};

/* Say where this PE is. */
void shmemi_presence_tell(enum shmemi_presence presence);

/* Has this PE itself begun its end? Then all others that it waits for are in theirs, and take part. */
bool shmemi_is_ending(void);

/* Has this PE of the node made its last call? */
bool shmemi_has_ended_here(int node_rank);

/* Has a PE made its last call? For a thread that waits for that PE and holds no lock. heap: the heap of that PE. For a PE of
 * this node each call looks; for another, which takes a message, one a quarter of a second after the first call, and then at
 * most one a second. A lookout is zeroed before its first use. */
struct shmemi_lookout {
    uint64_t due, pause; /* nanoseconds of shmemi_clock */
};
bool shmemi_has_ended(struct shmemi_lookout *lookout, const struct shmemi_view *heap);

/* End the job because this PE waits for a PE that has ended: in a call of a team, or for a lock. If several PEs of the node
 * find that, one of them says so. */
_Noreturn void shmemi_end_missing_in_call(int pe);
_Noreturn void shmemi_end_missing_in_lock(int pe);

/* For the watchdog: the process of a PE; 0 if this PE does not know it. */
int shmemi_process_of(int pe);

#endif
