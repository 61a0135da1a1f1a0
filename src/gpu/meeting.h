/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the GPUs of a team's members meet (struct shmemi_meeting in meeting_call.h): an area for each team in the memory of
 * each member's GPU. Plain C that nvcc reads too.
 *
 * Members exchange units of 16 bytes. A unit travels as four pairs of a word of data and the number of the exchange, so
 * its arrival needs no flag of its own and no fence: stores of 8 bytes are whole, and who polls a pair finds both words
 * or none of them. In each exchange every member hears from every other one, if only by the first pair of a unit.
 *
 * An area has two sets of units, used in turns. Who sends for the exchange after the next has heard from all for the
 * next one, and a member takes part in that only after it has read everything of this one: the set is free.
 */
#ifndef SHMEMI_MEETING_H
#define SHMEMI_MEETING_H

#include "gpu/word_step.h"

#include <stddef.h>
#include <stdint.h>

enum {
    SHMEMI_MEETING_MEMBERS = 16,
    SHMEMI_MEETING_TEAMS = 256,
    SHMEMI_MEETING_BLOCKS = 32,   /* of a kernel that exchanges units */
    SHMEMI_MEETING_THREADS = 512, /* of a block, each for a unit at a time */
    SHMEMI_UNIT_BYTES = 16,
    SHMEMI_HALF_UNIT_BYTES = SHMEMI_UNIT_BYTES / 2,
    SHMEMI_SENT_UNIT_BYTES = 2 * SHMEMI_UNIT_BYTES,
    /* The first teams are those of all PEs and those that a program makes first. */
    SHMEMI_MEETING_LARGE_AREAS = 4,
    SHMEMI_MEETING_LARGE_BYTES = 2112 << 10, /* 512 KiB of each of two members have room */
    SHMEMI_MEETING_SMALL_BYTES = 64 << 10,
    SHMEMI_MEETING_AREAS_BYTES = SHMEMI_MEETING_LARGE_AREAS * SHMEMI_MEETING_LARGE_BYTES +
                                 (SHMEMI_MEETING_TEAMS - SHMEMI_MEETING_LARGE_AREAS) * SHMEMI_MEETING_SMALL_BYTES,
};

/* The start of an area; used by its owner only. */
struct shmemi_meeting_head {
    uint64_t exchanges;                      /* number of the last one that is completed */
    uint64_t done;                           /* number of the last meeting that is completed */
    uint64_t nbytes[SHMEMI_MEETING_MEMBERS]; /* that members contribute to a collect */
    uint32_t arrivals;                       /* blocks of the kernel that have come to their end; 0 before and after */
    uint32_t unused[27];
};

static inline size_t shmemi_meeting_offset(unsigned slot)
{
    const size_t large = SHMEMI_MEETING_LARGE_AREAS;
    return slot < large ? (size_t)slot * SHMEMI_MEETING_LARGE_BYTES
                        : large * SHMEMI_MEETING_LARGE_BYTES + (slot - large) * SHMEMI_MEETING_SMALL_BYTES;
}

/* Units for which each of n members has room in an area, in one set. */
static inline size_t shmemi_meeting_units(unsigned slot, int n)
{
    const size_t bytes = slot < SHMEMI_MEETING_LARGE_AREAS ? SHMEMI_MEETING_LARGE_BYTES : SHMEMI_MEETING_SMALL_BYTES;
    return (bytes - sizeof(struct shmemi_meeting_head)) / 2 / (size_t)(n - 1) / SHMEMI_SENT_UNIT_BYTES;
}

/* The number of the exchange after the last one that is completed. */
SHMEMI_HOST_AND_DEVICE static inline uint64_t shmemi_next_exchange(uint64_t completed, uint64_t first_number)
{
    const uint64_t number = (completed > first_number ? completed : first_number) + 1;
    return (uint32_t)number ? number : number + 2; /* words that were never written are 0; the sets go on in turns */
}

/* Where in an area of n members the set of units of an exchange begins; capacity: units of each of the others. */
SHMEMI_HOST_AND_DEVICE static inline uint64_t shmemi_set_offset(uint32_t capacity, uint32_t n, uint64_t number)
{
    return sizeof(struct shmemi_meeting_head) +
           (number & 1 ? (uint64_t)capacity * (n - 1) * SHMEMI_SENT_UNIT_BYTES : 0);
}

/* Where in a set of the owner a unit of another member lies. */
SHMEMI_HOST_AND_DEVICE static inline uint64_t shmemi_unit_offset(uint32_t capacity, uint32_t owner, uint32_t sender,
                                                                 uint64_t unit)
{
    return ((uint64_t)capacity * (sender - (sender > owner)) + unit) * SHMEMI_SENT_UNIT_BYTES;
}

#endif
