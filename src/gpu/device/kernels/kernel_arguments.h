/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arguments of the device kernels (gpu/cuda/kernels). Plain C that nvcc reads too; addresses are those of the device.
 */
#ifndef SHMEMI_KERNEL_ARGUMENTS_H
#define SHMEMI_KERNEL_ARGUMENTS_H

#include "gpu/arithmetic.h"
#include "gpu/list_entry.h"
#include "gpu/meeting.h"
#include "gpu/word_step.h"

#include <stdint.h>

/* KERNEL(name): the function shmemi_kernel_<name>, in the order of enum shmemi_kernel. */
#define SHMEMI_FOR_KERNELS(KERNEL)                                                                                     \
    KERNEL(list)                                                                                                       \
    KERNEL(update)                                                                                                     \
    KERNEL(word_steps)                                                                                                 \
    KERNEL(put_step)                                                                                                   \
    KERNEL(store)                                                                                                      \
    KERNEL(update_word)                                                                                                \
    KERNEL(wait_words)                                                                                                 \
    KERNEL(copy_rows)                                                                                                  \
    KERNEL(copy_arrays)                                                                                                \
    KERNEL(collect)                                                                                                    \
    KERNEL(meet)                                                                                                       \
    SHMEMI_FOR_DEVICE_KINDS(SHMEMI_COMBINE_KERNEL, KERNEL) /* in the order of enum shmemi_kind */                      \
    SHMEMI_FOR_DEVICE_KINDS(SHMEMI_MEET_KERNEL, KERNEL)    /* the same */
#define SHMEMI_COMBINE_KERNEL(kind, KERNEL) KERNEL(combine_##kind)
#define SHMEMI_MEET_KERNEL(kind, KERNEL) KERNEL(meet_##kind)

/* The end of a kernel: the CPU polls done until it holds the ticket. */
struct shmemi_kernel_end {
    uint64_t done;     /* address of a uint32_t; 0: not polled */
    uint64_t arrivals; /* address of a uint32_t of the device, which is 0 before and after */
    uint32_t ticket;
};

/* The kernel `list` carries out n entries at once, in no order; then, when all of them have taken effect, the n_last
 * ones, stored from the end of the array backwards; then it reports its end. `update` carries out one entry, if n is
 * not 0, and then an atomic operation, whose answer reports the end. */
struct shmemi_list_run {
    uint64_t entries; /* address of the array */
    uint64_t bytes;   /* address of the bytes that results are relative to */
    uint64_t answer;  /* address of two uint64_t: halves of an old value below, the ticket above */
    struct shmemi_kernel_end end;
    uint32_t capacity; /* of the array */
    uint32_t n, n_last;
    uint32_t lanes; /* threads that share an entry, a power of two up to 32 */
};

/* Arguments of copy_rows, as in struct shmemi_shape; rows of dest must not overlap. unit, a power of two up to 16,
 * divides both addresses, both pitches and gaps, and the width. */
struct shmemi_row_copy {
    uint64_t dest, source;
    uint64_t width, rows;
    uint64_t dest_pitch, source_pitch;
    uint64_t layer, dest_gap, source_gap;
    struct shmemi_kernel_end end;
    uint32_t unit;
};

/* Arguments of combine: arrays of nelems elements; a source and a dest may be the same array. The first `head` elements
 * and those left at the end are handled one by one; between them are `packs` whole packs of 16 bytes, aligned in all
 * arrays. */
enum { SHMEMI_PACK_BYTES = 16 };
struct shmemi_combine_list {
    uint64_t nelems, head, packs;
    uint32_t op, form; /* enum shmemi_operation, enum shmemi_combine_form */
    uint32_t n_sources, n_dests;
    uint64_t source[SHMEMI_COMBINE_ARRAYS], dest[SHMEMI_COMBINE_ARRAYS];
};

/* Arguments of word_steps: steps at words of 8 bytes, one after the other. */
struct shmemi_word_steps {
    uint32_t n;
    struct {
        uint64_t address, value;
        uint32_t step; /* enum shmemi_word_step */
    } word[SHMEMI_STEPS_MAX];
};

/* Arguments of put_step: a single block copies nbytes, and then takes a step that is not a wait. */
struct shmemi_put_step {
    uint64_t dest, source, nbytes;
    uint64_t address, value; /* of the word */
    uint32_t step;           /* enum shmemi_word_step */
};

/* Arguments of store: nbytes, at most 16, of the value. Runs as one thread. */
struct shmemi_store {
    uint64_t dest, value[2];
    uint32_t nbytes;
};

/* Arguments of update_word: an atomic operation, whose old value is stored at `old`, unless that is 0. Runs as one
 * thread. */
struct shmemi_word_update_run {
    struct shmemi_list_entry entry;
    uint64_t old;
};

/* Arguments of wait_words: waits for all of n words, or, if index is not 0, for any, whose number is stored there. Runs
 * as one block. */
enum { SHMEMI_WAIT_WORDS_MAX = 8192 };
struct shmemi_words_wait {
    uint64_t words, value, index;
    uint32_t n, size, step;
    uint32_t left_out[SHMEMI_WAIT_WORDS_MAX / 32]; /* a bit for each word */
};
/* Arguments of copy_arrays: n arrays of nbytes. */
struct shmemi_copy_arrays {
    uint64_t dest[SHMEMI_MEETING_MEMBERS], source[SHMEMI_MEETING_MEMBERS], nbytes;
    uint32_t n;
};

/* What a kernel writes to host memory before it ends with an error: bytes that do not fit, and how many would. (A module
 * with printf in it would make the driver wait for all streams of the context where the library waits for one.) */
struct shmemi_kernel_complaint {
    uint64_t nbytes, room;
};

/* Arguments of collect: this member's nbytes go to each dest, behind those of the members before it. */
struct shmemi_collect_run {
    uint64_t dest[SHMEMI_MEETING_MEMBERS], source, nbytes, room;
    uint64_t all_nbytes; /* address of those of all members */
    uint64_t complaint;  /* address of a struct shmemi_kernel_complaint, or 0 */
    uint32_t n, me;
};

/* Arguments of meet and meet_KIND, as in struct shmemi_meeting. */
struct shmemi_meet_run {
    uint64_t area[SHMEMI_MEETING_MEMBERS];
    uint64_t number, after, first_number;
    uint64_t dest, source, nbytes, units, stride;
    uint64_t value; /* of 8 bytes, to be sent if source is 0 */
    uint32_t n, me, from, count;
    uint32_t piece;    /* bytes that a thread handles at a time: those of a unit or of half a unit; there are `units` */
    uint32_t capacity; /* units of each member for which an area has room, in one set */
    uint32_t needs_signs; /* the members have not all to receive data from all */
    uint32_t releases;    /* who gets a sign sees what the stream has done before */
    uint32_t holds_next;  /* the kernel behind this one takes no room on the GPU before this one has heard from all */
    uint32_t op, form;
};

#endif
