/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The description of an atomic operation, for everything that carries one out. Plain C that nvcc reads too.
 */
#ifndef SHMEMI_AMO_H
#define SHMEMI_AMO_H

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

#endif
