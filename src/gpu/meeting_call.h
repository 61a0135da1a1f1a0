/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a kind of memory is asked to enqueue for a collective that GPUs carry out alone (commands->meet in stream_table.h).
 */
#ifndef SHMEMI_MEETING_CALL_H
#define SHMEMI_MEETING_CALL_H

#include "gpu/memory.h"

/* A collective that the GPUs of its members carry out alone, each in a stream. Small contributions are exchanged through
 * an area that each member has in GPU memory (meeting.h). Otherwise the members meet before and after the work, by
 * exchanges without data. All members have the same `what`, n and, but for collect, nbytes. Places are those in this
 * process. */
enum shmemi_meeting_kind {
    SHMEMI_MEET_EXCHANGE, /* contributions of at most shmemi_meeting_units, or none, go through the areas */
    SHMEMI_MEET_COPY,     /* nbytes, or what shape says, from each source to its dest */
    SHMEMI_MEET_COLLECT,  /* nbytes from source[0], which differ between members, to each dest, one after the other */
    SHMEMI_MEET_COMBINE,  /* of arrays, as combination says; nbytes: of a whole array */
};

struct shmemi_collect_block;

struct shmemi_meeting {
    enum shmemi_meeting_kind what;
    int n, me; /* members, and this one's number */
    unsigned slot;
    uint64_t first_number;                            /* the team's exchanges have numbers above this */
    struct shmemi_place area[SHMEMI_MEETING_MEMBERS]; /* of this team */
    struct shmemi_place source[SHMEMI_MEETING_MEMBERS], dest[SHMEMI_MEETING_MEMBERS];
    int n_copies;              /* with source and dest */
    bool last_is_own;          /* the last copy is within this member's memory, and needs to wait for nobody */
    size_t nbytes;             /* exchange: of a contribution */
    struct shmemi_shape shape; /* of copies; without rows, they are contiguous */
    size_t room;               /* collect: bytes for all contributions together */

    /* Collect: where kernels do not reach source[0], makes the stream wait until the block has been sent, between the
     * exchanges. NULL: such a source is refused. */
    int (*send)(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting);
    const struct shmemi_collect_block *block; /* for it */

    /* Exchange: source[0] is this member's contribution for member 0, and `stride` bytes behind it is the next one's.
     * What comes from members from to from + count - 1 is stored side by side at dest[0]; or, if `combines`, combined. */
    size_t stride;
    int from, count;
    bool combines;
    struct shmemi_combination combination;

    /* Its number among this PE's meetings of the team, and the number of one in another stream that is to come first, or
     * 0. A stream that is being captured has no number. */
    uint64_t number, after;
};

#endif
