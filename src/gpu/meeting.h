/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the GPUs of a team's members meet (struct shmemi_meeting in memory.h): words in host memory, in each member's
 * heap. Plain C that nvcc reads too.
 *
 * Blocks with the same number meet each other. Before and after the work each block sets a word of its own in every
 * other member's area to 1, waits for the others' words in its own, and takes them away. The two phases have words of
 * their own: who has passed one knows that the others have taken away the words of the other one.
 *
 * Small contributions come in the words themselves, each of 4 bytes with the number of the exchange, which grows; there
 * is no second phase. They have two sets of words, used in turns: who sends for the exchange after the next has seen
 * that the others have sent for the next one, and so have read what came for this one.
 */
#ifndef SHMEMI_MEETING_H
#define SHMEMI_MEETING_H

#include <stdint.h>

enum {
    SHMEMI_MEETING_MEMBERS = 16,
    SHMEMI_MEETING_BLOCKS = 32,
    SHMEMI_MEETING_SMALL = 128, /* bytes */
    SHMEMI_MEETING_WORDS = SHMEMI_MEETING_SMALL / 4,
};

enum shmemi_meeting_kind {
    SHMEMI_MEET_SMALL,   /* contributions of at most SHMEMI_MEETING_SMALL bytes, or none, go through the areas */
    SHMEMI_MEET_COPY,    /* nbytes from each source to its dest */
    SHMEMI_MEET_COMBINE, /* of arrays, as combination says; nbytes: of a whole array */
};

struct shmemi_meeting_area {
    uint32_t come[2][SHMEMI_MEETING_BLOCKS][SHMEMI_MEETING_MEMBERS]; /* by phase, block and who has come */
    uint64_t word[2][SHMEMI_MEETING_MEMBERS][SHMEMI_MEETING_WORDS];  /* by set and sender: number above, data below */
    uint64_t done[SHMEMI_MEETING_BLOCKS]; /* by block: number of the last meeting that the owner has completed */
    uint32_t exchanges;                   /* small ones that the owner has completed; used by the owner only */
};

#endif
