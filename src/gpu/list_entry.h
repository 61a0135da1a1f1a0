/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An atomic operation, for everything that carries one out, and an entry of a list of small operations (list.h), as the
 * library fills it and the device reads it. Plain C that nvcc reads too.
 */
#ifndef SHMEMI_LIST_ENTRY_H
#define SHMEMI_LIST_ENTRY_H

#include <stdint.h>

enum shmemi_amo_op {
    SHMEMI_AMO_FETCH,
    SHMEMI_AMO_SET,
    SHMEMI_AMO_ADD,
    SHMEMI_AMO_AND,
    SHMEMI_AMO_OR,
    SHMEMI_AMO_XOR,
    SHMEMI_AMO_SWAP,
    SHMEMI_AMO_COMPARE_SWAP,
};

struct shmemi_amo {
    enum shmemi_amo_op op;
    unsigned size;    /* of the word: 4 or 8 bytes */
    uint64_t operand; /* in the low bytes */
    uint64_t compare; /* COMPARE_SWAP only */
};

/* The operation of an entry: an atomic one (enum shmemi_amo_op), or one of these. */
enum {
    SHMEMI_ENTRY_COPY = 16, /* nbytes from the address source to dest */
    SHMEMI_ENTRY_STORE,     /* the low nbytes, 8 at most, of source itself */
};

enum { SHMEMI_ENTRY_BYTES_MAX = UINT16_MAX, SHMEMI_ENTRY_NO_RESULT = UINT32_MAX };

/* Its addresses are those of the device. */
struct shmemi_list_entry {
    uint64_t dest;    /* address of the first byte, or of the word */
    uint64_t source;  /* address, bytes, or operand of an atomic operation */
    uint64_t compare; /* SHMEMI_AMO_COMPARE_SWAP only */
    uint32_t result;  /* offset in the list's bytes for the old value of the word (8 bytes), or NO_RESULT */
    uint16_t nbytes;  /* or size of the word */
    uint16_t op;
};

#endif
